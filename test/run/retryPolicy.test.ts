/** When a caller who wants to is to try again: on the clock of the test, by the errors that runs fail with. */
import { assert, describe, it } from "@effect/vitest"
import * as AgentError from "effect-agents/AgentError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"

const partial: AgentError.Partial = {
  text: "",
  usage: {},
  openToolCalls: [],
  filesChanged: [],
  attempts: [],
  resumable: "unknown",
  exit: { code: 1, signal: null },
  stderrTail: "",
  unparsed: 0
}
const common = { agent: "claude", detail: "…", partial }
const overloaded = new AgentError.AgentOverloaded(common)
const spawn = { agent: "claude", program: "claude", cwd: "/", detail: "…" }

/** When the request was made, in milliseconds, under the policy, until it was given up or a day has passed. */
const times = (
  failure: (now: number) => unknown,
  succeedsAt = Number.POSITIVE_INFINITY,
  policy = AgentError.retryPolicy
) =>
  Effect.gen(function*() {
    const made = yield* Ref.make<ReadonlyArray<number>>([])
    const request = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      yield* Ref.update(made, (all) => [...all, now])
      if (now < succeedsAt) return yield* Effect.fail(failure(now))
    })
    const fiber = yield* Effect.fork(Effect.either(Effect.retry(request, policy)))
    yield* TestClock.adjust("1 day")
    return { made: yield* Ref.get(made), result: yield* Fiber.join(fiber) }
  })

const isNear = (actual: number | undefined, from: number, to = from) => {
  assert.isAtLeast(actual ?? -1, from * 0.8)
  assert.isAtMost(actual ?? -1, to * 1.2)
}

describe("retryPolicy", () => {
  it.effect("waits twice as long each time, up to a minute, and has an end", () =>
    Effect.gen(function*() {
      const { made, result } = yield* times(() => overloaded)
      const delays = made.slice(1).map((at, index) => at - (made[index] ?? 0))
      assert.strictEqual(delays.length, 25)
      delays.forEach((delay, index) => isNear(delay, Math.min(2 ** index, 60) * 1000))
      assert.isAbove(new Set(delays.slice(7)).size, 5, "not all at the same time")
      assert.isTrue(Either.isLeft(result) && result.left === overloaded, "the last failure is told")
    }))

  it.effect("outlasts a provider that is overloaded for a quarter of an hour", () =>
    Effect.gen(function*() {
      const { result } = yield* times(() => overloaded, Duration.toMillis("15 minutes"))
      assert.isTrue(Either.isRight(result))
    }))

  it.effect("waits until the quota is there again", () =>
    Effect.gen(function*() {
      const wait = Duration.toMillis("3 hours")
      const { made, result } = yield* times(
        (now) => new AgentError.AgentRateLimited({ ...common, resetsAt: now + wait }),
        wait
      )
      assert.isTrue(Either.isRight(result))
      assert.strictEqual(made.length, 2)
      isNear((made[1] ?? 0) - wait, 1000)
    }))

  it.effect("waits as long as it is told to, whoever says so", () =>
    Effect.gen(function*() {
      for (const Failure of [AgentError.AgentRateLimited, AgentError.AgentOverloaded]) {
        const begun = yield* Clock.currentTimeMillis
        const { made } = yield* times(() => new Failure({ ...common, retryAfterMs: 90_000 }), begun + 60_000)
        assert.strictEqual(made.length, 2)
        isNear((made[1] ?? 0) - begun - 90_000, 1000)
      }
    }))

  it.effect("does not wait for a time that has passed, nor for longer than six hours", () =>
    Effect.gen(function*() {
      const at = (resetsAt: number) => () => new AgentError.AgentRateLimited({ ...common, resetsAt })
      const begun = yield* Clock.currentTimeMillis
      isNear(((yield* times(at(begun - 60_000))).made[1] ?? 0) - begun, 1000)
      const now = yield* Clock.currentTimeMillis
      assert.strictEqual((yield* times(at(now + Duration.toMillis("6 hours") + 1))).made.length, 1)
    }))

  it.effect("repeats nothing that time does not mend", () =>
    Effect.gen(function*() {
      const mended = [
        overloaded,
        new AgentError.AgentRateLimited(common),
        new AgentError.AgentSessionBusy({ agent: "claude", project: "p", name: "n", since: 0 }),
        new AgentError.AgentSpawnError({ ...spawn, reason: "resources" })
      ]
      const others = [
        new AgentError.AgentNotAuthenticated({ ...common, hint: "…" }),
        new AgentError.AgentTurnFailed({ ...common, stop: "error" }),
        new AgentError.AgentOutputInvalid(common),
        new AgentError.AgentSpawnError({ ...spawn, reason: "cwd" }),
        // What they had done by then is done.
        new AgentError.AgentIncomplete(common),
        new AgentError.AgentUnresponsive({ ...common, what: "…", withinMs: 1 }),
        { _tag: "AgentOverloaded", isTransient: true },
        "no"
      ]
      for (const error of mended) assert.strictEqual((yield* times(() => error)).made.length, 26, error._tag)
      for (const error of others) assert.strictEqual((yield* times(() => error)).made.length, 1, String(error))
    }))

  it.effect("is bounded further by whoever uses it", () =>
    Effect.gen(function*() {
      const policy = AgentError.retryPolicy.pipe(Schedule.intersect(Schedule.recurs(3)))
      assert.strictEqual((yield* times(() => overloaded, undefined, policy)).made.length, 4)
    }))
})
