/**
 * The run loop: everything effectful about a run, once for all drivers. Plan, start, read, end, conclude.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentError from "../../AgentError.js"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as AgentOutcome from "../../AgentOutcome.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as AgentRun from "../../AgentRun.js"
import * as Session from "../../Session.js"
import { monotonicMillis, onNativeTime } from "../nativeClock.js"
import { pipesSeen } from "../node/eventLoop.js"
import type { Stopped } from "./conclude.js"
import { conclude } from "./conclude.js"
import * as Events from "./events.js"
import { launch } from "./launch.js"
import * as lines from "./lines.js"

export interface Options extends AgentRun.Options {
  readonly program?: string | undefined
}

const settle = (layer: Options, run: AgentRun.Options) => ({
  program: layer.program,
  teardown: run.teardown ?? layer.teardown,
  seal: run.seal ?? layer.seal,
  limits: { ...layer.limits, ...run.limits },
  usage: run.usage ?? layer.usage,
  maxLineBytes: Math.min(run.maxLineBytes ?? layer.maxLineBytes ?? 64 * 1024 * 1024, lines.longestLine),
  stderrTailBytes: run.stderrTailBytes ?? layer.stderrTailBytes ?? 16 * 1024,
  drainMs: Duration.toMillis(run.drain ?? layer.drain ?? "500 millis"),
  afterResultMs: Duration.toMillis(run.afterResult ?? layer.afterResult ?? "10 seconds")
})

/** However much a descendant writes into the leader's output, it is not read for longer than so many drains. */
const drainsAtMost = 10

const noiseKept = 20
const noticeLength = 8192

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
  const began = yield* Clock.currentTimeMillis
  const { context, tree } = yield* launch(driver, options, request)
  const { cwd } = context

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

  const silentAfterExit = Effect.zipLeft(tree.exit, heard).pipe(
    // A leader that was killed has left others at work that should have gone with it: they are not listened to for long.
    Effect.flatMap(({ signal }) =>
      silence(options.drainMs, signal === null ? options.drainMs * drainsAtMost : options.drainMs)
    )
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
