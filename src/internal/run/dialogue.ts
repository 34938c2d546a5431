/**
 * The caller's side of a dialogue: what goes to the agent's standard input, who answers its questions, and what still
 * waits for an answer of the agent.
 */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as Mailbox from "effect/Mailbox"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as AgentDriver from "../../AgentDriver.js"
import * as Approval from "../../Approval.js"
import type * as ProcessTree from "../../ProcessTree.js"
import { inBackground } from "../background.js"
import type { onNativeTime } from "../nativeClock.js"
import * as Reading from "./reading.js"

/** What ends a run from this side: a handler that failed, or an agent that does not answer. */
export type Broken<E> =
  | { readonly _tag: "Handler"; readonly cause: Cause.Cause<E> }
  | { readonly _tag: "Unresponsive"; readonly what: string }

/** How the agent answered what was said to it. */
export type Receipt =
  | { readonly _tag: "Taken" | "Late" }
  | { readonly _tag: "Refused"; readonly why: string }
  | { readonly _tag: "Unsupported"; readonly what: string; readonly hint: string | undefined }

export interface Dialogue<S, E> {
  /** What a step asks for beside its events. */
  readonly perform: (step: AgentDriver.Step<S>) => Effect.Effect<void> | undefined
  readonly tell: (input: AgentDriver.Input) => Effect.Effect<void>
  /** Tells, and waits for the receipt: `Late` when none came in time. */
  readonly ask: (id: string, input: AgentDriver.Input) => Effect.Effect<Receipt>
  /** From now on nothing is said, and whoever waits is told so. */
  readonly end: Effect.Effect<void>
  readonly broken: Effect.Effect<Broken<E>>
  /** A question of the agent has no answer yet. */
  readonly isAsked: () => boolean
}

const encoder = new TextEncoder()

const encode = (record: AgentDriver.JsonRecord): Uint8Array => encoder.encode(`${JSON.stringify(record)}\n`)

/** Nobody answers: an agent that asks all the same is not left waiting. */
const nobody: Approval.Handler = () => Effect.succeed(Approval.deny("Nobody is there to ask: do without it"))

interface Options<S, E, R> {
  readonly driver: AgentDriver.AgentDriver<S>
  readonly tree: ProcessTree.ProcessTree
  readonly reading: Reading.Reading<S>
  /** Whether there is a dialogue at all: else the input is not ours. */
  readonly isOpen: boolean
  readonly approve: Approval.Handler<E, R> | undefined
  readonly replyWithinMs: number
  readonly onTime: typeof onNativeTime
  /** Fibers that must not hold up the end of the tree live in the scope around it. */
  readonly handlers: FiberMap.FiberMap<string>
}

export const make = Effect.fnUntraced(function*<S, E, R>(
  { approve, driver, handlers, isOpen, onTime, reading, replyWithinMs, tree }: Options<S, E, R>
): Effect.fn.Return<Dialogue<S, E>, never, R | Scope.Scope> {
  const context = yield* Effect.context<R>()
  const outbox = yield* Mailbox.make<Uint8Array>()
  const broken = yield* Deferred.make<Broken<E>>()
  const receipts = new Map<string, Deferred.Deferred<Receipt>>()
  let ended = !isOpen
  let asked = 0

  const handler = (question: Approval.Question): Effect.Effect<Approval.Decision, E> =>
    approve === undefined ? nobody(question) : Effect.provide(approve(question), context)

  const answer = (question: Approval.Question): Effect.Effect<void> =>
    Effect.acquireUseRelease(
      Effect.sync(() => asked++),
      () => handler(question),
      () => Effect.sync(() => asked--)
    ).pipe(
      Effect.flatMap((decision) => tell({ _tag: "Answer", question: question.id, decision })),
      Effect.catchAllCause((cause) => Effect.asVoid(Deferred.succeed(broken, { _tag: "Handler", cause })))
    )

  const expire = (what: string): Effect.Effect<void> =>
    Effect.sleep(replyWithinMs).pipe(
      onTime,
      Effect.zipRight(Deferred.succeed(broken, { _tag: "Unresponsive", what })),
      Effect.asVoid
    )

  if (isOpen) {
    yield* inBackground(
      // A CLI that has stopped reading is told of by how it ends, unless it stays and waits for what it cannot hear.
      Effect.catchAll(
        Stream.run(Mailbox.toStream(outbox), tree.stdin),
        () => expire("what was written to its standard input")
      )
    )
  }

  const settle = (id: string, receipt: Receipt): Effect.Effect<unknown> =>
    Effect.suspend(() => {
      const waiting = receipts.get(id)
      receipts.delete(id)
      return Effect.zipRight(
        FiberMap.remove(handlers, `reply ${id}`),
        waiting === undefined ? Effect.void : Deferred.succeed(waiting, receipt)
      )
    })

  const perform: Dialogue<S, E>["perform"] = (step) => {
    const { asks, closes, expects, replies, settled, withdrawn } = step
    if (
      replies === undefined && asks === undefined && withdrawn === undefined && expects === undefined
      && settled === undefined && closes === undefined
    ) return undefined
    return Effect.gen(function*() {
      // Here, where whoever says what has no form in JSON is told so.
      for (const reply of replies ?? []) outbox.unsafeOffer(encode(reply))
      if (closes === true) yield* outbox.end
      for (const { id, what } of expects ?? []) {
        yield* FiberMap.run(handlers, `reply ${id}`, Effect.interruptible(expire(what)))
      }
      for (const { id, refused, unsupported } of settled ?? []) {
        yield* settle(
          id,
          unsupported !== undefined
            ? { _tag: "Unsupported", what: unsupported, hint: refused }
            : refused === undefined
            ? { _tag: "Taken" }
            : { _tag: "Refused", why: refused }
        )
      }
      for (const id of withdrawn ?? []) yield* FiberMap.remove(handlers, `question ${id}`)
      for (const question of asks ?? []) {
        yield* FiberMap.run(handlers, `question ${question.id}`, Effect.interruptible(answer(question)))
      }
    })
  }

  const tell: Dialogue<S, E>["tell"] = (input) =>
    Effect.suspend(() => {
      if (ended || driver.protocol.tell === undefined) return Effect.void
      const step = Reading.take(reading, driver.protocol.tell(reading.state, input), reading.aside)
      return perform(step) ?? Effect.void
    })

  return {
    perform,
    tell,
    ask: (id, input) =>
      Effect.gen(function*() {
        const receipt = yield* Deferred.make<Receipt>()
        receipts.set(id, receipt)
        yield* tell(input)
        return yield* Deferred.await(receipt).pipe(
          Effect.interruptible,
          Effect.timeoutTo({
            duration: replyWithinMs,
            onSuccess: (receipt): Receipt => receipt,
            onTimeout: (): Receipt => ({ _tag: "Late" })
          }),
          onTime
        )
      }).pipe(Effect.ensuring(Effect.sync(() => receipts.delete(id)))),
    end: Effect.suspend(() => {
      ended = true
      // Not waited for: a handler that cannot be interrupted would hold up the end.
      return Effect.forEach(Array.from(handlers), ([, fiber]) => Fiber.interruptFork(fiber), { discard: true }).pipe(
        Effect.zipRight(outbox.end),
        Effect.zipRight(
          Effect.forEach([...receipts.keys()], (id) => settle(id, { _tag: "Refused", why: "the turn is over" }), {
            discard: true
          })
        )
      )
    }),
    broken: Deferred.await(broken),
    isAsked: () => asked > 0
  }
})
