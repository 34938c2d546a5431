/**
 * One tree on a POSIX system or on Windows: start it, watch it, end it.
 */
import * as Command from "@effect/platform/Command"
import * as CommandExecutor from "@effect/platform/CommandExecutor"
import type { PlatformError } from "@effect/platform/Error"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import * as ChildProcess from "node:child_process"
import type { Readable, Writable } from "node:stream"
import * as ProcessTree from "../../ProcessTree.js"
import * as Teardown from "../../Teardown.js"
import { inBackground } from "../background.js"
import { onNativeTime } from "../nativeClock.js"
import * as hostExit from "./hostExit.js"
import * as limits from "./limits.js"
import * as output from "./output.js"
import type { Tell } from "./onReport.js"
import type { HandedOver, Platform, Reaper, Stale, Start } from "./platform.js"
import * as resolve from "./resolve.js"
import type { Sweep } from "./sweep.js"

export interface Settings {
  readonly platform: Platform
  readonly teardown: Teardown.Teardown
  readonly seal: ProcessTree.Seal
  readonly limits: ProcessTree.Limits | undefined
  readonly usage: boolean | undefined
  readonly onReport: Tell
}

/** That the tree went beyond a limit. */
interface Over {
  readonly now: () => boolean
  readonly await: Effect.Effect<void>
}

interface Spawned {
  readonly child: ChildProcess.ChildProcess
  readonly stdout: output.Output
  readonly stderr: output.Output
  readonly reaper: Reaper
  readonly exit: Deferred.Deferred<ProcessTree.Exit>
  readonly overLimit: Over
  readonly command: Command.StandardCommand
  readonly sweep: (policy: Teardown.Teardown, reason: Teardown.Reason) => Sweep
  readonly live: hostExit.LiveTree
}

const stdio = (channel: Command.Command.Input | Command.Command.Output): "pipe" | "inherit" =>
  typeof channel === "string" ? channel : "pipe"

const environmentOf = (command: Command.StandardCommand): Record<string, string> => {
  const own = Object.fromEntries(command.env)
  return command.extendEnv ? { ...inherited(), ...own } : own
}

/** The environment of the host, without the undefined members that its type allows. */
export const inherited = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => value === undefined ? [] : [[name, value]])
  )

/**
 * Watches a child from the very tick in which it was forked, so that no interruption, no end of the host and no early
 * exit can come between.
 */
const watch = (
  child: ChildProcess.ChildProcess,
  reaper: Reaper,
  exit: Deferred.Deferred<ProcessTree.Exit>,
  overLimit: Over,
  command: Command.StandardCommand
): Spawned => {
  // Errors after the start are those of pipes whose other end has gone: the end of the process tells more.
  child.on("error", () => {})
  child.stdin?.on("error", () => {})
  const outputOf = (readable: Readable | null, name: string) =>
    readable === null ? output.none : output.make(readable, resolve.fromErrno(name, command.command))
  const stdout = outputOf(child.stdout, "stdout")
  const stderr = outputOf(child.stderr, "stderr")
  child.once("exit", (code, signal) => {
    reaper.leaderEnded()
    Deferred.unsafeDone(exit, Exit.succeed({ code, signal }))
  })
  let sweeping = false
  let hurried = false
  const sweep: Spawned["sweep"] = (policy, reason) => {
    sweeping = true
    return reaper.end({
      policy,
      reason,
      urgent: () => hurried || overLimit.now() || hostExit.urgent(),
      outputHeld: stdout.held
    })
  }
  const live: hostExit.LiveTree = {
    killNow: () => sweep(Teardown.immediate, "host-exit"),
    hurry: () => {
      hurried = sweeping
    }
  }
  hostExit.add(live)
  return { child, stdout, stderr, reaper, exit, overLimit, command, sweep, live }
}

/** The system says that it would not start a program by throwing, or later by an event. */
const fork = <A>(
  start: Start,
  options: ChildProcess.SpawnOptions,
  started: (child: ChildProcess.ChildProcess, pid: number) => A,
  refused: (error: Error) => void
): A | undefined => {
  let child: ChildProcess.ChildProcess | undefined
  try {
    child = ChildProcess.spawn(start.file, start.args, options)
  } finally {
    if (child?.pid === undefined) start.discard()
  }
  if (child.pid !== undefined) return started(child, child.pid)
  child.once("error", refused)
  return undefined
}

const spawn = Effect.fnUntraced(function*(
  settings: Settings,
  command: Command.StandardCommand,
  options: ProcessTree.StartOptions
) {
  const { platform } = settings
  const allowed = yield* limits.settle(settings, options, platform.measures)
  const exit = yield* Deferred.make<ProcessTree.Exit>()
  const exceeded = yield* Deferred.make<void>()
  const refused = yield* Deferred.make<never, PlatformError>()
  const environment = environmentOf(command)
  const cwd = yield* Option.match(command.cwd, {
    onNone: resolve.currentDirectory,
    onSome: resolve.directory
  })
  const shell = command.shell === false ? undefined : command.shell === true ? platform.shell : command.shell
  const file = yield* platform.resolve(shell ?? command.command, cwd, environment["PATH"])
  const args = shell === undefined
    ? command.args
    : platform.shellArguments([command.command, ...command.args].join(" "))
  const failed = resolve.fromErrno("spawn", command.command)
  const as = {
    ...(Option.isSome(command.uid) ? { uid: command.uid.value } : {}),
    ...(Option.isSome(command.gid) ? { gid: command.gid.value } : {})
  }
  let over = false
  const wanted = allowed === undefined ? undefined : {
    limits: allowed,
    onLimit: () => {
      over = true
      Deferred.unsafeDone(exceeded, Exit.void)
    }
  }
  const overLimit = { now: () => over, await: Deferred.await(exceeded) }
  const spawned = yield* Effect.try({
    try: () =>
      Either.map(platform.start(file, args, environment, options.seal ?? settings.seal, as), (start) =>
        fork(
          start,
          {
            cwd,
            env: start.environment,
            detached: platform.detached,
            windowsHide: true,
            windowsVerbatimArguments: shell !== undefined,
            stdio: [options.stdin ?? stdio(command.stdin), stdio(command.stdout), stdio(command.stderr)],
            ...as
          },
          (child, pid) => watch(child, start.watch(pid, wanted), exit, overLimit, command),
          (error) => Deferred.unsafeDone(refused, Exit.fail(failed(error)))
        )),
    catch: failed
  })
  return (yield* spawned) ?? (yield* Deferred.await(refused))
})

const drive = (sweep: Sweep): Effect.Effect<Teardown.TeardownReport> =>
  Effect.suspend(() => {
    const loop: Effect.Effect<Teardown.TeardownReport> = Effect.suspend(() => {
      const next = sweep.next()
      return next.done === true ? Effect.succeed(next.value) : Effect.zipRight(Effect.sleep(next.value), loop)
    })
    return loop
  }).pipe(onNativeTime)

const makeTree = Effect.fnUntraced(function*(settings: Settings, spawned: Spawned, policy: Teardown.Teardown) {
  const { child, command, exit, live, overLimit, reaper, stderr, stdout, sweep } = spawned
  const done = yield* Deferred.make<Teardown.TeardownReport>()
  const members = Effect.sync(reaper.members)

  /** The process table knows of an end before Node tells how it came. Not to be interrupted: it is no race. */
  const exitIsKnown = Effect.sleep("2 millis").pipe(
    Effect.unlessEffect(Deferred.isDone(exit)),
    Effect.repeat({ until: Option.isNone, times: 500 }),
    onNativeTime
  )

  const end = (reason: Teardown.Reason) =>
    Effect.suspend(() => {
      stdout.discard()
      stderr.discard()
      return drive(sweep(reason === "limit" ? { ...policy, steps: [] } : policy, reason))
    }).pipe(
      Effect.tap(({ survivors }) => survivors.some(({ pid }) => pid === reaper.pid) ? Effect.void : exitIsKnown),
      Effect.tap((report) =>
        Effect.annotateCurrentSpan({
          "process.tree.reason": report.reason,
          "process.tree.verified": report.verified,
          "process.tree.killed": report.killed.length,
          "process.tree.survivors": report.survivors.length,
          "process.tree.looks": report.looks
        })
      ),
      Effect.withSpan("ProcessTree.teardown", {
        attributes: { "process.pid": reaper.pid, "process.executable.name": command.command },
        captureStackTrace: false
      }),
      Effect.ensuring(Effect.sync(() => {
        hostExit.remove(live)
        // One that could not be ended must not keep the host waiting.
        child.unref()
        child.stdin?.destroy()
        stdout.close()
        stderr.close()
      })),
      Effect.tap((report) => settings.onReport(report, members)),
      Effect.onExit((exit) => Deferred.done(done, exit))
    )

  let begun = false
  const teardown = (reason: Teardown.Reason): Effect.Effect<Teardown.TeardownReport> =>
    Effect.uninterruptible(Effect.suspend(() => {
      if (begun) return Deferred.await(done)
      begun = true
      return end(reason)
    }))

  const detach = Effect.suspend(() => {
    if (begun) {
      return Effect.fail(new ProcessTree.DetachRefused({ reason: "ended", detail: "its teardown has begun" }))
    }
    const outputs = [child.stdout, child.stderr].flatMap((output) =>
      output === null || output.destroyed ? [] : [output]
    )
    return Effect.tap(reaper.detach(outputs), ({ mark }) => {
      begun = true
      hostExit.remove(live)
      child.unref()
      child.stdin?.destroy()
      stdout.close()
      stderr.close()
      // What is left in the pipes is for the one who goes on reading.
      for (const output of outputs) output.destroy()
      const report = new Teardown.TeardownReport({
        pid: reaper.pid,
        command: command.command,
        reason: "detached",
        steps: [],
        killed: [],
        survivors: [],
        verified: "detached",
        detached: mark,
        layers: [],
        notes: [],
        looks: 0,
        outputHeld: false,
        durationMs: 0
      })
      return Effect.zipRight(settings.onReport(report, members), Deferred.succeed(done, report))
    })
  }).pipe(Effect.uninterruptible)

  const tree: ProcessTree.ProcessTree = {
    [ProcessTree.TypeId]: ProcessTree.TypeId,
    ...Inspectable.BaseProto,
    toJSON: () => ({ _id: "ProcessTree", pid: reaper.pid, command: command.command }),
    pid: CommandExecutor.ProcessId(reaper.pid),
    stdin: writeTo(child.stdin, command),
    stdout: typeof command.stdout === "string" ? stdout.stream : Stream.transduce(stdout.stream, command.stdout),
    stderr: stderr.stream,
    exit: Deferred.await(exit),
    isRunning: Effect.negate(Deferred.isDone(exit)),
    members,
    signal: (signal, to = "leader") => Effect.sync(() => reaper.signal(signal, to)),
    teardown: teardown("completed"),
    report: Deferred.await(done),
    detach
  }
  return { tree, teardown, keepLimits: Effect.zipRight(overLimit.await, teardown("limit")) }
})

const writeTo = (
  input: Writable | null,
  command: Command.StandardCommand
): Sink.Sink<void, Uint8Array, never, PlatformError> =>
  input === null
    ? Sink.drain
    // Each write is waited for: the sink of the platform returns before, and a fast source would fill the memory.
    : Sink.forEach((bytes: Uint8Array) =>
      Effect.async<void, PlatformError>((resume) => {
        input.write(
          bytes,
          (error) => resume(error ? Effect.fail(resolve.fromErrno("stdin", command.command)(error)) : Effect.void)
        )
      })
    ).pipe(Sink.ensuring(Effect.sync(() => input.end())))

const reasonOf = (exit: Exit.Exit<unknown, unknown>): Teardown.Reason =>
  Exit.match(exit, {
    onSuccess: () => "completed",
    // The failure of one of several fibers interrupts the others.
    onFailure: (cause) => Cause.isInterruptedOnly(cause) ? "interrupted" : "failed"
  })

const startOne = (
  settings: Settings,
  command: Command.StandardCommand,
  options: ProcessTree.StartOptions
): Effect.Effect<ProcessTree.ProcessTree, PlatformError | ProcessTree.ContainmentUnavailable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.flatMap(
      spawn(settings, command, options),
      (spawned) => makeTree(settings, spawned, options.teardown ?? settings.teardown)
    ),
    ({ teardown }, exit) => teardown(reasonOf(exit))
  ).pipe(
    Effect.tap(({ keepLimits }) => inBackground(keepLimits)),
    Effect.map(({ tree }) => tree),
    Effect.tap((tree) =>
      typeof command.stdin === "string" || options.stdin !== undefined
        ? Effect.void
        // Its own failure is not the tree's: a reader that leaves early is told by how the process ends.
        : inBackground(Effect.ignore(Stream.run(command.stdin, tree.stdin)))
    )
  )

/**
 * Starts the parts of a piped command from left to right, each reading what the one before writes. Nobody can read the
 * standard error of those before the last, so it is discarded.
 */
export const start = (
  settings: Settings,
  command: Command.Command,
  options: ProcessTree.StartOptions = {}
): Effect.Effect<ProcessTree.ProcessTree, PlatformError | ProcessTree.ContainmentUnavailable, Scope.Scope> => {
  const [first, ...rest] = Command.flatten(command)
  return rest.reduce(
    (left, part) =>
      Effect.flatMap(left, (tree) => {
        const fed = Command.stdin(part, tree.stdout)
        return fed._tag === "PipedCommand" ? left : Effect.zipRight(
          inBackground(Effect.ignore(Stream.runDrain(tree.stderr))),
          startOne(settings, fed, { ...options, stdin: undefined })
        )
      }),
    startOne(settings, first, options)
  )
}

/** Ends what one host left behind. Not to be interrupted: nobody else would take it up while this host lives. */
export const sweepStale = (stale: Stale): Effect.Effect<Teardown.TeardownReport | undefined> =>
  stale._tag === "Corrupt"
    ? Effect.as(Effect.logWarning(`set aside, not the word of a host: ${stale.file}`), undefined)
    : drive(stale.sweep).pipe(Effect.ensuring(Effect.sync(stale.done)), Effect.uninterruptible)

export const toDetached = ({ detached, members }: HandedOver): ProcessTree.Detached => ({
  mark: detached.id,
  owner: detached.owner,
  command: detached.command,
  since: detached.since,
  members: members()
})

export const endDetached = (tree: HandedOver, policy: Teardown.Teardown, onReport: Tell) =>
  drive(tree.end(policy)).pipe(
    Effect.tap((report) => onReport(report, Effect.sync(() => tree.members()))),
    Effect.uninterruptible
  )
