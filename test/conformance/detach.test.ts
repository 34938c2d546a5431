/**
 * Runs that are handed over while they are at work: the run is over, the agent is not.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as Approval from "effect-agents/Approval"
import * as Containment from "effect-agents/Containment"
import * as Session from "effect-agents/Session"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Fakes from "../utils/Fakes.js"
import { aliveWith, expectGone, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { conformance, marked } from "./harness.js"

conformance("detach", (agent) => {
  it.scopedLive("the outcome says so, the agent goes on after the scope, and ends when it is told to", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const state = yield* TempDir.make
      const dump = join(state, "dump.json")
      const said = () => existsSync(join(state, "said")) ? readFileSync(join(state, "said"), "utf8").length : 0
      const { events, id, outcome } = yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(agent.request({ name: "CHATTER", mark, state, dump }))
        const reader = yield* Effect.fork(Stream.runCollect(run.events))
        yield* waitForSleepers(mark, 2)
        const { mark: id } = yield* run.detach
        const outcome = yield* run.outcome
        return { events: yield* Fiber.join(reader), id, outcome }
      }))
      assert.strictEqual(outcome.stop, "detached")
      assert.strictEqual(outcome.teardown.verified, "detached")
      assert.strictEqual(outcome.teardown.detached, id)
      assert.deepStrictEqual(outcome.exit, { code: null, signal: null })
      // The events end as those of any other run.
      assert.isTrue(Chunk.some(events, ({ _tag }) => _tag === "Started"))
      const before = said()
      yield* waitUntil("it goes on", Effect.sync(() => said() > before + 100))
      assert.strictEqual((yield* waitForSleepers(mark, 2)).length, 2)
      const { env } = yield* Fakes.readDump(dump)
      assert.isTrue(existsSync(env["TMPDIR"] ?? ""), "its temporary files are there")
      const [listed] = (yield* Containment.detached).filter((one) => one.mark === id)
      assert.isAtLeast(listed?.members.length ?? 0, (yield* aliveWith(mark)).length)
      const report = yield* Effect.map(Containment.endDetached(id), Option.getOrThrow)
      assert.strictEqual(report.verified, "empty")
      yield* expectGone(mark)
    }).pipe(Effect.provide(agent.layer())))

  it.scopedLive("an answer that was complete is the outcome's", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const outcome = yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(agent.request({ name: "F-AFTER", text: "done", mark }))
        yield* Stream.runForEachWhile(run.events, ({ _tag }) => Effect.succeed(_tag !== "Finished"))
        yield* run.detach
        return yield* run.outcome
      })).pipe(Effect.provide(agent.layer({ limits: { afterResult: "20 seconds" } })))
      assert.strictEqual(outcome.text, "done")
      assert.strictEqual(outcome.stop, "completed")
      assert.isAbove((yield* aliveWith(mark)).length, 0)
      yield* Effect.provide(Containment.endDetached(outcome.teardown.detached ?? ""), agent.layer())
      yield* expectGone(mark)
    }))

  it.scopedLive("a run that is talked to is not handed over, nor one in a named session: it ends with its scope", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const project = yield* TempDir.make
        const named = agent.request({ name: "F-TREE", mark }, { session: Session.named(project, "one") })
        const asked = agent.request({ name: "F-TREE", mark })
        const approve = () => Effect.succeed(Approval.allow())
        const starts = [
          Agent.start(named),
          ...(agent.name === "copilot" ? [] : [Agent.start(asked, { approve })])
        ]
        for (const start of starts) {
          const error = yield* Effect.scoped(Effect.flatMap(start, (run) => Effect.flip(run.detach)))
          assert.strictEqual(error._tag, "AgentUnsupported")
          yield* expectGone(mark)
        }
      }).pipe(Effect.provide(agent.layer()))
    ))
})
