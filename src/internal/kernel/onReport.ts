import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import { globalValue } from "effect/GlobalValue"
import type * as Teardown from "../../Teardown.js"

/** Who is told of the trees that are started here, beside the Spawner's own readers. */
export const current = globalValue(
  Symbol.for("effect-agents/onReport"),
  () => FiberRef.unsafeMake((_report: Teardown.TeardownReport): Effect.Effect<void> => Effect.void)
)
