/**
 * Slow readers, endless writers, outputs that never end, and clocks that stand still.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as Teardown from "effect-agents/Teardown"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { expectGone, makeMark, waitForSleepers } from "../utils/Processes.js"
import { brief, conformance, failsWith, marked } from "./harness.js"

const answer = "Hello from the fake."

const inTime = <A, E, R>(ms: number, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const clock = Clock.make()
    const before = yield* clock.currentTimeMillis
    const result = yield* effect
    assert.isBelow((yield* clock.currentTimeMillis) - before, ms)
    return result
  })

conformance("pressure", (agent) => {
  const { layer, request } = agent

  it.scopedLive("a slow reader keeps the agent waiting and misses nothing", () =>
    Effect.gen(function*() {
      const count = 2_000
      let read = 0
      const texts = yield* Agent.stream(request({ name: "WORDY", count })).pipe(
        Stream.tap(() => read++ % 200 === 0 ? Effect.sleep("20 millis") : Effect.void),
        Stream.filterMap((event) => event._tag === "Text" ? Option.some(event.text) : Option.none()),
        Stream.runCollect,
        Effect.map(Chunk.toReadonlyArray)
      )
      assert.deepStrictEqual(texts, [...Array.from({ length: count }, (_, index) => `word ${index}`), answer])
    }).pipe(Effect.provide(layer())))

  it.scopedLive("a line that never ends is given up at the limit, not at the end", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const error = yield* failsWith(
          "AgentLineTooLong",
          inTime(10_000, Agent.run(request({ name: "ENDLESS", mark }), { maxLineBytes: 5_000_000 }))
        )
        assert.strictEqual(error.limitBytes, 5_000_000)
        assert.strictEqual(error.partial.teardown?.verified, "empty")
      })
    ).pipe(Effect.provide(layer())))

  for (const output of ["stdout", "stderr"]) {
    it.scopedLive(`a descendant babbles into ${output} after the end: the outcome comes all the same`, () =>
      marked((mark) =>
        Effect.gen(function*() {
          const outcome = yield* inTime(
            12_000,
            Agent.run(request({ name: "F-HOLDER", kind: "babbler", mark, output }), { drain: "200 millis" })
          )
          assert.strictEqual(outcome.text, answer)
          assert.isAtLeast(outcome.teardown.killed.length, 2)
        })
      ).pipe(Effect.provide(layer())))
  }

  it.scopedLive("a descendant holds the standard error", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const outcome = yield* inTime(5_000, Agent.run(request({ name: "F-HOLDER", mark, output: "stderr" })))
        assert.strictEqual(outcome.text, answer)
        assert.strictEqual(outcome.teardown.killed.length, 1)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the output ends, the process does not", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const short = { limits: { afterResult: "300 millis" } } as const
        const outcome = yield* inTime(5_000, Agent.run(request({ name: "CLOSED", finished: true, mark }), short))
        assert.strictEqual(outcome.text, answer)
        yield* failsWith("AgentIncomplete", inTime(5_000, Agent.run(request({ name: "CLOSED", mark }), short)))
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("a prompt that the CLI never reads does not stand in the way of an interruption", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const prompt = "x".repeat(1024 * 1024)
        const run = yield* Effect.fork(
          Agent.run(request({ name: "F-DAEMON", mark, stdin: "unread" }, { prompt }))
        )
        yield* waitForSleepers(mark, 2)
        yield* inTime(3_000, Fiber.interrupt(run))
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the session is known while the run is going on, and the outcome may be asked for twice", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(request({ name: "F-MUTE" }))
        assert.isNotEmpty((yield* run.session).id)
      }))
      yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(request({ name: "OK" }))
        const [first, second] = [yield* run.outcome, yield* run.outcome]
        assert.strictEqual(first, second)
        assert.strictEqual((yield* run.session).id, first.session.id)
      }))
    }).pipe(Effect.provide(layer())))

  // The clock of a test stands still. Whatever waits for a process must not.
  it.scoped("works and ends on a clock that stands still", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const outcome = yield* Agent.run(request({ name: "F-AFTER", mark }), {
        limits: { afterResult: "200 millis" }
      })
      assert.strictEqual(outcome.text, answer)
      yield* expectGone(mark)
      const run = yield* Effect.fork(Agent.run(request({ name: "F-STUBBORN", mark })))
      yield* waitForSleepers(mark, 2)
      yield* inTime(5_000, Fiber.interrupt(run))
      yield* expectGone(mark)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("Effect.timeout returns within the grace, whoever ignores it", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const run = yield* Effect.fork(
          Effect.timeout(Agent.run(request({ name: "F-STUBBORN", mark }), { teardown: brief }), "2 seconds")
        )
        yield* waitForSleepers(mark, 2)
        const error = yield* inTime(4_500, Effect.flip(Fiber.join(run)))
        assert.strictEqual(error._tag, "TimeoutException")
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("Teardown.immediate asks nobody", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const run = yield* Effect.fork(
          Agent.run(request({ name: "F-STUBBORN", mark }), { teardown: Teardown.immediate })
        )
        yield* waitForSleepers(mark, 2)
        yield* inTime(1_500, Fiber.interrupt(run))
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))
})
