import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import { globalValue } from "effect/GlobalValue"
import type * as Teardown from "../../Teardown.js"

/** What is told of a tree that has ended: how, and what is left of it from now on. */
export type Tell = (
  report: Teardown.TeardownReport,
  members: Effect.Effect<ReadonlyArray<unknown>>
) => Effect.Effect<void>

/** Who is told of the trees that are started here, beside the Spawner's own readers. */
export const current = globalValue(
  Symbol.for("effect-agents/onReport"),
  () => FiberRef.unsafeMake<Tell>(() => Effect.void)
)

/** Tells of them beside those who are told already. */
export const also = <A, E, R>(self: Effect.Effect<A, E, R>, f: Tell): Effect.Effect<A, E, R> =>
  Effect.locallyWith(
    self,
    current,
    (tell): Tell => (report, members) => Effect.zipRight(tell(report, members), f(report, members))
  )
