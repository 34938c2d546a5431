/**
 * How a process tree is ended, as data: the policy before, the report after.
 *
 * A policy is an ordered list of polite steps. Whatever they leave is killed: the last step of every policy, never
 * written down, is SIGKILL of the whole tree followed by a sweep that looks until nothing of it is left.
 *
 * @since 0.1.0
 */
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/**
 * A signal that a step may send. Windows knows none of them: there, steps are skipped and the tree is ended at once.
 *
 * @since 0.1.0
 * @category models
 */
export type Signal = CommandExecutor.Signal

/**
 * One polite step: send `signal`, then wait at most `wait`.
 *
 * - `to: "leader"`: only the process that was started. The step ends early when the leader has gone, so that the next
 *   step can turn to what it left behind.
 * - `to: "tree"`: every process of the tree, in whatever group or session. The step ends early when the whole tree is
 *   empty, never because the leader has gone.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step {
  readonly signal: Signal
  readonly to: "leader" | "tree"
  readonly wait: Duration.Duration
}

/**
 * A teardown policy. It takes at most the sum of the waits of its steps plus `settle`, the bound on the final kill.
 *
 * @since 0.1.0
 * @category models
 */
export interface Teardown {
  readonly steps: ReadonlyArray<Step>
  readonly settle: Duration.Duration
}

const defaultSettle = Duration.seconds(2)

/**
 * A policy of your own.
 *
 * **Example**
 *
 * ```ts
 * import { Teardown } from "effect-agents"
 *
 * // First let the leader clean up on SIGINT, then ask everybody, then kill.
 * const policy = Teardown.make([
 *   { signal: "SIGINT", to: "leader", wait: "3 seconds" },
 *   { signal: "SIGTERM", to: "tree", wait: "1 second" }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  steps: ReadonlyArray<{
    readonly signal: Signal
    readonly to?: "leader" | "tree" | undefined
    readonly wait: Duration.DurationInput
  }>,
  options?: { readonly settle?: Duration.DurationInput | undefined }
): Teardown => ({
  steps: steps.map((step) => ({
    signal: step.signal,
    to: step.to ?? "tree",
    wait: Duration.decode(step.wait)
  })),
  settle: options?.settle === undefined ? defaultSettle : Duration.decode(options.settle)
})

/**
 * SIGTERM to the whole tree, at most `grace` (default 5 seconds) for it to end, then SIGKILL of what is left.
 *
 * @since 0.1.0
 * @category constructors
 */
export const graceful = (grace: Duration.DurationInput = "5 seconds"): Teardown =>
  make([{ signal: "SIGTERM", to: "tree", wait: grace }])

/**
 * SIGKILL of the whole tree at once.
 *
 * @since 0.1.0
 * @category constructors
 */
export const immediate: Teardown = make([])

/**
 * The longest time that the polite steps of a policy may take together.
 *
 * @since 0.1.0
 * @category getters
 */
export const grace = (self: Teardown): Duration.Duration =>
  self.steps.reduce((total, step) => Duration.sum(total, step.wait), Duration.zero)

/**
 * What a process was recognised by as part of the tree.
 *
 * - `leader`: it is the process that was started.
 * - `group`, `session`: it is in a group or session that only the tree uses.
 * - `parent`: its parent belongs to the tree.
 * - `environment`: it carries the tree's mark in its environment.
 * - `rlimit`: it carries the tree's mark in its hard limit on file locks (Linux), which no descendant can raise.
 * - `namespace`: it lives in a pid namespace that the tree opened.
 *
 * @since 0.1.0
 * @category models
 */
export const Evidence = Schema.Literal("leader", "group", "session", "parent", "environment", "rlimit", "namespace")

/**
 * @since 0.1.0
 * @category models
 */
export type Evidence = typeof Evidence.Type

/**
 * A process that belonged to the tree and has ended during the teardown.
 *
 * `startTime` is the kernel's: on Linux clock ticks since boot, elsewhere milliseconds since the epoch. Together with
 * `pid` it identifies a process for good. `command` is the name of the program, without its arguments.
 * `signal` is the last signal that was sent to it; absent when it ended without one.
 *
 * @since 0.1.0
 * @category models
 */
export class KilledProcess extends Schema.Class<KilledProcess>("effect-agents/Teardown/KilledProcess")({
  pid: Schema.Number,
  startTime: Schema.Number,
  command: Schema.String,
  by: Evidence,
  signal: Schema.optional(Schema.String)
}) {}

/**
 * A process of the tree that could not be ended.
 *
 * - `not-permitted`: it runs as another user, and this one may not signal it.
 * - `uninterruptible`: it hangs in the kernel (state D) and will end when that wait does.
 * - `deadline`: it was still there when the bound of the policy was reached.
 *
 * @since 0.1.0
 * @category models
 */
export class SurvivingProcess extends Schema.Class<SurvivingProcess>("effect-agents/Teardown/SurvivingProcess")({
  pid: Schema.Number,
  startTime: Schema.Number,
  command: Schema.String,
  by: Evidence,
  why: Schema.Literal("not-permitted", "uninterruptible", "deadline")
}) {}

/**
 * What one polite step did.
 *
 * `durationMs` is the time it waited, `alive` how many processes of the tree were still there after it.
 *
 * @since 0.1.0
 * @category models
 */
export class StepReport extends Schema.Class<StepReport>("effect-agents/Teardown/StepReport")({
  signal: Schema.String,
  to: Schema.Literal("leader", "tree"),
  durationMs: Schema.Number,
  alive: Schema.Number
}) {}

/**
 * Why a tree was torn down: its work was `completed`, the effect that owned it `failed` or was `interrupted`, or the
 * host process ended (`host-exit`).
 *
 * @since 0.1.0
 * @category models
 */
export const Reason = Schema.Literal("completed", "failed", "interrupted", "host-exit")

/**
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * The layers of reach that were in force for a tree. See `Containment` for the promise that each one makes.
 *
 * @since 0.1.0
 * @category models
 */
export const Layer = Schema.Literal("group", "environment", "rlimit", "taskkill")

/**
 * @since 0.1.0
 * @category models
 */
export type Layer = typeof Layer.Type

/**
 * What the teardown of one tree did and what it found at the end.
 *
 * `verified` is
 *
 * - `empty`: several looks at the process table, a few milliseconds apart, found nothing of the tree alive,
 * - `survivors`: something is still there, and named in `survivors`,
 * - `not-visible`: this platform cannot see the whole tree, so that nothing is claimed.
 *
 * Zombies do not count as alive. `looks` is the number of looks, `durationMs` the whole time of the teardown.
 * `outputHeld` tells that the standard output of the leader was still held open by somebody when everything visible
 * had ended.
 *
 * @since 0.1.0
 * @category models
 */
export class TeardownReport extends Schema.Class<TeardownReport>("effect-agents/Teardown/TeardownReport")({
  pid: Schema.Number,
  command: Schema.String,
  reason: Reason,
  steps: Schema.Array(StepReport),
  killed: Schema.Array(KilledProcess),
  survivors: Schema.Array(SurvivingProcess),
  verified: Schema.Literal("empty", "survivors", "not-visible"),
  layers: Schema.Array(Layer),
  looks: Schema.Number,
  outputHeld: Schema.Boolean,
  durationMs: Schema.Number
}) {
  /**
   * One line for people.
   *
   * @since 0.1.0
   */
  override toString(): string {
    const ended = `${this.killed.length} ended, ${Math.round(this.durationMs)} ms`
    return Option.match(Option.fromNullable(this.survivors[0]), {
      onNone: () => `${this.command} (${this.pid}): verified ${this.verified}, ${ended}`,
      onSome: () =>
        `${this.command} (${this.pid}): ${this.survivors.length} survived (${
          this.survivors.map((process) => `${process.pid} ${process.command}: ${process.why}`).join(", ")
        }), ${ended}`
    })
  }
}
