import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const clock = Clock.make()

/** Runs an effect on native time: under a test clock, what waits for a real process would wait for ever. */
export const onNativeTime: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = Effect.withClock(clock)

/** A point in time, in milliseconds, for measuring: whoever sets the clock of the machine does not move it. */
export const monotonicMillis: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos) / 1e6)
