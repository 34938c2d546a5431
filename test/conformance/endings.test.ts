/**
 * Every way to leave a run, each of them judged by the process table.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as ProcessTree from "effect-agents/ProcessTree"
import type * as AgentEvent from "effect-agents/AgentEvent"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { aliveWith, expectGone, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { conformance, marked } from "./harness.js"

conformance("endings", (agent) => {
  const { layer, request } = agent

  it.scopedLive("Effect.timeout: returns, and nothing is left", () =>
    marked((mark) =>
      Effect.gen(function*() {
        // The clock of the timeout starts when the tree stands, so that it is a tree that is timed out.
        const run = Effect.raceFirst(
          Agent.run(request({ name: "F-ZOO", mark })),
          Effect.zipRight(waitForSleepers(mark, 12), Effect.never)
        )
        const error = yield* Effect.flip(Effect.timeout(run, "4 seconds"))
        assert.strictEqual(error._tag, "TimeoutException")
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("Effect.race: the loser is gone before the winner is known", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const loser = Agent.run(request({ name: "F-DAEMON", mark }))
        const winner = Effect.zipRight(waitForSleepers(mark, 2), Agent.run(request({ name: "OK", text: "first" })))
        const outcome = yield* Effect.race(loser, winner)
        assert.strictEqual(outcome.text, "first")
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the scope closes: the tree goes with it", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const run = yield* Scope.extend(Agent.start(request({ name: "F-DAEMON", mark })), scope)
        yield* waitForSleepers(mark, 2)
        assert.isNotEmpty(yield* aliveWith(mark))
        yield* Scope.close(scope, Exit.void)
        yield* expectGone(mark)
        const report = yield* run.tree.report
        assert.strictEqual(report.verified, "empty")
        assert.isAtLeast(report.killed.length, 4)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the consumer of the events fails: its error stands, the tree goes", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(
          Agent.stream(request({ name: "F-DAEMON", mark })).pipe(
            Stream.runForEach((event) => event._tag === "ToolCall" ? Effect.fail("enough" as const) : Effect.void)
          )
        )
        assert.strictEqual(error, "enough")
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the consumer of the events dies: its defect stands, the tree goes", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(
          Agent.stream(request({ name: "F-DAEMON", mark })).pipe(
            Stream.runForEach((event) => event._tag === "ToolCall" ? Effect.die("a bug of the caller") : Effect.void)
          )
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the consumer has seen enough: the tree goes", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const events = yield* Agent.stream(request({ name: "CHATTER", mark, state: yield* TempDir.make })).pipe(
          Stream.filter((event) => event._tag === "Text"),
          Stream.take(3),
          Stream.runCollect
        )
        assert.strictEqual(Chunk.size(events), 3)
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("nobody reads the events: the outcome comes all the same", () =>
    Effect.gen(function*() {
      const outcome = yield* Effect.scoped(
        Effect.flatMap(
          Agent.start(request({ name: "WORDY", count: 3_000, text: "the end" })),
          (run) => run.outcome
        )
      )
      assert.strictEqual(outcome.text, "the end")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("after the interruption nothing is emitted, said or done", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const state = yield* TempDir.make
        const events: Array<AgentEvent.AgentEvent> = []
        const scope = yield* Scope.make()
        const run = yield* Scope.extend(Agent.start(request({ name: "CHATTER", mark, state })), scope)
        // The reader belongs to somebody else: it is not interrupted, its stream has to end.
        const reader = yield* Effect.fork(
          Stream.runForEach(run.events, (event) => Effect.sync(() => void events.push(event)))
        )
        yield* waitUntil("it talks", Effect.sync(() => events.filter(({ _tag }) => _tag === "Text").length > 5))
        yield* Scope.close(scope, Exit.void)
        const said = readFileSync(join(state, "said"), "utf8")
        const heard = events.length
        yield* expectGone(mark)
        yield* Effect.exit(Fiber.join(reader))
        // Time enough for another agent's whole run.
        yield* Agent.run(request({ name: "OK" }))
        assert.strictEqual(events.length, heard)
        assert.strictEqual(readFileSync(join(state, "said"), "utf8"), said)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("an orphan that would write a file does not", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const folder = yield* TempDir.make
        const canary = join(folder, "canary")
        const go = join(folder, "go")
        const run = yield* Effect.fork(Agent.run(request({
          mark,
          steps: [
            { do: "start" },
            { do: "spawn", kinds: ["daemon"] },
            { do: "waitFor", path: go },
            { do: "touch", path: canary }
          ]
        })))
        yield* waitForSleepers(mark, 1)
        yield* Fiber.interrupt(run)
        yield* Effect.sync(() => assert.isFalse(existsSync(canary)))
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("interrupted while it starts: no child is lost", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      for (const delay of [0, 1, 5, 20, 60]) {
        const run = yield* Effect.fork(Agent.run(request({ name: "F-DAEMON", mark })))
        yield* Effect.sleep(delay)
        yield* Fiber.interrupt(run)
        yield* expectGone(mark)
      }
    }).pipe(Effect.provide(layer())))

  it.scopedLive("many at once: each has its own, and all are gone", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 6 }, (_, index) => `answer ${index}`),
          (text) => Agent.run(request({ name: "F-LEFTOVERS", mark, text, kinds: ["daemon"] })),
          { concurrency: 3 }
        )
        assert.deepStrictEqual(outcomes.map(({ text }) => text), [0, 1, 2, 3, 4, 5].map((index) => `answer ${index}`))
        assert.strictEqual(new Set(outcomes.map(({ session }) => session.id)).size, 6)
        assert.isTrue(outcomes.every(({ teardown }) => teardown.verified === "empty"))
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("one of many fails: the others are ended", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const standing = yield* Deferred.make<void>()
        const error = yield* Effect.flip(Effect.all([
          Agent.run(request({ name: "F-DAEMON", mark })),
          Effect.zipRight(Deferred.await(standing), Agent.run(request({ name: "GIVES-UP" }))),
          Effect.zipRight(waitForSleepers(mark, 2), Deferred.succeed(standing, undefined))
        ], { concurrency: "unbounded" }))
        assert.strictEqual("_tag" in error ? error._tag : "", "AgentFailed")
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the spawner tells of every teardown", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const { reports } = yield* ProcessTree.Spawner
        const report = yield* Effect.fork(Stream.runHead(reports))
        yield* Effect.yieldNow()
        const run = yield* Effect.fork(Agent.run(request({ name: "F-DAEMON", mark })))
        yield* waitForSleepers(mark, 2)
        yield* Fiber.interrupt(run)
        const told = yield* Effect.flatten(Fiber.join(report))
        assert.strictEqual(told.reason, "interrupted")
        assert.strictEqual(told.verified, "empty")
        assert.isAtLeast(told.killed.length, 4)
      })
    ).pipe(Effect.provide(layer())))
})
