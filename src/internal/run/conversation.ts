/** Several turns of one conversation: in one process where the agent has a dialogue, else in one process a turn. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as AgentDriver from "../../AgentDriver.js"
import * as AgentRequest from "../../AgentRequest.js"
import type * as AgentRun from "../../AgentRun.js"
import type * as Conversation from "../../Conversation.js"
import * as Session from "../../Session.js"
import type * as SessionStore from "../../SessionStore.js"
import { continued } from "../session/continued.js"
import * as named from "./named.js"
import type * as run from "./run.js"

export type Fields = Omit<ConstructorParameters<typeof AgentRequest.AgentRequest>[0], "prompt">

// Looked up at each use: parsers are made at the first one, and not at the import.
const isReference = (session: unknown): session is Session.SessionRef => Schema.is(Session.SessionRef)(session)

const sessionOf = (partial: unknown): Option.Option<Session.SessionRef> =>
  Predicate.hasProperty(partial, "session") && isReference(partial.session)
    ? Option.some(partial.session)
    : Option.none()

export const make = Effect.fnUntraced(function*<S, E, R>(
  driver: AgentDriver.AgentDriver<S>,
  store: Context.Tag.Service<SessionStore.SessionStore>,
  layerOptions: run.Options,
  fields: Fields,
  runOptions: AgentRun.Options<E, R>
) {
  type Live = Effect.Effect.Success<ReturnType<typeof named.open<S, E, R>>>
  const scope = yield* Effect.scope
  const context = yield* Effect.context<Effect.Effect.Context<ReturnType<typeof named.open<S, E, R>>>>()
  const oneAtATime = yield* Effect.makeSemaphore(1)
  const keep = driver.protocol.tell !== undefined
  let session: Session.SessionRef | undefined
  let process: { readonly live: Live; readonly scope: Scope.CloseableScope } | undefined

  const request = (prompt: string) =>
    AgentRequest.make({
      ...fields,
      prompt,
      // Others may have its name between the turns.
      ...(session === undefined ? {} : { session: continued(fields.session, session) })
    })

  const open = (prompt: string, scope: Scope.Scope) =>
    named.open(driver, store, layerOptions, request(prompt), runOptions, keep).pipe(
      Effect.mapInputContext((input: typeof context) => input),
      Scope.extend(scope),
      Effect.provide(context)
    )

  /** In the process that is there, or in a new one; what is left of one that has ended goes first. */
  const warm = Effect.fnUntraced(function*(prompt: string) {
    if (process !== undefined) {
      if (yield* process.live.tree.isRunning) return yield* process.live.next(prompt)
      yield* Scope.close(process.scope, Exit.void)
      process = undefined
    }
    const own = yield* Scope.fork(scope, scope.strategy)
    const live = yield* open(prompt, own).pipe(Effect.onError(() => Scope.close(own, Exit.void)))
    process = { live, scope: own }
    return live.first
  })

  const once = (prompt: string) =>
    Effect.flatMap(Effect.scope, (scope) => Effect.map(open(prompt, scope), ({ first }) => first))

  /** Ends the turn if it goes on, and keeps where it stands. */
  const end = (turn: run.Turn<E>): Effect.Effect<void> =>
    turn.interrupt.pipe(
      Effect.zipRight(Effect.exit(turn.outcome)),
      Effect.map(Exit.match({
        onSuccess: (outcome) => outcome.session,
        onFailure: (cause) =>
          Cause.failureOption(cause).pipe(
            Option.filter((error) => Predicate.hasProperty(error, "partial")),
            Option.flatMap(({ partial }) => sessionOf(partial)),
            Option.getOrUndefined
          )
      })),
      Effect.map((named) => {
        if (named !== undefined && named.id !== "") session = named
      })
    )

  const myTurn = Effect.uninterruptibleMask((restore) =>
    Effect.zipRight(restore(oneAtATime.take(1)), Effect.addFinalizer(() => oneAtATime.release(1)))
  )

  const start: Conversation.Conversation<E>["start"] = (prompt) =>
    Effect.zipRight(myTurn, Effect.acquireRelease(keep ? warm(prompt) : once(prompt), end))

  const conversation: Conversation.Conversation<E> = {
    agent: driver.name,
    start,
    turn: (prompt) => Effect.scoped(Effect.flatMap(start(prompt), ({ outcome }) => outcome)),
    session: Effect.sync(() => session)
  }
  return conversation
})
