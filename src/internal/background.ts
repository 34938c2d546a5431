import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

/**
 * Forks into the scope what its end must be able to interrupt: a fiber inherits whether it can be from whoever forks it,
 * and resources are acquired where nothing can.
 */
export const inBackground = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<Fiber.RuntimeFiber<A, E>, never, R | Scope.Scope> => Effect.forkScoped(Effect.interruptible(self))
