/**
 * The run loop: everything effectful about a run, once for all drivers. Plan, start, read, end, conclude.
 */
import { isPlatformError } from "@effect/platform/Error"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as AgentOutcome from "../../AgentOutcome.js"
import type * as AgentRun from "../../AgentRun.js"
import * as Session from "../../Session.js"
import { inBackground } from "../background.js"
import { monotonicMillis, onNativeTime } from "../nativeClock.js"
import { pipesSeen } from "../node/eventLoop.js"
import type { Stopped } from "./conclude.js"
import { conclude, concludeTurn, unresponsive } from "./conclude.js"
import * as Dialogue from "./dialogue.js"
import * as Events from "./events.js"
import { launch } from "./launch.js"
import * as Limits from "./limits.js"
import * as lines from "./lines.js"
import * as orphans from "./orphans.js"
import * as Reading from "./reading.js"

export interface Options extends AgentRun.Settings {
  readonly program?: string | undefined
  readonly follower?: Follower | undefined
  /** On whose time the agent is waited for; by default on native time, as real processes are. */
  readonly onTime?: typeof onNativeTime | undefined
}

/** Who wants to know of the conversation of a run: when the agent names it, and when the run has ended. */
export interface Follower {
  readonly named: (session: Session.SessionRef) => Effect.Effect<void>
  readonly concluded: <E>(
    outcome: Effect.Effect<AgentOutcome.AgentOutcome, AgentError.AgentError | E>
  ) => Effect.Effect<AgentOutcome.AgentOutcome, AgentError.AgentError | E>
}

const settle = (
  layer: Options,
  run: AgentRun.Settings,
  limits: AgentRun.Limits = { ...layer.limits, ...run.limits }
) => ({
  program: layer.program,
  teardown: run.teardown ?? layer.teardown,
  seal: run.seal ?? layer.seal,
  limits,
  usage: run.usage ?? layer.usage,
  maxLineBytes: Math.min(run.maxLineBytes ?? layer.maxLineBytes ?? 64 * 1024 * 1024, lines.longestLine),
  stderrTailBytes: run.stderrTailBytes ?? layer.stderrTailBytes ?? 16 * 1024,
  drainMs: Duration.toMillis(run.drain ?? layer.drain ?? "500 millis"),
  afterResultMs: Limits.afterResultMs(limits),
  replyWithinMs: Duration.toMillis(run.replyWithin ?? layer.replyWithin ?? "60 seconds"),
  interruptWithinMs: Duration.toMillis(run.interruptWithin ?? layer.interruptWithin ?? "5 seconds")
})

/** However much a descendant writes into the leader's output, it is not read for longer than so many drains. */
const drainsAtMost = 10

/** One turn, while it goes on. */
export interface Turn<E> {
  readonly events: Stream.Stream<AgentEvent.AgentEvent, AgentError.AgentError | E>
  readonly outcome: Effect.Effect<AgentOutcome.Turn, AgentError.AgentError | E>
  readonly send: (text: string) => Effect.Effect<void, AgentRun.SendError>
  readonly interrupt: Effect.Effect<void>
}

/** A process that takes one turn, or several. */
export interface Live<E> extends Pick<AgentRun.AgentRun<E>, "agent" | "tree" | "session" | "outcome" | "detach"> {
  readonly first: Turn<E>
  /** One more, once the last one is over. */
  readonly next: (prompt: string) => Effect.Effect<Turn<E>>
}

export const open = Effect.fnUntraced(function*<S, E, R>(
  driver: AgentDriver.AgentDriver<S>,
  layerOptions: Options,
  request: AgentDriver.Request,
  runOptions: AgentRun.Options<E, R>,
  keep: boolean
) {
  const agent = driver.name
  const options = settle(layerOptions, runOptions)
  const { approve } = runOptions
  const onTime = layerOptions.onTime ?? onNativeTime
  const scope = yield* Effect.scope
  const began = yield* Clock.currentTimeMillis
  // Around the tree, so that a handler that cannot be interrupted does not hold up its end.
  const handlers = yield* FiberMap.make<string>()
  const { context, plan, tree } = yield* launch(driver, {
    ...options,
    dialogue: keep || request.interactive || approve !== undefined
      ? { approvals: approve !== undefined, keep }
      : undefined
  }, request)
  const { cwd } = context
  const isDialogue = plan.dialogue === true

  const stderr = lines.makeTail(options.stderrTailBytes)
  const stderrRead = yield* inBackground(
    Effect.ignore(Stream.runForEach(tree.stderr, (chunk) => Effect.sync(() => stderr.push(chunk))))
  )

  const events = yield* Events.make<E>()
  const session = yield* Deferred.make<Session.SessionRef, AgentError.AgentError | E>()
  const result = yield* Deferred.make<AgentOutcome.AgentOutcome, AgentError.AgentError | E>()
  const finished = yield* Effect.makeLatch(false)
  const detached = yield* Effect.makeLatch(false)
  const reading = Reading.make(driver, driver.protocol.initial(request, context))
  const dialogue = yield* Dialogue.make({
    driver,
    tree,
    reading,
    isOpen: isDialogue,
    approve,
    replyWithinMs: options.replyWithinMs,
    onTime,
    handlers
  })
  const resumed = request.session._tag === "Resume" ? request.session.id : undefined
  const splitter = lines.makeSplitter(options.maxLineBytes)
  let turn = { events, outcome: yield* Deferred.make<AgentOutcome.Turn, AgentError.AgentError | E>(), began }
  let spent = Limits.begun(yield* onTime(monotonicMillis))
  let interrupted = false
  let closed = false

  const facts = (endedAt: number, since: number) => ({
    driver,
    request,
    cwd,
    state: reading.state,
    started: reading.started,
    records: reading.records,
    unparsed: reading.unparsed,
    rateLimit: reading.rateLimit,
    attempts: reading.attempts,
    filesChanged: Array.from(reading.changes.done),
    stderrTail: stderr.text(),
    interrupted,
    spent,
    limits: options.limits,
    durationMs: endedAt - since
  })

  const close = Effect.suspend(() => {
    closed = true
    return Effect.zipRight(dialogue.tell({ _tag: "Close" }), finished.open)
  })

  /** The agent has said that its turn is over. One that is kept waits for the next. */
  const turnOver: Effect.Effect<void> = Effect.suspend(() =>
    keep ? Effect.void : isDialogue && !closed ? close : finished.open
  )

  const hand = (stamped: ReadonlyArray<AgentEvent.AgentEvent>, terminal: AgentDriver.Terminal, at: number) =>
    Effect.suspend(() => {
      const { began, events, outcome } = turn
      return events.offer(stamped).pipe(
        Effect.zipRight(Deferred.complete(outcome, concludeTurn(facts(at, began), terminal))),
        Effect.zipRight(events.end)
      )
    })

  const heard = Effect.map(monotonicMillis, (now) => {
    reading.lastAt = Math.max(reading.lastAt, now)
  })

  const handedOn = Effect.map(monotonicMillis, (now) => {
    reading.lastAt = now
    reading.blocked = false
  })

  const tooLong: Effect.Effect<never, Stopped> = Effect.fail({ _tag: "LineTooLong", limitBytes: options.maxLineBytes })

  /** Lines of one piece of output: into events, to the reader. Fails when the run is to stop here. */
  const consume = (read: (onLine: (line: string) => void) => boolean): Effect.Effect<void, Stopped> =>
    Effect.clockWith((clock) => {
      const at = clock.unsafeCurrentTimeMillis()
      const unstamped: Array<AgentEvent.Unstamped> = reading.aside.splice(0)
      const acts: Array<Effect.Effect<void, Stopped>> = []
      let count = 0
      const fits = read((line) => {
        count++
        const step = Reading.readLine(driver, reading, line, unstamped)
        const act = step === undefined ? undefined : dialogue.perform(step)
        if (act !== undefined) acts.push(act)
      })
      if (count === 0 && unstamped.length === 0) return fits ? heard : tooLong
      const progress = driver.protocol.progress(reading.state)
      const { session: named, terminal } = progress
      Limits.spend(spent, options.limits, unstamped, Number(clock.unsafeCurrentTimeNanos()) / 1e6)
      const beyond = terminal === undefined ? Limits.beyond(spent, options.limits, progress) : undefined
      if (beyond !== undefined) return Effect.fail<Stopped>({ _tag: "Limit", beyond })
      if (resumed !== undefined && named !== undefined && named !== resumed && terminal?.failure === undefined) {
        return Effect.fail<Stopped>({ _tag: "Elsewhere", started: named })
      }
      const firstNamed = !reading.named && reading.started && named !== undefined
      if (firstNamed) reading.named = true
      reading.blocked = true
      const stamped = unstamped.map((event) => Reading.stamp(event, at, reading.seq++))
      if (firstNamed) acts.unshift(name(named))
      if (terminal !== undefined) acts.push(turnOver)
      acts.push(keep && terminal !== undefined ? hand(stamped, terminal, at) : turn.events.offer(stamped), handedOn)
      if (!fits) acts.push(tooLong)
      return Effect.forEach(acts, (act) => act, { discard: true })
    })

  const name = (id: string): Effect.Effect<void> => {
    const ref = Session.SessionRef.make({ agent, id, cwd })
    return Effect.zipRight(layerOptions.follower?.named(ref) ?? Effect.void, Deferred.succeed(session, ref))
  }

  const readOutput: Effect.Effect<void, Stopped> = tree.stdout.pipe(
    Stream.runForEachChunk((chunk) =>
      Effect.forEach(chunk, (bytes) => consume((onLine) => splitter.push(bytes, onLine)), { discard: true })
    ),
    // Not in the stream, where each chunk would pass through it.
    Effect.mapError((cause): Stopped => isPlatformError(cause) ? { _tag: "Io", cause } : cause)
  )

  /** What stands behind the last line end: a whole record all the same, or a line that was cut. */
  const readRest: Effect.Effect<void, Stopped> = Effect.suspend(() => {
    const rest = splitter.rest()
    if (rest.trim().length === 0) return Effect.void
    reading.cut = lines.parseLine(rest)._tag === "Noise"
    return consume((onLine) => {
      onLine(rest)
      return true
    })
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
    Effect.flatMap(() => Effect.sync(() => isOver())),
    Effect.tap((over) => over ? Effect.void : Effect.sleep(1000)),
    Effect.repeat({ until: (over) => over })
  )

  const silentAfterExit = Effect.zipLeft(tree.exit, heard).pipe(
    // A leader that was killed has left others at work that should have gone with it: they are not listened to for long.
    Effect.flatMap(({ signal }) =>
      silence(options.drainMs, signal === null ? options.drainMs * drainsAtMost : options.drainMs)
    )
  )

  const isOver = (): boolean => driver.protocol.progress(reading.state).terminal !== undefined

  const timeIsOver = Limits.watch(options.limits, () => ({
    spent,
    tools: driver.protocol.progress(reading.state).openToolCalls,
    waiting: reading.blocked || dialogue.isAsked(),
    over: isOver() && (keep ? "rests" : "ends")
  }))

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
      Effect.catchAll((stopped) => Effect.succeed(stopped)),
      Effect.raceFirst(Effect.map(detached.await, (): Stopped => ({ _tag: "Detached" }))),
      // An answer that is complete is not thrown away.
      Effect.raceFirst(
        Effect.map(
          dialogue.broken,
          (broken) => broken._tag === "Unresponsive" && isOver() ? { _tag: "Ended" as const } : broken
        )
      ),
      Effect.raceFirst(
        Effect.map(timeIsOver, (beyond): Stopped => isOver() ? { _tag: "Ended" } : { _tag: "Limit", beyond })
      )
    )
    const exitedAlone = !(yield* tree.isRunning)
    // What the agent says of its own end is none of what it was at.
    yield* Fiber.interrupt(reader)
    return { stopped, exitedAlone }
  }).pipe(onTime)

  const work = Effect.gen(function*() {
    const { exitedAlone, stopped } = yield* readToEnd
    yield* dialogue.end
    const teardown = yield* tree.teardown
    yield* Fiber.await(stderrRead).pipe(Effect.timeoutOption(options.drainMs), onTime)
    if (stopped._tag === "Handler") return yield* Effect.failCause(stopped.cause)
    const exit = yield* tree.isRunning.pipe(
      Effect.flatMap((running) => running ? Effect.succeed({ code: null, signal: null }) : tree.exit)
    )
    return yield* conclude({
      ...facts(yield* Clock.currentTimeMillis, began),
      noise: reading.noise,
      cut: reading.cut,
      exit,
      exitedAlone,
      stopped: stopped._tag === "Unresponsive" ? { ...stopped, withinMs: options.replyWithinMs } : stopped,
      teardown
    })
  })

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => turn.events.shutdown).pipe(
      Effect.zipRight(dialogue.end),
      Effect.zipRight(Deferred.interrupt(result)),
      Effect.zipRight(Deferred.interrupt(session)),
      Effect.zipRight(Effect.suspend(() => Deferred.interrupt(turn.outcome)))
    )
  )
  yield* (layerOptions.follower?.concluded(work) ?? work).pipe(
    Effect.onExit((exit) =>
      Deferred.done(result, exit).pipe(
        Effect.zipRight(
          Exit.match(exit, {
            onSuccess: (outcome) =>
              Deferred.succeed(session, outcome.session).pipe(
                Effect.zipRight(Deferred.succeed(turn.outcome, AgentOutcome.Turn.make(outcome))),
                Effect.zipRight(turn.events.end)
              ),
            onFailure: (cause) =>
              Deferred.failCause(session, cause).pipe(
                Effect.zipRight(Deferred.failCause(turn.outcome, cause)),
                // A driver that throws must not look like a stream that has come to its end.
                Effect.zipRight(
                  Cause.isInterruptedOnly(cause) ? turn.events.shutdown : turn.events.failCause(cause)
                )
              )
          })
        )
      )
    ),
    inBackground
  )
  yield* dialogue.tell({ _tag: "Begin" })

  /** What can be had of the turn that goes on now, for as long as somebody holds on to it. */
  const handle = Effect.map(keep ? tree.members : Effect.succeed([]), (before): Turn<E> => {
    const { events, outcome } = turn
    const told = Effect.raceFirst(Deferred.await(outcome), events.discard)
    const isDone = Effect.map(Deferred.isDone(outcome), (done) => done || isOver())
    return {
      events: events.stream,
      outcome: told,
      send: Effect.fnUntraced(function*(text: string) {
        if (!isDialogue) {
          return yield* new AgentError.AgentUnsupported({
            agent,
            what: "a message into a turn that was not begun for it",
            hint: "Set interactive in the request."
          })
        }
        const late = (detail: string) => new AgentError.AgentTurnEnded({ agent, detail })
        if (yield* isDone) return yield* late("the turn is over")
        const id = globalThis.crypto.randomUUID()
        const receipt = yield* events.hurried(dialogue.ask(id, { _tag: "Message", id, text }))
        if (receipt._tag === "Unsupported") {
          const { hint, what } = receipt
          return yield* new AgentError.AgentUnsupported(hint === undefined ? { agent, what } : { agent, what, hint })
        }
        if (receipt._tag === "Refused") return yield* late(receipt.why)
        if (receipt._tag === "Late") {
          const now = yield* Clock.currentTimeMillis
          return yield* unresponsive(facts(now, turn.began), "a message", options.replyWithinMs)
        }
      }),
      interrupt: Effect.gen(function*() {
        const ended = Effect.exit(told)
        // What was said last may still wait for a slow reader, and whoever ends the turn for that.
        if (yield* isDone) return keep ? yield* Effect.asVoid(events.hurried(ended)) : undefined
        interrupted = true
        const id = globalThis.crypto.randomUUID()
        yield* (isDialogue ? dialogue.ask(id, { _tag: "Interrupt", id }) : tree.signal("SIGINT")).pipe(
          Effect.zipRight(ended),
          // Also in a finalizer it is not to be waited for without end.
          Effect.interruptible,
          Effect.timeoutOption(options.interruptWithinMs),
          Effect.flatMap(Option.match({
            onNone: () => Effect.zipRight(tree.teardown, ended),
            // Tools of a turn that was interrupted may go on, and nobody waits for them.
            onSome: () => keep ? orphans.end(tree, before) : Effect.void
          })),
          events.hurried,
          onTime
        )
      })
    }
  })

  const live: Live<E> = {
    agent,
    tree,
    session: Effect.raceFirst(Deferred.await(session), events.relieve),
    outcome: Effect.raceFirst(Deferred.await(result), events.discard),
    detach: isDialogue
      ? new AgentError.AgentUnsupported({
        agent,
        what: "to detach a run that is talked to",
        hint: "Run the request without approve, and not interactive."
      })
      : Effect.uninterruptible(Effect.zipLeft(tree.detach, detached.open)),
    first: yield* handle,
    next: Effect.fnUntraced(function*(prompt: string) {
      turn = {
        events: yield* Events.make<E>().pipe(Scope.extend(scope)),
        outcome: yield* Deferred.make<AgentOutcome.Turn, AgentError.AgentError | E>(),
        began: yield* Clock.currentTimeMillis
      }
      spent = Limits.begun(yield* onTime(monotonicMillis))
      interrupted = false
      Reading.begin(reading)
      yield* dialogue.tell({ _tag: "Turn", prompt })
      return yield* handle
    })
  }
  return live
})
