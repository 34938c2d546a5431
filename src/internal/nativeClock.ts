import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const clock = Clock.make()

/** Runs an effect on native time: under a test clock, what waits for a real process would wait for ever. */
export const onNativeTime: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = Effect.withClock(clock)
