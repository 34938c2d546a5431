/**
 * A process and everything it starts, as one scoped resource. While the scope is open it runs; when the scope closes,
 * for whatever reason, the process and all its descendants are ended and a report says what was done and what, if
 * anything, is still there.
 *
 * Knows nothing of agents: any `@effect/platform` `Command` can be run as a tree.
 *
 * @since 0.1.0
 */
import type * as Command from "@effect/platform/Command"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import type { PlatformError } from "@effect/platform/Error"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Inspectable from "effect/Inspectable"
import type * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Sink from "effect/Sink"
import type * as Stream from "effect/Stream"
import * as internal from "./internal/kernel/onReport.js"
import * as Teardown from "./Teardown.js"

/**
 * What marks a value as a process tree.
 *
 * **Example**
 *
 * ```ts
 * import { Predicate } from "effect"
 * import { ProcessTree } from "effect-agents"
 *
 * const isTree = Predicate.hasProperty(ProcessTree.TypeId)
 * ```
 *
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: unique symbol = Symbol.for("effect-agents/ProcessTree")

/**
 * The type of the symbol `TypeId`.
 *
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

/**
 * How the leader ended: by itself with `code`, or by `signal`. One of the two is `null`.
 *
 * In a pid namespace, what ended by the signal with the number N is told as `code` 128 + N: the process that was started
 * is the one that watches the leader. A cgroup that could not be joined is `code` 125, and the program was not started.
 *
 * @since 0.1.0
 * @category models
 */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

/**
 * A process of a tree, as the process table shows it. `startTime` as in `Teardown.KilledProcess`, `by` is what it was
 * recognised by, `state` the letter of the process table (`R` running, `S` sleeping, `T` stopped, `D` in the kernel).
 *
 * @since 0.1.0
 * @category models
 */
export interface Member {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly startTime: number
  readonly state: string
  readonly command: string
  readonly by: Teardown.Evidence
}

/**
 * A running tree.
 *
 * - `pid`: of the leader; also the number of its own session and group (POSIX). In a pid namespace, of the process that
 *   watches the leader: signals to the leader go to the program itself, which has a session and group of its own.
 * - `stdin`, `stdout`, `stderr`: of the leader. Output that is not read keeps the leader waiting, and is not lost when
 *   it ends; both ends are discarded once the teardown begins.
 * - `exit`: waits for the end of the leader, and does not fail. Others may live on until the teardown.
 * - `isRunning`: whether the leader has not ended yet.
 * - `members`: who is there now, the leader first, zombies left out. Reads the process table.
 * - `signal`: to the leader, to all, or to the members that are named and still there. Does not wait. Does nothing once nobody is there.
 * - `teardown`: ends the tree now instead of at the end of the scope, and returns the report; any number of times.
 * - `report`: waits for the report of the teardown, whoever began it.
 * - `detach`: hands the tree over instead of ending it: see `DetachRefused` for when it cannot, and `Detached` for what
 *   becomes of it.
 *
 * On Windows `members` is always empty, and `signal` does nothing unless it is SIGKILL, which ends what `taskkill /T`
 * reaches.
 *
 * **Example**
 *
 * ```ts
 * import { Command } from "@effect/platform"
 * import { Effect } from "effect"
 * import { ProcessTree } from "effect-agents"
 *
 * const peek = Effect.scoped(Effect.gen(function*() {
 *   const tree = yield* ProcessTree.start(Command.make("npm", "run", "dev"))
 *   yield* Effect.sleep("10 seconds")
 *   const members = yield* tree.members
 *   const { killed, verified } = yield* tree.teardown
 *   return { before: members.length, ended: killed.length, verified }
 * }))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface ProcessTree extends Inspectable.Inspectable {
  readonly [TypeId]: TypeId
  readonly pid: CommandExecutor.ProcessId
  readonly stdin: Sink.Sink<void, Uint8Array, never, PlatformError>
  readonly stdout: Stream.Stream<Uint8Array, PlatformError>
  readonly stderr: Stream.Stream<Uint8Array, PlatformError>
  readonly exit: Effect.Effect<Exit>
  readonly isRunning: Effect.Effect<boolean>
  readonly members: Effect.Effect<ReadonlyArray<Member>>
  readonly signal: (signal: Teardown.Signal, to?: "leader" | "tree" | ReadonlyArray<Member>) => Effect.Effect<void>
  readonly teardown: Effect.Effect<Teardown.TeardownReport>
  readonly report: Effect.Effect<Teardown.TeardownReport>
  readonly detach: Effect.Effect<Detached, DetachRefused>
}

/**
 * What a tree may use, all its processes together. One that goes beyond is killed at once, without the polite steps of
 * its policy, and its report says by what: `Teardown.TeardownReport.exceeded`.
 *
 * - `processes`: how many live at the same time.
 * - `memoryBytes`: what they have in memory, shared pages counted once.
 * - `cpuSeconds`: what they have computed, with those that have ended since; exact for a tree in a cgroup.
 * - `openFiles`: how many files, pipes and sockets they have open.
 *
 * Linux only: elsewhere a tree with limits is not started. They are checked by looking, at most a quarter of a
 * second apart unless the machine is busy with it, more often while the tree grows: what begins and ends in between may
 * go unseen.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly processes?: number | undefined
  readonly memoryBytes?: number | undefined
  readonly cpuSeconds?: number | undefined
  readonly openFiles?: number | undefined
}

/**
 * A boundary around a tree that the kernel keeps, so that also those are ended who hide on purpose (Linux).
 *
 * - `"namespace"`: a pid namespace of its own, by `bwrap` or else `unshare`. The tree sees only itself in the process
 *   table, set-user-id programs (`sudo`, `su`) do not work in it, and with `unshare` everything in it ends with the
 *   leader.
 * - `"cgroup"`: a cgroup of its own, version 2, where this process may make one: as root, or delegated.
 * - `"auto"`: the first of `bwrap`, `unshare` and cgroup that works here, and none where none does: `layers` of the
 *   report tells.
 * - `"none"`: no seal.
 *
 * What was asked for by name and is not to be had fails with `ContainmentUnavailable` before anything is started.
 *
 * @since 0.1.0
 * @category models
 */
export type Seal = "auto" | "namespace" | "cgroup" | "none"

/**
 * Options of one tree.
 *
 * - `teardown`: the policy, by default that of the Spawner.
 * - `stdin`: `"ignore"` closes the standard input from the start; by default what the command says.
 * - `limits`: what it may use, by default the limits of the Spawner, each for itself.
 * - `usage`: whether the report is to say what it used; always so with limits. Default `false`, which costs nothing.
 * - `seal`: the boundary around the tree, by default that of the Spawner.
 *
 * @since 0.1.0
 * @category models
 */
export interface StartOptions {
  readonly teardown?: Teardown.Teardown | undefined
  readonly stdin?: "ignore" | undefined
  readonly limits?: Limits | undefined
  readonly usage?: boolean | undefined
  readonly seal?: Seal | undefined
}

/**
 * A layer that a program cannot do without is not to be had on this machine; `why` says what is missing, or what was
 * tried and how that failed.
 *
 * **Example**
 *
 * ```ts
 * import { Command } from "@effect/platform"
 * import { Effect } from "effect"
 * import { ProcessTree } from "effect-agents"
 *
 * const sealed = ProcessTree.start(Command.make("npm", "test"), { seal: "namespace" }).pipe(
 *   Effect.catchTag("ContainmentUnavailable", ({ why }) => Effect.dieMessage(`not on this machine: ${why}`))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class ContainmentUnavailable
  extends Schema.TaggedError<ContainmentUnavailable>("effect-agents/ProcessTree/ContainmentUnavailable")(
    "ContainmentUnavailable",
    { layer: Teardown.Layer, why: Schema.String }
  )
{
  /** @since 0.1.0 */
  override get message(): string {
    return `the layer "${this.layer}" is not available: ${this.why}`
  }
}

/**
 * The machine that a Spawner starts processes on. `environment` is what a child inherits unless told otherwise.
 *
 * `platform` and `arch` are Node's names (`linux`, `x64`). `cwd` is absolute, and empty once that directory was removed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Host {
  readonly platform: string
  readonly arch: string
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

/**
 * What a machine offers to contain trees with: every layer it could have, whether it has it, and if not, `why`;
 * `warnings` name what makes the promises weaker here.
 *
 * @since 0.1.0
 * @category models
 */
export interface Containment {
  readonly layers: ReadonlyArray<{
    readonly layer: Teardown.Layer
    readonly available: boolean
    readonly why: string
  }>
  readonly warnings: ReadonlyArray<string>
}

/**
 * A host by what no other one will ever have, for locks and leases that outlive it: `machine` is its name in the network,
 * `boot` and `namespace` say where and since when its `pid` and `startTime` are counted, `id` begins the marks of its
 * trees.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { ProcessTree } from "effect-agents"
 *
 * const decode = Schema.decodeUnknown(Schema.parseJson(ProcessTree.Owner))
 *
 * const isStale = Effect.fnUntraced(function*(lock: string) {
 *   const { isAlive } = yield* ProcessTree.Spawner
 *   return !(yield* isAlive(yield* decode(lock)))
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Owner = Schema.Struct({
  machine: Schema.String,
  boot: Schema.String,
  namespace: Schema.String,
  pid: Schema.Number,
  startTime: Schema.Number,
  id: Schema.String
})

/**
 * A value of the schema `Owner`.
 *
 * @since 0.1.0
 * @category models
 */
export type Owner = typeof Owner.Type

/**
 * A tree that was handed over on purpose: neither the end of its scope nor that of its host ends it, in whatever way the
 * host ends, until somebody does by its `mark`: see `Containment.detached` and `Containment.endDetached`. A tree around
 * the host still takes it along.
 *
 * `owner` is the host that has handed it over, `since` when, in milliseconds since the epoch, `members` who was there then,
 * or when it was listed.
 *
 * Its standard input ends. What it writes is read and thrown away from then on, by a `cat` which belongs to it. Limits
 * are not kept any more. Temporary files of its host stay until it has ended. Of a piped command it is the last part
 * alone.
 *
 * @since 0.1.0
 * @category models
 */
export interface Detached {
  readonly mark: string
  readonly owner: Owner
  readonly command: string
  readonly since: number
  readonly members: ReadonlyArray<Member>
}

/**
 * A tree that is not handed over, and lives as long as its scope. `detail` says why in words.
 *
 * - `ended`: its teardown has begun, or nothing of it is there any more.
 * - `platform`: only Linux can do it.
 * - `cgroup`: it is sealed in a cgroup, which ends with the host.
 * - `ledger`: it could not be written down in the state directory of the user, where those find it who clean up.
 * - `outputs`: nobody could be started to go on reading what it writes.
 *
 * **Example**
 *
 * ```ts
 * import { Command } from "@effect/platform"
 * import { Effect } from "effect"
 * import { ProcessTree } from "effect-agents"
 *
 * const serve = Effect.scoped(Effect.gen(function*() {
 *   const tree = yield* ProcessTree.start(Command.make("npm", "run", "dev"))
 *   return yield* tree.detach
 * })).pipe(
 *   Effect.tap(({ mark }) => Effect.log(`to end it: ${mark}`)),
 *   Effect.catchTag("DetachRefused", ({ detail }) => Effect.dieMessage(detail))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class DetachRefused
  extends Schema.TaggedError<DetachRefused>("effect-agents/ProcessTree/DetachRefused")("DetachRefused", {
    reason: Schema.Literal("ended", "platform", "cgroup", "ledger", "outputs"),
    detail: Schema.String
  })
{
  /** @since 0.1.0 */
  override get message(): string {
    return `the tree stays with its scope (${this.reason}): ${this.detail}`
  }
}

/**
 * Starts processes as trees. Provided by `NodeProcessTree.layer`.
 *
 * - `start`: see the function of the same name.
 * - `reports`: the reports of all teardowns from now on; a slow reader loses the oldest beyond 256.
 * - `host`: where the processes run.
 * - `scratch`: a directory for temporary files of what is started. What is in it when this host is killed is removed
 *   after the trees have ended, by whoever ends them.
 * - `containment`, `sweepStale`: see `Containment.probe` and `Containment.sweepStale`.
 * - `detached`, `endDetached`: see the functions of the same names in `Containment`.
 * - `owner`, `isAlive`: who this host is, and whether another one, or a process of its trees, may still be at work. Of a
 *   host on another machine or in another pid namespace nothing is known, so that it counts as alive.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { ProcessTree } from "effect-agents"
 *
 * // One line for every tree that ends, those of agents included.
 * const ledger = Effect.gen(function*() {
 *   const { reports } = yield* ProcessTree.Spawner
 *   yield* Effect.forkScoped(Stream.runForEach(reports, (report) => Effect.log(String(report))))
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class Spawner extends Context.Tag("effect-agents/ProcessTree/Spawner")<Spawner, {
  readonly start: (
    command: Command.Command,
    options?: StartOptions
  ) => Effect.Effect<ProcessTree, PlatformError | ContainmentUnavailable, Scope.Scope>
  readonly reports: Stream.Stream<Teardown.TeardownReport>
  readonly host: Effect.Effect<Host>
  readonly scratch: Effect.Effect<string, PlatformError>
  readonly containment: Effect.Effect<Containment>
  readonly sweepStale: Effect.Effect<ReadonlyArray<Teardown.TeardownReport>>
  readonly detached: Effect.Effect<ReadonlyArray<Detached>>
  readonly endDetached: (
    mark: string,
    policy?: Teardown.Teardown
  ) => Effect.Effect<Option.Option<Teardown.TeardownReport>>
  readonly owner: Effect.Effect<Owner>
  readonly isAlive: (owner: Owner) => Effect.Effect<boolean>
}>() {}

/**
 * Whether a value is a process tree.
 *
 * **Example**
 *
 * ```ts
 * import { ProcessTree } from "effect-agents"
 *
 * const label = (u: unknown) => ProcessTree.isProcessTree(u) ? `tree ${u.pid}` : String(u)
 * ```
 *
 * @since 0.1.0
 * @category refinements
 */
export const isProcessTree = (u: unknown): u is ProcessTree => Predicate.hasProperty(u, TypeId)

/**
 * Starts a command as a tree that lives as long as the scope.
 *
 * Fails with a `PlatformError` when the program or the working directory does not exist (`NotFound`), is not
 * executable (`PermissionDenied`), or the operating system refuses (arguments too large, no more processes), and with
 * `ContainmentUnavailable` when a seal was asked for that this machine does not have. The command's own end, whatever
 * its exit code, is not a failure: see `ProcessTree.exit`.
 *
 * A piped command is one tree per part; the tree of the last part is returned, the others end with the same scope.
 * `Command.runInShell` runs the command by `/bin/sh -c`.
 *
 * **Example**
 *
 * ```ts
 * import { Command } from "@effect/platform"
 * import { Effect, Stream } from "effect"
 * import { NodeProcessTree, ProcessTree, Teardown } from "effect-agents"
 *
 * const build = Effect.scoped(Effect.gen(function*() {
 *   const tree = yield* ProcessTree.start(Command.make("npm", "run", "build"), {
 *     teardown: Teardown.graceful("2 seconds")
 *   })
 *   yield* tree.stdout.pipe(Stream.decodeText(), Stream.runForEach((text) => Effect.log(text)))
 *   return yield* tree.exit
 * })).pipe(
 *   Effect.timeout("5 minutes"), // on timeout nothing of the build is left
 *   Effect.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const start = (
  command: Command.Command,
  options?: StartOptions
): Effect.Effect<ProcessTree, PlatformError | ContainmentUnavailable, Spawner | Scope.Scope> =>
  Effect.flatMap(Spawner, (spawner) => spawner.start(command, options))

/**
 * Tells of every tree that an effect starts, when it has ended: also of those of agents, and also when the effect fails
 * or is interrupted. Nested ones are all told.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, ProcessTree } from "effect-agents"
 *
 * const told = Agent.run(AgentRequest.make({ prompt: "Run the tests", permission: "Auto" })).pipe(
 *   Effect.timeout("1 minute"),
 *   ProcessTree.onReport((report) => Effect.log(`${report.reason}: ${report}`))
 * )
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const onReport: {
  (
    f: (report: Teardown.TeardownReport) => Effect.Effect<void>
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    f: (report: Teardown.TeardownReport) => Effect.Effect<void>
  ): Effect.Effect<A, E, R>
} = dual(
  2,
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    f: (report: Teardown.TeardownReport) => Effect.Effect<void>
  ): Effect.Effect<A, E, R> => internal.also(self, (report) => f(report))
)
