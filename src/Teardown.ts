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
 * A signal that a step may send, named as Node names it. Windows knows none of them: there, steps are skipped and the
 * tree is ended at once.
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
 * A teardown policy. It takes at most the sum of the waits of its steps plus `settle`, the bound on the final kill;
 * usually less, as every wait ends once there is nobody to wait for.
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
 * A policy of your own: steps in their order, `to` being `"tree"` unless it says otherwise; no steps mean SIGKILL at
 * once. `settle` (default 2 seconds) bounds the final kill: what is still there then is named in the report as a
 * survivor. Throws when a duration is not one.
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
 * For agents their own policies are better, which turn to the leader first: an agent whose tool ends before it does may
 * take that for the result of the tool, and ask the model once more.
 *
 * **Example**
 *
 * ```ts
 * import { Command } from "@effect/platform"
 * import { ProcessTree, Teardown } from "effect-agents"
 *
 * const server = ProcessTree.start(Command.make("npm", "run", "dev"), { teardown: Teardown.graceful("500 millis") })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const graceful = (grace: Duration.DurationInput = "5 seconds"): Teardown =>
  make([{ signal: "SIGTERM", to: "tree", wait: grace }])

/**
 * SIGKILL of the whole tree at once.
 *
 * **Example**
 *
 * ```ts
 * import { Command } from "@effect/platform"
 * import { ProcessTree, Teardown } from "effect-agents"
 *
 * // Nothing to clean up, so nothing to ask.
 * const watcher = ProcessTree.start(Command.make("tail", "-F", "build.log"), { teardown: Teardown.immediate })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const immediate: Teardown = make([])

/**
 * The longest time that the polite steps of a policy may take together.
 *
 * **Example**
 *
 * ```ts
 * import { Duration } from "effect"
 * import { Claude, Teardown } from "effect-agents"
 *
 * const longest = Duration.sum(Teardown.grace(Claude.driver.teardown), Claude.driver.teardown.settle)
 * ```
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
 * - `namespace`: it is a part of the pid namespace that the tree is sealed in, or an orphan there.
 * - `cgroup`: it is in the cgroup that the tree is sealed in.
 *
 * **Example**
 *
 * ```ts
 * import { Teardown } from "effect-agents"
 *
 * // What had left the leader's group and session, and its parents.
 * const escaped = (report: Teardown.TeardownReport) =>
 *   report.killed.filter(({ by }) => by === "environment" || by === "rlimit")
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Evidence = Schema.Literal(
  "leader",
  "group",
  "session",
  "parent",
  "environment",
  "rlimit",
  "namespace",
  "cgroup"
)

/**
 * A value of the schema `Evidence`.
 *
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
 * **Example**
 *
 * ```ts
 * import { Teardown } from "effect-agents"
 *
 * const line = (one: Teardown.KilledProcess) =>
 *   `${one.pid} ${one.command}: ${one.signal ?? "ended by itself"} (known by ${one.by})`
 * ```
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
 * The other fields are those of `KilledProcess`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Teardown } from "effect-agents"
 *
 * const alarm = (report: Teardown.TeardownReport) =>
 *   Effect.forEach(report.survivors, ({ command, pid, why }) => Effect.logError(`${pid} ${command}: ${why}`))
 * ```
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
 * What one polite step did: `signal`, and `to` whom. `durationMs` is the time it waited, in milliseconds, `alive` how
 * many processes of the tree were still there after it.
 *
 * **Example**
 *
 * ```ts
 * import { Teardown } from "effect-agents"
 *
 * const line = (step: Teardown.StepReport) =>
 *   `${step.signal} to the ${step.to}: ${step.alive} left after ${Math.round(step.durationMs)} ms`
 * ```
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
 * Why a tree was torn down: its work was `completed`, the effect that owned it `failed` or was `interrupted`, it went
 * beyond a `limit` of its own, or the host process ended (`host-exit`). `host-died`: a later host cleaned up after one
 * that was killed. `detached`: it was not torn down, but handed over by `ProcessTree.detach`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { ProcessTree } from "effect-agents"
 *
 * const interrupted = Effect.gen(function*() {
 *   const { reports } = yield* ProcessTree.Spawner
 *   yield* reports.pipe(
 *     Stream.filter(({ reason }) => reason === "interrupted"),
 *     Stream.runForEach((report) => Effect.logWarning(String(report)))
 *   )
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Reason = Schema.Literal(
  "completed",
  "failed",
  "interrupted",
  "limit",
  "host-exit",
  "host-died",
  "detached"
)

/**
 * A value of the schema `Reason`.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * The layers of reach: see `Containment` for the promise that each one makes. A report names those that were in force.
 *
 * **Example**
 *
 * ```ts
 * import { Teardown } from "effect-agents"
 *
 * const reachesDaemons = (report: Teardown.TeardownReport) => report.layers.includes("rlimit")
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Layer = Schema.Literal("group", "environment", "rlimit", "guard", "namespace", "cgroup", "taskkill")

/**
 * A value of the schema `Layer`.
 *
 * @since 0.1.0
 * @category models
 */
export type Layer = typeof Layer.Type

/**
 * What a tree used, all its processes together, as far as it was seen: see `ProcessTree.Limits` for what is counted.
 *
 * Peaks are the highest values that were measured, `cpuSeconds` is what had been used at the last look. A tree that ended
 * before anybody looked has no usage.
 *
 * **Example**
 *
 * ```ts
 * import { Teardown } from "effect-agents"
 *
 * const line = ({ cpuSeconds, peakMemoryBytes, peakProcesses }: Teardown.Usage) =>
 *   `${peakProcesses} processes, ${Math.round(peakMemoryBytes / 2 ** 20)} MiB, ${cpuSeconds} s`
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class Usage extends Schema.Class<Usage>("effect-agents/Teardown/Usage")({
  peakProcesses: Schema.Number,
  peakMemoryBytes: Schema.Number,
  cpuSeconds: Schema.Number
}) {}

/**
 * The names of the limits that a tree can have: see `ProcessTree.Limits`.
 *
 * **Example**
 *
 * ```ts
 * import { Teardown } from "effect-agents"
 *
 * const isMemory = (limit: Teardown.Limit) => limit === "memoryBytes"
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Limit = Schema.Literal("processes", "memoryBytes", "cpuSeconds", "openFiles")

/**
 * A value of the schema `Limit`.
 *
 * @since 0.1.0
 * @category models
 */
export type Limit = typeof Limit.Type

/**
 * The limit that a tree went beyond: how much was `allowed`, how much was `measured`, both in the unit of the limit, and
 * the processes that had the `biggest` part of it, at most five. For `processes` they are the programs of which there are
 * most, each by one of its processes.
 *
 * **Example**
 *
 * ```ts
 * import { Teardown } from "effect-agents"
 *
 * const line = ({ allowed, biggest, limit, measured }: Teardown.Exceeded) =>
 *   `${measured} of ${allowed} ${limit}: ${biggest.map(({ command, value }) => `${command} ${value}`).join(", ")}`
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class Exceeded extends Schema.Class<Exceeded>("effect-agents/Teardown/Exceeded")({
  limit: Limit,
  allowed: Schema.Number,
  measured: Schema.Number,
  biggest: Schema.Array(Schema.Struct({ pid: Schema.Number, command: Schema.String, value: Schema.Number }))
}) {
  /**
   * One line for people.
   *
   * @since 0.1.0
   */
  override toString(): string {
    const biggest = this.biggest.map(({ command, pid, value }) => `${command} (${pid}) ${value}`).join(", ")
    return `${this.measured} of at most ${this.allowed} ${this.limit}: ${biggest}`
  }
}

/**
 * What the teardown of one tree did and what it found at the end.
 *
 * `verified` is
 *
 * - `empty`: a look at the process table that can have missed nobody found nothing of the tree alive; or several in a
 *   row, where something is forked all the time,
 * - `survivors`: something is still there, and named in `survivors`,
 * - `not-visible`: this platform cannot see the whole tree, so that nothing is claimed,
 * - `detached`: nothing was done, for the tree was handed over and lives on: `detached` is its mark, by which
 *   `Containment.endDetached` ends it.
 *
 * Zombies do not count as alive. `looks` is the number of looks, `durationMs` the whole time of the teardown.
 * `outputHeld` tells that the standard output of the leader was still held open by somebody when everything visible
 * had ended.
 *
 * `pid` and `command` are the leader's. `steps` lists the polite steps that were taken, `killed` every process of the
 * tree that was there when the teardown began or came later, and has ended.
 *
 * `usage` is there for a tree that had limits or was asked for it, `exceeded` for one that went beyond a limit: the
 * reason is `limit` if that is why it was torn down, another one if it happened later.
 *
 * Every report also goes to `ProcessTree.Spawner`'s `reports`, to the span `ProcessTree.teardown` and to the log: as a
 * warning when anything survived, else at debug level.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const strict = Agent.run(AgentRequest.make({ prompt: "Run the tests", permission: "Auto" })).pipe(
 *   Effect.filterOrFail(
 *     ({ teardown }) => teardown.verified === "empty",
 *     ({ teardown }) => `not verified: ${teardown}`
 *   )
 * )
 * ```
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
  verified: Schema.Literal("empty", "survivors", "not-visible", "detached"),
  detached: Schema.optional(Schema.String),
  layers: Schema.Array(Layer),
  notes: Schema.Array(Schema.String),
  looks: Schema.Number,
  outputHeld: Schema.Boolean,
  usage: Schema.optional(Usage),
  exceeded: Schema.optional(Exceeded),
  durationMs: Schema.Number
}) {
  /**
   * One line for people.
   *
   * @since 0.1.0
   */
  override toString(): string {
    if (this.detached !== undefined) return `${this.command} (${this.pid}): lives on, detached as ${this.detached}`
    const ended = `${this.killed.length} ended, ${Math.round(this.durationMs)} ms`
    return Option.match(Option.fromNullable(this.survivors[0]), {
      onNone: () => `${this.command} (${this.pid}): verified ${this.verified}, ${ended}`,
      onSome: () =>
        `${this.command} (${this.pid}): ${this.survivors.length} survived (${
          this.survivors.slice(0, 5).map((process) => `${process.pid} ${process.command}: ${process.why}`).join(", ")
        }${this.survivors.length > 5 ? ", …" : ""}), ${ended}`
    })
  }
}
