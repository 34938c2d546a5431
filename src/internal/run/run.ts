/**
 * The run loop: everything effectful about a run, once for all drivers. Plan, start, read, end, conclude.
 */
import * as Command from "@effect/platform/Command"
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as AgentOutcome from "../../AgentOutcome.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as AgentRun from "../../AgentRun.js"
import * as ProcessTree from "../../ProcessTree.js"
import * as Session from "../../Session.js"
import { monotonicMillis, onNativeTime } from "../nativeClock.js"
import { pipesSeen } from "../node/eventLoop.js"
import type { Stopped } from "./conclude.js"
import { conclude } from "./conclude.js"
import * as environment from "./environment.js"
import * as Events from "./events.js"
import * as lines from "./lines.js"
import { locate } from "./locate.js"

export interface Options extends AgentRun.Options {
  readonly program?: string | undefined
}

const settle = (layer: Options, run: AgentRun.Options) => ({
  program: layer.program,
  teardown: run.teardown ?? layer.teardown,
  maxLineBytes: Math.min(run.maxLineBytes ?? layer.maxLineBytes ?? 64 * 1024 * 1024, lines.longestLine),
  stderrTailBytes: run.stderrTailBytes ?? layer.stderrTailBytes ?? 16 * 1024,
  drainMs: Duration.toMillis(run.drain ?? layer.drain ?? "500 millis"),
  afterResultMs: Duration.toMillis(run.afterResult ?? layer.afterResult ?? "10 seconds")
})

/** However much a descendant writes into the leader's output, it is not read for longer than so many drains. */
const drainsAtMost = 10

const noiseKept = 20
const noticeLength = 8192

// The ids of conversations must be unique among all hosts: the seed of Effect's own Random has 32 bits.
const makeUuid = Effect.sync(() => globalThis.crypto.randomUUID())

/** What relative paths are relative to. Of a host whose directory was removed, only absolute ones mean anything. */
const baseOf = (host: ProcessTree.Host): string => host.cwd === "" ? "/" : host.cwd

const planning = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  request: AgentRequest.AgentRequest,
  host: ProcessTree.Host
) {
  const path = yield* Path.Path
  const { session } = request
  if (session._tag !== "New" && session.agent !== undefined && session.agent !== driver.name) {
    return yield* new AgentError.AgentUnsupported({ agent: driver.name, what: `a session of ${session.agent}` })
  }
  const context: AgentDriver.PlanContext = {
    uuid: yield* makeUuid,
    cwd: path.resolve(baseOf(host), request.cwd ?? "."),
    platform: host.platform
  }
  return { context, plan: yield* driver.plan(request, context) }
})

/** What would be started for a request, without starting anything. */
export const plan = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  request: AgentRequest.AgentRequest
) {
  const host = yield* Effect.flatMap(ProcessTree.Spawner, (spawner) => spawner.host)
  return (yield* planning(driver, request, host)).plan
})

/** A directory of the run's own: its files, and the temporary files of all that it starts. */
const makeDirectory = Effect.fnUntraced(function*(
  files: AgentDriver.Plan["files"],
  failed: (cause: PlatformError) => AgentError.AgentError
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // A short name: agents put their sockets there, and the path of a socket has 108 bytes at most.
  const directory = yield* Effect.acquireRelease(
    Effect.mapError(fs.makeTempDirectory({ prefix: "ea-" }), failed),
    (directory) => Effect.ignoreLogged(fs.remove(directory, { recursive: true, force: true }))
  )
  yield* Effect.forEach(
    files,
    (file) => fs.writeFileString(path.join(directory, file.name), file.content, { mode: 0o600 }),
    { discard: true }
  ).pipe(Effect.mapError(failed))
  return directory
})

const argument = (path: Path.Path, directory: string) => (arg: AgentDriver.Arg): string =>
  typeof arg === "string"
    ? arg
    : arg._tag === "Secret"
    ? arg.value
    : `${arg.prefix ?? ""}${path.join(directory, arg.name)}`

const checkDirectory = Effect.fnUntraced(function*(agent: string, program: string, cwd: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(cwd).pipe(
    Effect.mapError((cause) =>
      new AgentError.AgentSpawnError({
        agent,
        program,
        cwd,
        reason: "cwd",
        detail: `the working directory "${cwd}" cannot be used (${
          cause._tag === "SystemError" ? cause.reason : cause._tag
        })`,
        cause
      })
    )
  )
  if (info.type !== "Directory") {
    return yield* new AgentError.AgentSpawnError({
      agent,
      program,
      cwd,
      reason: "cwd",
      detail: `the working directory "${cwd}" is not a directory`
    })
  }
})

/** The kernel's limits: one string of the command line or of the environment, and all of them together. */
const stringLimit = 131072
const totalLimit = 2 * 1024 * 1024

/** What goes to the kernel, each string with the words for it: the strings themselves may be secret. */
const stringsOf = (args: ReadonlyArray<string>, variables: Readonly<Record<string, string>>) => [
  ...args.map((text, index) => ({ what: `argument ${index + 1} of the command line`, text })),
  ...Object.entries(variables).map(([name, value]) => ({
    what: `the variable ${name} of the environment`,
    text: `${name}=${value}`
  }))
]

const tooLarge = (
  agent: string,
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>>
): AgentError.AgentInputTooLarge => {
  const strings = stringsOf(args, variables).map(({ text, what }) => ({ what, size: Buffer.byteLength(text) + 1 }))
  const largest = strings.reduce((a, b) => b.size > a.size ? b : a, { what: "the command line", size: 0 })
  return largest.size > stringLimit
    ? new AgentError.AgentInputTooLarge({ agent, ...largest, limit: stringLimit })
    : new AgentError.AgentInputTooLarge({
      agent,
      what: "the command line and the environment together",
      size: strings.reduce((total, { size }) => total + size, 0),
      limit: totalLimit
    })
}

const spawnFailed = (
  agent: string,
  program: string,
  cwd: string,
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>>
) =>
(cause: PlatformError): AgentError.AgentError => {
  if (cause.description?.includes("E2BIG") === true) return tooLarge(agent, args, variables)
  const reason = cause._tag !== "SystemError"
    ? "other"
    : cause.method === "cwd"
    ? "cwd"
    : cause.reason === "PermissionDenied"
    ? "not-executable"
    : cause.reason === "Busy"
    ? "resources"
    : "other"
  return new AgentError.AgentSpawnError({ agent, program, cwd, reason, detail: cause.message, cause })
}

/** What the reading of the output has come to. One fiber writes it, so plain variables do. */
interface Reading<S> {
  state: S
  seq: number
  records: number
  unparsed: number
  started: boolean
  named: boolean
  cut: boolean
  /** When output was last read, or handed on; on a clock that nobody sets. */
  lastAt: number
  /** The reader of the events is being waited for. */
  blocked: boolean
  rateLimit: AgentOutcome.RateLimit | undefined
  readonly noise: Array<string>
}

/** A piece of a string that does not keep the whole of it in memory. */
const copyOf = (piece: string): string => Buffer.from(piece).toString()

/** Reads one line into the state, and adds the events that it makes. */
const readLine = <S>(
  driver: AgentDriver.AgentDriver<S>,
  reading: Reading<S>,
  line: string,
  events: Array<AgentEvent.Unstamped>
): void => {
  const parsed = lines.parseLine(line)
  if (parsed._tag === "Blank") return
  if (parsed._tag === "Noise") {
    reading.unparsed++
    const text = parsed.text.length > noticeLength ? `${copyOf(parsed.text.slice(0, noticeLength))} …` : parsed.text
    if (reading.noise.length < noiseKept) reading.noise.push(text)
    events.push({ _tag: "Notice", level: parsed.text.startsWith("{") ? "error" : "warning", text })
    return
  }
  reading.records++
  const step = driver.protocol.step(reading.state, parsed.record)
  reading.state = step.state
  for (const event of step.events) {
    if (event._tag === "Started") reading.started = true
    if (event._tag === "RateLimit") {
      const { _tag, ...rateLimit } = event
      reading.rateLimit = rateLimit
    }
    events.push(event)
  }
}

export const start = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  layerOptions: Options,
  request: AgentRequest.AgentRequest,
  runOptions: AgentRun.Options
) {
  const agent = driver.name
  const options = settle(layerOptions, runOptions)
  const spawner = yield* ProcessTree.Spawner
  const path = yield* Path.Path
  const host = yield* spawner.host
  const began = yield* Clock.currentTimeMillis

  const variable = (variables: Readonly<Record<string, string>>, name: string) =>
    environment.lookup(variables, name, host.platform)

  const { context, plan } = yield* planning(driver, request, host)
  const { cwd } = context
  const named = options.program ?? driver.executable.names.join(" or ")
  if (host.cwd === "" && !path.isAbsolute(request.cwd ?? ".")) {
    return yield* new AgentError.AgentSpawnError({
      agent,
      program: named,
      cwd: request.cwd ?? ".",
      reason: "cwd",
      detail: "the working directory of the host was removed"
    })
  }
  yield* checkDirectory(agent, named, cwd)
  const program = yield* locate({
    agent,
    executable: driver.executable,
    program: options.program,
    host: { ...host, cwd: baseOf(host) },
    searchPath: variable(request.env, "PATH") ?? variable(host.environment, "PATH") ?? "",
    cwd
  })
  const directory = yield* makeDirectory(plan.files, (cause) =>
    new AgentError.AgentSpawnError({
      agent,
      program,
      cwd,
      reason: "files",
      detail: "the files of the run could not be written",
      cause
    }))
  const args = plan.args.map(argument(path, directory))
  const inherited = environment.select({
    policy: request.envPolicy,
    host: host.environment,
    platform: host.platform,
    needed: driver.environment,
    nesting: driver.nesting
  })
  const temporary = host.platform === "win32" ? { TEMP: directory, TMP: directory } : { TMPDIR: directory }
  const variables = { ...inherited, ...temporary, ...plan.env, ...request.env }
  // Node would refuse it too, with a message that holds the whole string.
  const unfit = stringsOf(args, variables).find(({ text }) => text.includes("\0"))
  if (unfit !== undefined) {
    return yield* new AgentError.AgentSpawnError({
      agent,
      program,
      cwd,
      reason: "other",
      detail: `${unfit.what} holds a NUL character`
    })
  }
  const command = Command.make(program, ...args).pipe(
    Command.workingDirectory(cwd),
    Command.env(variables, { extendEnv: false }),
    plan.stdin === undefined ? (self) => self : Command.feed(plan.stdin)
  )
  const tree = yield* spawner.start(command, {
    teardown: options.teardown ?? driver.teardown,
    stdin: plan.stdin === undefined ? "ignore" : undefined
  }).pipe(Effect.mapError(spawnFailed(agent, program, cwd, args, variables)))

  const stderr = lines.makeTail(options.stderrTailBytes)
  const stderrRead = yield* Effect.forkScoped(
    Effect.ignore(Stream.runForEach(tree.stderr, (chunk) => Effect.sync(() => stderr.push(chunk))))
  )

  const events = yield* Events.make
  const session = yield* Deferred.make<Session.SessionRef, AgentError.AgentError>()
  const result = yield* Deferred.make<AgentOutcome.AgentOutcome, AgentError.AgentError>()
  const finished = yield* Effect.makeLatch(false)
  const reading: Reading<S> = {
    state: driver.protocol.initial(request, context),
    seq: 0,
    records: 0,
    unparsed: 0,
    started: false,
    named: false,
    cut: false,
    lastAt: 0,
    blocked: false,
    rateLimit: undefined,
    noise: []
  }
  const resumed = request.session._tag === "Resume" ? request.session.id : undefined
  const splitter = lines.makeSplitter(options.maxLineBytes)

  /** Lines of one piece of output: into events, to the reader. Fails when the run is to stop here. */
  const consume = (texts: ReadonlyArray<string>): Effect.Effect<void, Stopped> =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const unstamped: Array<AgentEvent.Unstamped> = []
      for (const text of texts) readLine(driver, reading, text, unstamped)
      const progress = driver.protocol.progress(reading.state)
      if (
        resumed !== undefined && progress.session !== undefined && progress.session !== resumed
        && progress.terminal?.failure === undefined
      ) return Effect.fail<Stopped>({ _tag: "Elsewhere", started: progress.session })
      const { named } = reading
      reading.named = named || (reading.started && progress.session !== undefined)
      reading.blocked = true
      const stamped = unstamped.map((event): AgentEvent.AgentEvent => ({ ...event, at, seq: reading.seq++ }))
      return Effect.suspend(() =>
        named || progress.session === undefined || !reading.named
          ? Effect.void
          : Deferred.succeed(session, Session.SessionRef.make({ agent, id: progress.session, cwd }))
      ).pipe(
        Effect.zipRight(progress.terminal === undefined ? Effect.void : finished.open),
        Effect.zipRight(events.offer(stamped)),
        Effect.zipRight(Effect.map(monotonicMillis, (now) => {
          reading.lastAt = now
          reading.blocked = false
        }))
      )
    })

  const heard = Effect.map(monotonicMillis, (now) => {
    reading.lastAt = Math.max(reading.lastAt, now)
  })

  const readOutput: Effect.Effect<void, Stopped> = tree.stdout.pipe(
    Stream.mapError((cause): Stopped => ({ _tag: "Io", cause })),
    Stream.runForEachChunk((chunk) =>
      Effect.forEach(chunk, (bytes) => {
        const texts = splitter.push(bytes)
        return texts === "too-long"
          ? Effect.fail<Stopped>({ _tag: "LineTooLong", limitBytes: options.maxLineBytes })
          : texts.length === 0
          ? heard
          : consume(texts)
      }, { discard: true })
    )
  )

  /** What stands behind the last line end: a whole record all the same, or a line that was cut. */
  const readRest: Effect.Effect<void, Stopped> = Effect.suspend(() => {
    const rest = splitter.rest()
    if (rest.trim().length === 0) return Effect.void
    reading.cut = lines.parseLine(rest)._tag === "Noise"
    return consume([rest])
  })

  /** Waits until nothing was read for so long, not counting the time in which the reader was waited for. */
  const silence = Effect.fnUntraced(function*(limitMs: number, atMostMs: number) {
    let listened = 0
    for (;;) {
      const silent = reading.blocked ? 0 : (yield* monotonicMillis) - reading.lastAt
      if (silent >= limitMs || listened >= atMostMs) return
      const pause = Math.max(5, limitMs - silent)
      yield* Effect.sleep(pause)
      yield* pipesSeen
      if (!reading.blocked) listened += pause
    }
  })

  const silentAfterResult = finished.await.pipe(
    Effect.zipRight(silence(options.afterResultMs, Number.POSITIVE_INFINITY)),
    // An agent that has begun another turn is not over, however silent it is.
    Effect.flatMap(() => Effect.sync(() => driver.protocol.progress(reading.state).terminal !== undefined)),
    Effect.tap((over) => over ? Effect.void : Effect.sleep(1000)),
    Effect.repeat({ until: (over) => over })
  )

  const silentAfterExit = tree.exit.pipe(
    Effect.zipRight(heard),
    Effect.zipRight(silence(options.drainMs, options.drainMs * drainsAtMost))
  )

  /** Reads until there is nothing more to come, by the first of the signs that there is not. */
  const readToEnd = Effect.gen(function*() {
    const reader = yield* Effect.fork(readOutput)
    const stopped = yield* Fiber.join(reader).pipe(
      Effect.zipRight(Effect.timeoutOption(tree.exit, options.afterResultMs)),
      Effect.raceFirst(silentAfterExit),
      Effect.raceFirst(silentAfterResult),
      Effect.zipRight(Fiber.interrupt(reader)),
      Effect.zipRight(readRest),
      Effect.as<Stopped>({ _tag: "Ended" }),
      Effect.catchAll((stopped) => Effect.succeed(stopped))
    )
    const exitedAlone = !(yield* tree.isRunning)
    return { stopped, exitedAlone }
  }).pipe(onNativeTime)

  const work = Effect.gen(function*() {
    const { exitedAlone, stopped } = yield* readToEnd
    const teardown = yield* tree.teardown
    yield* Fiber.await(stderrRead).pipe(Effect.timeoutOption(options.drainMs), onNativeTime)
    const exit = yield* tree.isRunning.pipe(
      Effect.flatMap((running) => running ? Effect.succeed({ code: null, signal: null }) : tree.exit)
    )
    return yield* conclude({
      driver,
      request,
      cwd,
      state: reading.state,
      started: reading.started,
      records: reading.records,
      unparsed: reading.unparsed,
      noise: reading.noise,
      rateLimit: reading.rateLimit,
      cut: reading.cut,
      exit,
      exitedAlone,
      stderrTail: stderr.text(),
      stopped,
      teardown,
      durationMs: (yield* Clock.currentTimeMillis) - began
    })
  })

  yield* Effect.addFinalizer(() =>
    events.shutdown.pipe(Effect.zipRight(Deferred.interrupt(result)), Effect.zipRight(Deferred.interrupt(session)))
  )
  yield* work.pipe(
    Effect.onExit((exit) =>
      Deferred.done(result, exit).pipe(
        Effect.zipRight(
          Exit.match(exit, {
            onSuccess: (outcome) => Effect.zipRight(Deferred.succeed(session, outcome.session), events.end),
            onFailure: (cause) =>
              Effect.zipRight(
                Deferred.failCause(session, cause),
                // A driver that throws must not look like a stream that has come to its end.
                Cause.isInterruptedOnly(cause) ? events.shutdown : events.failCause(cause)
              )
          })
        )
      )
    ),
    Effect.forkScoped
  )

  const run: AgentRun.AgentRun = {
    agent,
    events: events.stream,
    outcome: Effect.raceFirst(Deferred.await(result), events.discard),
    session: Effect.raceFirst(Deferred.await(session), events.relieve),
    tree
  }
  return run
})
