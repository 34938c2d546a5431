import * as Effect from "effect/Effect"

/**
 * Waits until the host has looked at its pipes once more. Where something kept the host busy, a timer comes before what
 * has long been waiting in a pipe, and would take it for silence.
 */
export const pipesSeen: Effect.Effect<void> = Effect.async<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})
