/**
 * Process trees on Node: layers of `ProcessTree.Spawner`, and a `CommandExecutor` whose every command is a tree.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/platform/Command"
import * as CommandExecutor from "@effect/platform/CommandExecutor"
import { SystemError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberRef from "effect/FiberRef"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import * as limits from "./internal/kernel/limits.js"
import * as onReport from "./internal/kernel/onReport.js"
import * as owner from "./internal/kernel/owner.js"
import { inBackground } from "./internal/background.js"
import type { Platform } from "./internal/kernel/platform.js"
import * as posix from "./internal/kernel/posix.js"
import * as resolve from "./internal/kernel/resolve.js"
import * as internal from "./internal/kernel/tree.js"
import * as windows from "./internal/kernel/windows.js"
import * as ProcessTree from "./ProcessTree.js"
import * as Teardown from "./Teardown.js"

/**
 * Options of a Spawner.
 *
 * - `teardown`: the policy of trees that have none of their own, by default `Teardown.graceful()`.
 * - `seal`: the boundary around trees that ask for none of their own, by default `"none"`. See `ProcessTree.Seal`.
 * - `guard`: whether a process of its own ends the trees when this one is killed. Default `true`; it is started with the
 *   first tree, and there is one for all trees of a host. Not on Windows.
 * - `sweepStale`: whether the layers, when they are built, end in the background what hosts of this user left behind that
 *   were killed together with their guard. Default `true`. See `Containment.sweepStale`.
 * - `limits`, `usage`: of trees that have none of their own: see `ProcessTree.StartOptions`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly teardown?: Teardown.Teardown | undefined
  readonly seal?: ProcessTree.Seal | undefined
  readonly guard?: boolean | undefined
  readonly sweepStale?: boolean | undefined
  readonly limits?: ProcessTree.Limits | undefined
  readonly usage?: boolean | undefined
}

const platform = (options?: Options): Platform =>
  process.platform === "win32"
    ? windows.make()
    : posix.make(process.platform === "linux", { guard: options?.guard ?? true })

/**
 * The Spawner of this machine.
 *
 * Reports go to `reports`, and to the log: as a warning when anything survived, else at debug level.
 *
 * **Example**
 *
 * ```ts
 * import { Layer } from "effect"
 * import { NodeProcessTree, ProcessTree, Teardown } from "effect-agents"
 *
 * // Processes alone, without the file system and paths of `layer`.
 * const processes = Layer.effect(ProcessTree.Spawner, NodeProcessTree.make({ teardown: Teardown.immediate }))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = Effect.fnUntraced(function*(options?: Options) {
  yield* Effect.orDie(limits.check(options?.limits ?? {}))
  const reports = yield* PubSub.sliding<Teardown.TeardownReport>(256)
  const told = (report: Teardown.TeardownReport) =>
    Effect.zipRight(
      PubSub.publish(reports, report),
      report.survivors.length > 0
        ? Effect.logWarning(`process tree not empty: ${report}`)
        : report.verified === "detached"
        ? Effect.logInfo(`process tree not ended: ${report}`)
        : report.notes.length > 0
        ? Effect.logWarning(`process tree ended: ${report}; ${report.notes.join("; ")}`)
        : Effect.logDebug(`process tree ended: ${report}`)
    )
  const settings: internal.Settings = {
    platform: platform(options),
    teardown: options?.teardown ?? Teardown.graceful(),
    seal: options?.seal ?? "none",
    limits: options?.limits,
    usage: options?.usage,
    onReport: told
  }
  const sweepStale = Effect.suspend(() => Effect.forEach(settings.platform.sweepStale(), internal.sweepStale)).pipe(
    Effect.map((reports) => reports.flatMap((report) => report === undefined ? [] : [report])),
    Effect.tap(Effect.forEach(told, { discard: true }))
  )
  return ProcessTree.Spawner.of({
    sweepStale,
    detached: Effect.sync(() => settings.platform.handedOver().map(internal.toDetached)),
    endDetached: (mark, policy = settings.teardown) =>
      Effect.suspend(() =>
        Option.fromNullable(settings.platform.handedOver().find(({ detached }) => detached.id === mark)).pipe(
          Effect.transposeMapOption((tree) => internal.endDetached(tree, policy, told))
        )
      ),
    containment: Effect.sync(() => {
      const { findings, warnings } = settings.platform.probe()
      return { layers: findings, warnings }
    }),
    start: (command, options) =>
      Effect.flatMap(FiberRef.get(onReport.current), (tell) =>
        internal.start(
          { ...settings, onReport: (report, members) => Effect.zipRight(told(report), tell(report, members)) },
          command,
          options
        )),
    owner: Effect.sync(owner.self),
    isAlive: (other) => Effect.sync(() => owner.lives(other)),
    reports: Stream.fromPubSub(reports),
    scratch: Effect.try({ try: settings.platform.scratch, catch: resolve.fromErrno("scratch", "mkdir") }),
    host: Effect.sync(() => ({
      platform: process.platform,
      arch: process.arch,
      cwd: Either.getOrElse(resolve.currentDirectory(), () => ""),
      environment: internal.inherited()
    }))
  })
})

/**
 * Process trees with options of your own, and the file system and paths that the agents' drivers need.
 *
 * **Example**
 *
 * ```ts
 * import { NodeProcessTree, Teardown } from "effect-agents"
 *
 * const quick = NodeProcessTree.layerWith({ teardown: Teardown.graceful("500 millis") })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (
  options?: Options
): Layer.Layer<ProcessTree.Spawner | FileSystem.FileSystem | Path.Path> =>
  Layer.mergeAll(
    Layer.scoped(
      ProcessTree.Spawner,
      Effect.tap(make(options), (spawner) =>
        options?.sweepStale === false ? Effect.void : inBackground(spawner.sweepStale))
    ),
    NodeFileSystem.layer,
    NodePath.layer
  )

/**
 * Process trees, and the file system and paths that the agents' drivers need.
 *
 * While a tree is alive, SIGINT, SIGTERM and SIGHUP to the host never leave it behind: `NodeRuntime.runMain` interrupts
 * its program on the first one (SIGHUP counts as SIGTERM) and all finalizers run; a second one skips the grace. Without
 * anybody who listens, and at `process.exit` and uncaught exceptions, all trees are killed at once.
 *
 * How far it reaches depends on the system (Linux, other POSIX, Windows): see `Containment`.
 *
 * **Example**
 *
 * ```ts
 * import { Command } from "@effect/platform"
 * import { NodeRuntime } from "@effect/platform-node"
 * import { Effect } from "effect"
 * import { NodeProcessTree, ProcessTree } from "effect-agents"
 *
 * const serve = Effect.scoped(
 *   Effect.flatMap(ProcessTree.start(Command.make("npm", "run", "dev")), (tree) => tree.exit)
 * )
 *
 * // Ctrl-C ends the server with all its workers.
 * serve.pipe(Effect.provide(NodeProcessTree.layer), NodeRuntime.runMain)
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ProcessTree.Spawner | FileSystem.FileSystem | Path.Path> = layerWith()

const ProcessProto = {
  [CommandExecutor.ProcessTypeId]: CommandExecutor.ProcessTypeId,
  ...Inspectable.BaseProto
} as const

const toProcess = (tree: ProcessTree.ProcessTree): CommandExecutor.Process => ({
  ...ProcessProto,
  pid: tree.pid,
  stdin: tree.stdin,
  stdout: tree.stdout,
  stderr: tree.stderr,
  isRunning: tree.isRunning,
  exitCode: Effect.flatMap(tree.exit, ({ code, signal }) =>
    code === null
      ? Effect.fail(
        new SystemError({
          module: "Command",
          method: "exitCode",
          reason: "Unknown",
          pathOrDescriptor: tree.pid,
          description: `ended by ${signal ?? "an unknown signal"}`
        })
      )
      : Effect.succeed(CommandExecutor.ExitCode(code))),
  kill: (signal = "SIGTERM") => Effect.zipRight(tree.signal(signal, "tree"), Effect.asVoid(tree.exit)),
  toJSON: () => ({ _id: "@effect/platform/CommandExecutor/Process", pid: tree.pid })
})

const makeExecutor = (spawner: ProcessTree.Spawner["Type"]): CommandExecutor.CommandExecutor => {
  const start = (command: Command.Command, options?: ProcessTree.StartOptions) =>
    Effect.catchTag(spawner.start(command, options), "ContainmentUnavailable", (cause) =>
      new SystemError({
        module: "Command",
        method: "spawn",
        reason: "Unknown",
        pathOrDescriptor: Command.flatten(command)[0].command,
        description: cause.message,
        cause
      }))
  const drain = (output: ProcessTree.ProcessTree["stdout"]) => inBackground(Effect.ignore(Stream.runDrain(output)))
  // Whoever asks for the output or the exit code alone has no hold of the process: nobody can write to it, nor read the
  // rest.
  const unattended = (command: Command.Command) =>
    Effect.tap(
      start(command, Command.flatten(command)[0].stdin === "pipe" ? { stdin: "ignore" } : {}),
      (tree) => drain(tree.stderr)
    )
  return {
    ...CommandExecutor.makeExecutor((command) => Effect.map(unattended(command), toProcess)),
    start: (command) => Effect.map(start(command), toProcess),
    exitCode: (command) =>
      unattended(command).pipe(
        Effect.tap((tree) => drain(tree.stdout)),
        Effect.flatMap((tree) => toProcess(tree).exitCode),
        Effect.scoped
      )
  }
}

/**
 * A drop-in for `NodeCommandExecutor.layer`: every `Command` of the program becomes a tree. What it starts ends with
 * its scope, also what ignores SIGTERM or has left its group. Fails as the platform's does, with a `PlatformError`; the
 * `exitCode` of a command that was ended by a signal fails with a `SystemError` of reason `Unknown`.
 *
 * `exitCode`, `string`, `lines`, `stream` and `streamLines` give the command an empty standard input unless it has one
 * of its own, and discard what they do not return: there, a command never waits for a reader or a writer that cannot
 * come.
 *
 * **Example**
 *
 * ```ts
 * import { Command } from "@effect/platform"
 * import { Effect } from "effect"
 * import { NodeProcessTree } from "effect-agents"
 *
 * const tests = Command.exitCode(Command.make("npm", "test")).pipe(
 *   Effect.timeout("2 minutes"),
 *   Effect.provide(NodeProcessTree.layerCommandExecutor)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerCommandExecutor: Layer.Layer<CommandExecutor.CommandExecutor> = Layer.effect(
  CommandExecutor.CommandExecutor,
  Effect.map(ProcessTree.Spawner, makeExecutor)
).pipe(Layer.provide(layer))
