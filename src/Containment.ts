/**
 * How far a teardown reaches, layer by layer, and what each layer can honestly promise. The layers that were in force
 * for a tree stand in its `TeardownReport`.
 *
 * Beyond every layer is work that was handed to somebody who was running before the tree was: a container daemon, a
 * terminal multiplexer outside, `at`, a service manager.
 *
 * @since 0.1.0
 */
import type * as Teardown from "./Teardown.js"

/**
 * What a layer needs and promises.
 *
 * `layer` is its name in a report, `platforms` and `promise` are sentences for people.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reach {
  readonly layer: Teardown.Layer
  readonly platforms: string
  readonly promise: string
}

/**
 * The layers, the weakest first.
 *
 * **Example**
 *
 * ```ts
 * import { Containment } from "effect-agents"
 *
 * for (const { layer, promise } of Containment.layers) {
 *   console.log(layer, promise)
 * }
 * ```
 *
 * @since 0.1.0
 * @category layers of reach
 */
export const layers: ReadonlyArray<Reach> = [
  {
    layer: "taskkill",
    platforms: "Windows",
    promise:
      "Asks for the end of the leader and of the descendants whose chain of parents is whole. Sees nothing of the rest."
  },
  {
    layer: "group",
    platforms: "POSIX",
    promise: "Ends everything in the group and session of the leader, without a gap for those who fork meanwhile, and "
      + "everything whose chain of parents is whole."
  },
  {
    layer: "environment",
    platforms: "Linux; elsewhere as far as the system shows environments",
    promise: "Ends descendants in any session, also daemons whose parents have gone, unless they cleared or overwrote "
      + "their environment."
  },
  {
    layer: "rlimit",
    platforms: "Linux, except in trees nested three deep",
    promise:
      "Ends every descendant of the same user, also those that cleared their environment, unless it lowered its own "
      + "hard limit on file locks. Those of other users are found and named, not ended."
  }
]
