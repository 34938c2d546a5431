/**
 * The events of a run on their way to one reader: bounded, so that a slow reader keeps the agent waiting, and never the
 * reason for a run to stand still: without a reader, whoever waits for the outcome takes them away.
 */
import type * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as AgentError from "../../AgentError.js"
import type * as AgentEvent from "../../AgentEvent.js"
import { onNativeTime } from "../nativeClock.js"

export interface Events<E> {
  readonly offer: (events: ReadonlyArray<AgentEvent.AgentEvent>) => Effect.Effect<void>
  readonly end: Effect.Effect<void>
  readonly failCause: (cause: Cause.Cause<AgentError.AgentError | E>) => Effect.Effect<void>
  readonly shutdown: Effect.Effect<void>
  readonly stream: Stream.Stream<AgentEvent.AgentEvent, AgentError.AgentError | E>
  /** Lets the run go on, however slow the reader is, while somebody waits for what the agent answers. */
  readonly hurried: <A, E2, R>(effect: Effect.Effect<A, E2, R>) => Effect.Effect<A, E2, R>
  /** Takes events away while nobody reads them; never returns. */
  readonly discard: Effect.Effect<never>
  /** Takes away only what would hold up the run; never returns. */
  readonly relieve: Effect.Effect<never>
}

const flat = <A>(batches: Chunk.Chunk<ReadonlyArray<A>>): Chunk.Chunk<A> =>
  Chunk.unsafeFromArray(Chunk.toReadonlyArray(batches).flat())

/** In batches of what one piece of output held. */
const capacity = 16

/** And so many more in a hurry. */
const lateAtMost = 4096

export const make = Effect.fnUntraced(function*<E>(): Effect.fn.Return<Events<E>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const mailbox = yield* Mailbox.make<ReadonlyArray<AgentEvent.AgentEvent>, AgentError.AgentError | E>(capacity)
  const hurry = yield* Effect.makeLatch(false)
  let hurrying = 0
  let late = 0
  const idle = yield* Effect.makeLatch(true)
  const read = yield* Effect.makeLatch(false)
  let readers = 0

  const attach = Effect.suspend(() => {
    readers++
    return Effect.zipRight(idle.close, read.open)
  })
  const detach = Effect.suspend(() => {
    readers--
    return readers === 0 ? Effect.zipRight(read.close, idle.open) : Effect.void
  })

  const takeAway = Effect.forever(
    Effect.flatMap(
      Effect.exit(mailbox.takeAll),
      (exit) => exit._tag === "Failure" || exit.value[1] ? Effect.never : Effect.void
    )
  )

  /** All that is there, as one chunk. */
  const pull = mailbox.takeAll.pipe(
    Effect.mapError(Option.some),
    Effect.flatMap(([batches, done]) =>
      done && batches.length === 0
        ? Effect.fail(Option.none())
        : Effect.succeed(batches.length === 1 ? Chunk.unsafeFromArray(Chunk.unsafeHead(batches)) : flat(batches))
    )
  )

  const wait = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
    Effect.suspend(() => {
      late++
      return mailbox.offer(events)
    }).pipe(
      Effect.ensuring(Effect.sync(() => late--)),
      Effect.interruptible,
      Effect.forkIn(scope),
      Effect.flatMap((fiber) =>
        Effect.raceFirst(Fiber.await(fiber), Effect.suspend(() => late > lateAtMost ? Effect.never : hurry.await))
      )
    )

  return {
    offer: (events) =>
      Effect.suspend(() =>
        events.length === 0 || mailbox.unsafeOffer(events) ? Effect.void : Effect.asVoid(wait(events))
      ),
    hurried: (effect) =>
      Effect.acquireUseRelease(
        Effect.suspend(() => hurrying++ === 0 ? hurry.open : Effect.void),
        () => effect,
        () => Effect.suspend(() => --hurrying === 0 ? hurry.close : Effect.void)
      ),
    end: Effect.asVoid(mailbox.end),
    failCause: (cause) => Effect.asVoid(mailbox.failCause(cause)),
    shutdown: Effect.asVoid(mailbox.shutdown),
    stream: Stream.unwrapScoped(
      Effect.as(Effect.acquireRelease(attach, () => detach), Stream.repeatEffectChunkOption(pull))
    ),
    // Both are there to lose a race, in finalizers too.
    discard: Effect.interruptible(Effect.forever(
      // A reader that was forked just before the outcome was asked for gets its turn first.
      idle.await.pipe(
        Effect.zipRight(onNativeTime(Effect.sleep(0))),
        Effect.zipRight(Effect.raceFirst(takeAway, read.await))
      )
    )),
    relieve: Effect.interruptible(Effect.forever(
      idle.await.pipe(
        Effect.zipRight(onNativeTime(Effect.sleep(20))),
        Effect.zipRight(Effect.suspend(() => {
          const size = mailbox.unsafeSize()
          return size._tag === "Some" && size.value >= capacity && readers === 0
            ? Effect.ignore(mailbox.take)
            : Effect.void
        }))
      )
    ))
  }
})
