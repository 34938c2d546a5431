/**
 * How far a teardown reaches, layer by layer, and what each layer can honestly promise. The layers that were in force
 * for a tree stand in its `TeardownReport`.
 *
 * Beyond every layer is work that was handed to somebody who was running before the tree was: a container daemon, a
 * terminal multiplexer outside, `at`, a service manager.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as ProcessTree from "./ProcessTree.js"
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
 * import { Effect } from "effect"
 * import { Containment } from "effect-agents"
 *
 * const promises = Effect.forEach(Containment.layers, ({ layer, promise }) => Effect.log(layer, promise))
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
  },
  {
    layer: "guard",
    platforms: "POSIX",
    promise:
      "Ends the same when the host ends in whatever way, SIGKILL included: a process of its own waits for that. Not "
      + "when it is killed too; then the next host that starts does it."
  },
  {
    layer: "cgroup",
    platforms: "Linux with cgroups of version 2, where this process may make one",
    promise:
      "Ends all who are in the cgroup in one moment, of whatever user. Only who may write to another cgroup leaves "
      + "it, and is then still known by the other layers."
  },
  {
    layer: "namespace",
    platforms: "Linux with bwrap or unshare, where this process may make a pid namespace",
    promise:
      "Ends every descendant in one moment, also those that hide on purpose: nobody inside can leave, or end what "
      + "holds them."
  }
]

/**
 * What this machine offers, found out by trying once: every layer, available or why not, with its promise, and warnings.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Containment, NodeProcessTree } from "effect-agents"
 *
 * const doctor = Effect.gen(function*() {
 *   const { layers, warnings } = yield* Containment.probe
 *   for (const { available, layer, promise, why } of layers) {
 *     yield* Effect.log(available ? `${layer}: ${promise}` : `no ${layer}: ${why}`)
 *   }
 *   yield* Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })
 * }).pipe(Effect.provide(NodeProcessTree.layer))
 * ```
 *
 * @since 0.1.0
 * @category probing
 */
export const probe: Effect.Effect<
  {
    readonly layers: ReadonlyArray<Reach & { readonly available: boolean; readonly why: string }>
    readonly warnings: ReadonlyArray<string>
  },
  never,
  ProcessTree.Spawner
> = Effect.flatMap(ProcessTree.Spawner, (spawner) =>
  Effect.map(spawner.containment, (found) => ({
    layers: found.layers.flatMap((finding) =>
      layers.flatMap((reach) => reach.layer === finding.layer ? [{ ...reach, ...finding }] : [])
    ),
    warnings: found.warnings
  })))

export {
  /**
   * See `ProcessTree.ContainmentUnavailable`: here for those who ask for a layer by `require`.
   *
   * **Example**
   *
   * ```ts
   * import { Effect } from "effect"
   * import { Containment } from "effect-agents"
   *
   * const checked = Containment.require("guard").pipe(
   *   Effect.catchTag("ContainmentUnavailable", ({ why }) => Effect.dieMessage(`not on this machine: ${why}`))
   * )
   * ```
   *
   * @since 0.1.0
   * @category errors
   */
  ContainmentUnavailable
} from "./ProcessTree.js"

/**
 * Fails with `ContainmentUnavailable` unless this machine has a layer. Nothing is started.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Containment } from "effect-agents"
 *
 * // Rather not at all than without cover for the death of this process.
 * const review = Containment.require("guard").pipe(
 *   Effect.zipRight(Agent.run(AgentRequest.make({ prompt: "Review src/index.ts" })))
 * )
 * ```
 *
 * @since 0.1.0
 * @category probing
 */
export const require = (
  layer: Teardown.Layer
): Effect.Effect<void, ProcessTree.ContainmentUnavailable, ProcessTree.Spawner> =>
  Effect.flatMap(probe, ({ layers }) => {
    const found = layers.find((reach) => reach.layer === layer)
    return found?.available === true
      ? Effect.void
      : Effect.fail(
        new ProcessTree.ContainmentUnavailable({ layer, why: found?.why ?? "this platform does not have it" })
      )
  })

/**
 * Ends what hosts of this user left behind that were killed together with their guard, by what they wrote down about
 * their marks: never by the parent, never by a bare pid. Only hosts of this boot and pid namespace; safe when several do
 * it at once. `NodeProcessTree.layer` does it when it is built, unless told otherwise.
 *
 * One report for every such host, with its pid and the reason `host-died`. What cannot be read is set aside and logged.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Containment, NodeProcessTree } from "effect-agents"
 *
 * const cleanUp = Containment.sweepStale.pipe(
 *   Effect.flatMap((reports) => Effect.log(reports.map(String).join("\\n"))),
 *   Effect.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category sweeping
 */
export const sweepStale: Effect.Effect<ReadonlyArray<Teardown.TeardownReport>, never, ProcessTree.Spawner> = Effect
  .flatMap(ProcessTree.Spawner, (spawner) => spawner.sweepStale)

/**
 * The trees that hosts of this user have handed over and that live: see `ProcessTree.Detached`. Those of this boot and pid
 * namespace.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Containment, NodeProcessTree } from "effect-agents"
 *
 * const list = Containment.detached.pipe(
 *   Effect.tap(Effect.forEach(({ command, mark, members, owner }) =>
 *     Effect.log(`${mark}: ${command}, ${members.length} processes, handed over by ${owner.pid}`)
 *   )),
 *   Effect.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category detached trees
 */
export const detached: Effect.Effect<ReadonlyArray<ProcessTree.Detached>, never, ProcessTree.Spawner> = Effect
  .flatMap(ProcessTree.Spawner, (spawner) => spawner.detached)

/**
 * Ends a tree that some host has handed over, by its mark, with the policy of the Spawner unless told otherwise; steps
 * for the leader alone are left out. None where there is no such tree, or nothing of it any more.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Containment, NodeProcessTree } from "effect-agents"
 *
 * const endAll = Containment.detached.pipe(
 *   Effect.flatMap(Effect.forEach(({ mark }) => Containment.endDetached(mark))),
 *   Effect.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category detached trees
 */
export const endDetached = (
  mark: string,
  policy?: Teardown.Teardown
): Effect.Effect<Option.Option<Teardown.TeardownReport>, never, ProcessTree.Spawner> =>
  Effect.flatMap(ProcessTree.Spawner, (spawner) => spawner.endDetached(mark, policy))
