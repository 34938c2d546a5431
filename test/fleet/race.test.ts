/**
 * Races and fan-outs of real processes: what has lost is looked for from outside before the result is used.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as Fleet from "effect-agents/Fleet"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as TestClock from "effect/TestClock"
import { conformance, marked } from "../conformance/harness.js"
import { brief, judged, seconds, sh } from "../kernel/support.js"
import { expectGone, waitForSleepers } from "../utils/Processes.js"

/** Starts what does not end, and waits for ever. */
const stuck = (mark: string) =>
  Effect.zipRight(
    ProcessTree.start(sh("(setsid sleep $1 &) ; sleep $1", seconds(mark)), { teardown: brief }),
    Effect.never
  )

conformance("race", (agent) => {
  it.scopedLive("the losers are gone before the winner is returned, and their reports say so", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const run = Agent.run(agent.request({ name: "F-DAEMON", mark }))
        const winner = Effect.zipRight(
          waitForSleepers(mark, 2),
          Agent.run(agent.request({ name: "OK", text: "first" }))
        )
        const raced = yield* Fleet.race({ slow: run, slower: run, quick: winner })
        yield* expectGone(mark)
        assert.strictEqual(raced.winner, "quick")
        assert.strictEqual(raced.value.text, "first")
        assert.deepStrictEqual(raced.losers.map(({ name }) => name), ["slow", "slower"])
        for (const { exit, reports } of raced.losers) {
          assert.isTrue(Exit.isInterrupted(exit))
          assert.strictEqual(reports.length, 1)
          assert.strictEqual(reports[0]?.verified, "empty")
          assert.isAbove(reports[0]?.killed.length ?? 0, 1)
        }
      }).pipe(Effect.provide(agent.layer()))
    ))

  it.scopedLive("a failure does not end the race, and when all have failed all errors are told", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const failing = Agent.run(agent.request({ name: "FAIL", kind: "overloaded" }))
        const good = yield* Fleet.race({
          bad: failing,
          good: Effect.zipRight(Effect.sleep("1 second"), Agent.run(agent.request({ name: "OK", text: "late" })))
        })
        assert.strictEqual(good.winner, "good")
        const [loser] = good.losers
        assert.isTrue(loser !== undefined && Exit.isFailure(loser.exit) && !Exit.isInterrupted(loser.exit))

        const error = yield* Effect.flip(Fleet.race({
          one: failing,
          two: Agent.run(agent.request({ name: "CRASH", mark })),
          three: Effect.dieMessage("a defect")
        }))
        assert.strictEqual(error._tag, "RaceFailed")
        assert.deepStrictEqual(error.failures.map(({ name }) => name), ["one", "two", "three"])
        assert.isTrue(error.failures.every(({ cause }) => !Cause.isEmpty(cause) && !Cause.isInterrupted(cause)))
        assert.include(error.message, "a defect")
      }).pipe(Effect.provide(agent.layer()))
    ))
})

describe("race", () => {
  it.effect("nobody to run is a failure, not a wait", () =>
    Effect.gen(function*() {
      const nobody: Record<string, Effect.Effect<void>> = {}
      const error = yield* Effect.flip(Fleet.race(nobody))
      assert.deepStrictEqual(error.failures, [])
    }))

  it.scopedLive("what a run has in its scope ends before the winner is returned, also the winner's", () =>
    Effect.gen(function*() {
      const closed: Array<string> = []
      const scoped = (name: string, body: Effect.Effect<void>) =>
        Effect.zipRight(Effect.addFinalizer(() => Effect.sync(() => closed.push(name))), body)
      yield* Fleet.race({ a: scoped("a", Effect.sleep("20 millis")), b: scoped("b", Effect.never) })
      assert.deepStrictEqual(closed, ["a", "b"])
    }))

  it.scopedLive("interrupting a race ends all of it", () =>
    judged((mark) =>
      Effect.gen(function*() {
        yield* Effect.raceFirst(
          Fleet.race({ a: stuck(mark), b: stuck(mark) }),
          waitForSleepers(mark, 4)
        )
        yield* expectGone(mark)
      })
    ))
})

describe("forEach", () => {
  it.scopedLive("the first failure ends the rest, and fails when that is gone", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const started: Array<number> = []
        const f = Effect.fnUntraced(function*(item: number) {
          started.push(item)
          if (item !== 3) return yield* stuck(mark)
          yield* waitForSleepers(mark, 4)
          return yield* Effect.fail(`item ${item}`)
        })
        const error = yield* Effect.flip(Fleet.forEach([1, 2, 3, 4, 5], f, { concurrency: 3 }))
        yield* expectGone(mark)
        assert.strictEqual(error, "item 3")
        assert.deepStrictEqual(started.sort(), [1, 2, 3])
      })
    ))

  it.scopedLive("collects all results in the order of the items, never more at a time than allowed", () =>
    judged((mark) =>
      Effect.gen(function*() {
        let most = 0
        const f = (item: number) =>
          Effect.gen(function*() {
            const tree = yield* ProcessTree.start(sh("sleep $1 & wait", seconds(mark, item)), { teardown: brief })
            const alive = yield* waitForSleepers(mark, 1)
            most = Math.max(most, alive.length)
            return item % 2 === 0 ? yield* Effect.fail(item) : tree.pid > 0
          })
        const exits = yield* Fleet.forEach([1, 2, 3, 4, 5, 6], f, { concurrency: 2, mode: "collect" })
        yield* expectGone(mark)
        assert.deepStrictEqual(
          exits.map(Exit.match({ onSuccess: () => "ok", onFailure: (cause) => String(Cause.squash(cause)) })),
          ["ok", "2", "ok", "4", "ok", "6"]
        )
        assert.isAtLeast(most, 1)
        assert.isAtMost(most, 2)
      })
    ))

  it.effect("collects what the others have come to where one throws", () =>
    Effect.gen(function*() {
      const boom = (item: number): Effect.Effect<number> => {
        if (item === 2) throw new Error("boom")
        return Effect.succeed(item)
      }
      const exits = yield* Fleet.forEach([1, 2, 3], boom, { concurrency: 1, mode: "collect" })
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
    }))

  it.effect("starts are at least so far apart", () =>
    Effect.gen(function*() {
      const starts: Array<number> = []
      const fiber = yield* Effect.fork(Fleet.forEach(
        [0, 0, 5000, 0],
        (takes) =>
          Clock.currentTimeMillis.pipe(Effect.tap((at) => starts.push(at)), Effect.zipRight(Effect.sleep(takes))),
        { concurrency: 3, stagger: "1 second" }
      ))
      yield* TestClock.adjust("20 seconds")
      yield* fiber
      assert.deepStrictEqual(starts, [0, 1000, 2000, 3000])
    }))
})
