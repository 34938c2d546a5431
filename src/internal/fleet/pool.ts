import * as Array from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import type * as Agent from "../../Agent.js"
import * as AgentError from "../../AgentError.js"
import type * as AgentRun from "../../AgentRun.js"
import type * as Conversation from "../../Conversation.js"
import * as onReport from "../kernel/onReport.js"
import { monotonicMillis, onNativeTime } from "../nativeClock.js"

/** Lets through one at a time, each at least so long after the one before. */
export const makeGate = (gap: Duration.DurationInput = 0): Effect.Effect<Effect.Effect<void>> =>
  Effect.map(
    Effect.all([Effect.makeSemaphore(1), Ref.make(Number.NEGATIVE_INFINITY)]),
    ([turn, last]) =>
      Effect.gen(function*() {
        const wait = (yield* Ref.get(last)) + Duration.toMillis(gap) - (yield* monotonicMillis)
        // Timers may come a little early.
        if (wait > 0) yield* Effect.sleep(Math.ceil(wait))
        yield* Ref.set(last, yield* monotonicMillis)
      }).pipe(turn.withPermits(1))
  )

interface State {
  readonly live: number
  readonly waiting: ReadonlyArray<Deferred.Deferred<void>>
}

type Members = Parameters<onReport.Tell>[1]

interface Place {
  readonly watch: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly giveBack: Effect.Effect<void>
}

interface Options {
  readonly size: number
  readonly queue: number
  readonly stagger?: Duration.DurationInput | undefined
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const { queue, size } = options
  // With no place at all whoever waits would wait for ever.
  if (!(size >= 1 && queue >= 0)) {
    return yield* Effect.dieMessage(`a pool of the size ${size} with a queue of ${queue}: at least 1, and 0`)
  }
  const scope = yield* Effect.scope
  const gate = yield* makeGate(options.stagger)
  const state = yield* Ref.make<State>({ live: 0, waiting: [] })

  /** The place goes to the one who has waited longest, without ever being free for somebody who comes just now. */
  const release: Effect.Effect<void> = Ref.modify(state, ({ live, waiting }) =>
    Array.isNonEmptyReadonlyArray(waiting)
      ? [Deferred.succeed(waiting[0], undefined), { live, waiting: waiting.slice(1) }]
      : [Effect.void, { live: live - 1, waiting }]).pipe(Effect.flatten)

  /** Whoever was interrupted while waiting may have been given the place already. */
  const leave = (turn: Deferred.Deferred<void>): Effect.Effect<void> =>
    Ref.modify(state, ({ live, waiting }) =>
      waiting.includes(turn)
        ? [Effect.void, { live, waiting: waiting.filter((other) => other !== turn) }]
        : [release, { live, waiting }]).pipe(Effect.flatten)

  type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

  /** Takes a place; to be called where nothing can come between that and what gives it back. */
  const take = Effect.fnUntraced(function*(restore: Restore) {
    const turn = yield* Deferred.make<void>()
    yield* Ref.modify(state, ({ live, waiting }): readonly [Effect.Effect<void, AgentError.FleetFull>, State] => {
      if (live < size) return [Effect.void, { live: live + 1, waiting }]
      if (waiting.length < queue) {
        const wait = Effect.onInterrupt(restore(Deferred.await(turn)), () => leave(turn))
        return [wait, { live, waiting: [...waiting, turn] }]
      }
      return [new AgentError.FleetFull({ size, live, queue, waiting: waiting.length }), { live, waiting }]
    }).pipe(Effect.flatten)
    yield* Effect.onInterrupt(restore(gate), () => release)
  })

  /** What could not be ended goes on using the machine: its place is free when it is gone. */
  const releaseWhenGone = (left: ReadonlyArray<Members>) =>
    Effect.exists(left, Effect.map((members) => members.length > 0)).pipe(
      Effect.delay("1 second"),
      Effect.repeat({ while: (some) => some }),
      onNativeTime,
      Effect.zipRight(release),
      Effect.forkIn(scope),
      Effect.zipRight(Effect.logWarning("a place of the pool stays taken by processes that could not be ended"))
    )

  /** A place for all that is started under `watch`, until it is given back and nothing of that is left. */
  const makePlace = Effect.fnUntraced(function*(restore: Restore) {
    const left = yield* Ref.make<ReadonlyArray<Members>>([])
    yield* take(restore)
    return {
      watch: <A, E, R>(self: Effect.Effect<A, E, R>) =>
        onReport.also(
          self,
          ({ survivors }, members) => survivors.length === 0 ? Effect.void : Ref.update(left, Array.append(members))
        ),
      giveBack: yield* Effect.once(
        Effect.flatMap(Ref.get(left), (left) => left.length === 0 ? release : releaseWhenGone(left))
      )
    }
  })

  const wrap = (agent: Agent.Agent["Type"]): Agent.Agent["Type"] => ({
    ...agent,
    start: (request, runOptions) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const { giveBack, watch } = yield* makePlace(restore)
          // Before the run, so that it comes after the end of its tree.
          yield* Effect.addFinalizer(() => giveBack)
          return yield* watch(restore(agent.start(request, runOptions))).pipe(Effect.tapError(() => giveBack))
        })
      ),
    conversation: Effect.fnUntraced(function*<E, R>(
      fields: Agent.ConversationFields,
      runOptions?: AgentRun.Options<E, R>
    ) {
      const whole = yield* Effect.scope
      const once = yield* Effect.makeSemaphore(1)
      const place = yield* Ref.make<Option.Option<Place>>(Option.none())
      const inner = yield* agent.conversation(fields, runOptions)
      // Before the first process, so that it is given back after the end of the last.
      const occupy = Effect.uninterruptibleMask((restore) =>
        Ref.get(place).pipe(
          Effect.flatten,
          Effect.catchAll(() =>
            makePlace(restore).pipe(
              Effect.tap(({ giveBack }) => Scope.addFinalizer(whole, giveBack)),
              Effect.tap((taken) => Ref.set(place, Option.some(taken)))
            )
          )
        )
      ).pipe(once.withPermits(1))
      const conversation: Conversation.Conversation<E> = {
        ...inner,
        turn: (prompt) => Effect.flatMap(occupy, ({ watch }) => watch(inner.turn(prompt))),
        start: (prompt) => Effect.flatMap(occupy, ({ watch }) => watch(inner.start(prompt)))
      }
      return conversation
    })
  })

  return {
    wrap,
    withPermit: <A, E, R>(self: Effect.Effect<A, E, R>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(
          makePlace(restore),
          ({ giveBack, watch }) => Effect.ensuring(watch(restore(Effect.scoped(self))), giveBack)
        )
      ),
    status: Effect.map(Ref.get(state), ({ live, waiting }) => ({ size, live, queue, waiting: waiting.length }))
  }
})
