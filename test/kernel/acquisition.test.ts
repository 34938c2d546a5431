/**
 * No child is lost between its start and its scope, and none is mistaken for another.
 */
import * as Command from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import { aliveWith, expectGone, isAlive, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import { brief, expectEmpty, judged, seconds, sh } from "./support.js"

const quick = { teardown: Teardown.graceful("20 millis") }

/** Lets a random part of a millisecond go by without a timer, which would be far too coarse. */
const moment = Effect.gen(function*() {
  const end = performance.now() + (yield* Random.nextRange(0, 3))
  while (performance.now() < end) yield* Effect.yieldNow()
})

describe("a start", () => {
  it.scopedLive("that is interrupted, two hundred times at any moment, loses nobody", () =>
    judged((mark) =>
      Effect.gen(function*() {
        let begun = 0
        for (let time = 0; time < 200; time++) {
          const run = Effect.scoped(Effect.gen(function*() {
            yield* ProcessTree.start(sh("setsid sleep $1 & sleep $1", seconds(mark)), { teardown: Teardown.immediate })
            begun++
            return yield* Effect.never
          }))
          const fiber = yield* Effect.fork(run)
          // Every fourth before its first step: on a quiet machine the others have all started by then.
          if (time % 4 !== 0) yield* moment
          yield* Fiber.interrupt(fiber)
          if (time % 20 === 0) yield* expectGone(mark)
        }
        assert.isAbove(begun, 0, "some of them had started")
        assert.isBelow(begun, 200, "some of them had not")
      })
    ))

  it.scopedLive("loses nobody to a timeout that comes at the same time", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const run = Effect.scoped(
          Effect.zipRight(ProcessTree.start(Command.make("sleep", seconds(mark)), quick), Effect.never)
        )
        for (let time = 0; time < 40; time++) yield* Effect.timeoutOption(run, `${time % 4} millis`)
      })
    ))

  it.scopedLive("loses nobody to a scope that closes meanwhile, or has closed before", () =>
    judged((mark) =>
      Effect.gen(function*() {
        for (let time = 0; time < 20; time++) {
          const scope = yield* Scope.make()
          const started = ProcessTree.start(Command.make("sleep", seconds(mark)), quick)
          const fiber = yield* Effect.fork(Scope.extend(started, scope))
          if (time % 2 === 0) yield* moment
          yield* Scope.close(scope, Exit.void)
          yield* Fiber.await(fiber)
          yield* waitUntil("nobody is left", Effect.map(aliveWith(mark), (alive) => alive.length === 0))
        }
      })
    ))

  it.scopedLive("of one that ends at once is reported like any other", () =>
    judged(() =>
      Effect.forEach(
        Array.from({ length: 30 }),
        () =>
          Effect.scoped(Effect.gen(function*() {
            const tree = yield* ProcessTree.start(sh("echo out; exit 3"), quick)
            assert.deepStrictEqual(yield* tree.exit, { code: 3, signal: null })
            assert.strictEqual(yield* Stream.mkString(Stream.decodeText(tree.stdout)), "out\n")
            expectEmpty(yield* tree.teardown)
          })),
        { concurrency: 6 }
      )
    ))
})

describe("many trees at once", () => {
  it.scopedLive("thirty, torn down together, each verified empty and emptied of its own alone", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const script = "sleep $1 & setsid sleep $1 & (env -i setsid sleep $1 &); wait"
        const scope = yield* Scope.make()
        const trees = yield* Effect.all(
          Array.from({ length: 30 }, (_, index) =>
            Scope.extend(ProcessTree.start(sh(script, seconds(mark, index)), { teardown: brief }), scope)),
          { concurrency: "unbounded" }
        )
        yield* waitForSleepers(mark, 90)
        const reports = yield* Effect.all(
          trees.map(({ teardown }) =>
            teardown
          ),
          { concurrency: "unbounded" }
        )
        yield* Scope.close(scope, Exit.void)
        reports.forEach(expectEmpty)
        const killed = reports.flatMap((report) => report.killed.map(({ pid, startTime }) => `${pid}:${startTime}`))
        assert.strictEqual(new Set(killed).size, killed.length, "nobody was ended twice")
        assert.strictEqual(killed.length, 120)
      })
    ))

  it.scopedLive("are never said to be empty when they are not, forty times", () =>
    judged((mark) =>
      Effect.forEach(
        Array.from({ length: 40 }, (_, index) => index),
        (index) =>
          Effect.gen(function*() {
            const own = `${mark}${index + 100}`
            // Forks all the while, also when it is asked to end.
            const script =
              "trap '' TERM; while :; do sleep 0.00$1 & setsid sleep 0.00$1 & (env -i setsid sleep 0.05$1 &) done"
            const tree = yield* ProcessTree.start(sh(script, own), quick)
            yield* moment
            const report = yield* tree.teardown
            expectEmpty(report)
            yield* expectGone(own)
          }).pipe(Effect.scoped),
        { concurrency: 2 }
      )
    ))

  it.scopedLive("leave two hundred others alone that look the same", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const words = [seconds(mark)]
      const strangers = Array.from({ length: 200 }, (_, index) =>
        spawn("sleep", words, { stdio: "ignore", detached: index % 2 === 0 }))
      const before = yield* waitForSleepers(mark, 200)
      const script = "sleep $1 & setsid sleep $1 & (env -i setsid sleep $1 &); wait"
      const reports = yield* Effect.all(
        Array.from({ length: 10 }, () =>
          Effect.scoped(Effect.gen(function*() {
            const tree = yield* ProcessTree.start(sh(script, ...words), { teardown: brief })
            yield* waitUntil(
              "it is there",
              Effect.map(tree.members, (all) =>
                all.filter(({ command }) => command === "sleep").length === 3)
            )
            return yield* tree.teardown
          }))),
        { concurrency: 5 }
      ).pipe(Effect.provide(NodeProcessTree.layer))
      reports.forEach(expectEmpty)
      for (const stranger of before) assert.isTrue(yield* isAlive(stranger), "a stranger was ended")
      assert.strictEqual((yield* aliveWith(mark)).length, 200)
      for (const stranger of strangers) stranger.kill("SIGKILL")
      yield* waitUntil("the strangers are gone", Effect.map(aliveWith(mark), (alive) => alive.length === 0))
    }))
})
