/** Runs in named sessions: whose turn it is, where the conversation stands, and what is remembered of it. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import type * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import type * as AgentOutcome from "../../AgentOutcome.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as AgentRun from "../../AgentRun.js"
import * as Session from "../../Session.js"
import type * as SessionStore from "../../SessionStore.js"
import { finished } from "./conclude.js"
import * as launch from "./launch.js"
import * as run from "./run.js"

type Store = Context.Tag.Service<SessionStore.SessionStore>

/** The request with what its name stands for in the place of the name. */
const lookUp = Effect.fnUntraced(function*(agent: string, store: Store, request: AgentRequest.AgentRequest) {
  const { session } = request
  if (session._tag !== "Named") return { ...request, session }
  const { fork, name, project } = session
  const found = yield* store.get({ project, name })
  if (Option.isNone(found)) return { ...request, session: Session.New.make({}) }
  const { agent: owner, cwd, id } = found.value
  if (owner !== agent) return yield* new AgentError.AgentSessionConflict({ agent, project, name, owner, id })
  return {
    ...request,
    cwd: request.cwd ?? cwd,
    session: fork === true ? Session.Fork.make({ id, agent }) : Session.Resume.make({ id, agent })
  }
})

/** What would be started for a request, as things stand. */
export const plan = <S>(
  driver: AgentDriver.AgentDriver<S>,
  store: Store,
  { limits }: run.Options,
  request: AgentRequest.AgentRequest
) => Effect.flatMap(lookUp(driver.name, store, request), (request) => launch.plan(driver, request, limits))

/** A run that went well, where its conversation could not be remembered: the answer is not lost with it. */
const unbound =
  ({ name, project }: SessionStore.Key, outcome: AgentOutcome.AgentOutcome) =>
  (cause: AgentError.AgentSessionStoreError | AgentError.AgentSessionConflict) => {
    const { agent } = outcome
    const detail = cause.message
    return new AgentError.AgentSessionUnbound({ agent, project, name, detail, partial: finished(outcome), cause })
  }

/** Follows one run, and keeps the name standing for its conversation. */
const follow = Effect.fnUntraced(function*(store: Store, key: SessionStore.Key, release: Effect.Effect<void>) {
  const bound = yield* Ref.make("")
  const bind = (session: Session.SessionRef) =>
    Effect.flatMap(
      Ref.get(bound),
      (id) => id === session.id ? Effect.void : Effect.zipRight(store.bind(key, session), Ref.set(bound, session.id))
    ).pipe(
      Effect.uninterruptible
    )

  const follower: run.Follower = {
    // What fails here is tried again at the end, and told then.
    named: (session) =>
      Effect.catchAll(bind(session), (error) => Effect.logWarning(`not remembered yet: ${error.message}`)),
    concluded: (outcome) =>
      outcome.pipe(
        Effect.tapError((error) =>
          AgentError.isAgentError(error) && "partial" in error && error.partial.session !== undefined
            && error.partial.resumable !== "no"
            ? Effect.ignoreLogged(bind(error.partial.session))
            : Effect.void
        ),
        Effect.mapError((error) =>
          AgentError.isAgentError(error) && error._tag === "AgentSessionNotFound"
            ? new AgentError.AgentSessionNotFound({ ...error, named: key })
            : error
        ),
        Effect.tap((outcome) => Effect.mapError(bind(outcome.session), unbound(key, outcome))),
        // Before the scope that a run is torn down with has closed, its processes may be at work.
        Effect.onExit((exit) => Exit.isInterrupted(exit) ? Effect.void : release)
      )
  }
  return follower
})

/**
 * Opens a process for one turn or several. One in a named session holds the name from before it is looked up until its
 * processes have ended.
 */
export const open = Effect.fnUntraced(function*<S, E, R>(
  driver: AgentDriver.AgentDriver<S>,
  store: Store,
  options: run.Options,
  request: AgentRequest.AgentRequest,
  runOptions: AgentRun.Options<E, R>,
  keep: boolean
) {
  if (request.session._tag !== "Named") {
    return yield* run.open(driver, options, yield* lookUp(driver.name, store, request), runOptions, keep)
  }
  const { name, project } = request.session
  const key = { project, name }
  const { release } = yield* store.lease(key, driver.name)
  return yield* lookUp(driver.name, store, request).pipe(
    Effect.zip(follow(store, key, release)),
    Effect.flatMap(([request, follower]) => run.open(driver, { ...options, follower }, request, runOptions, keep)),
    Effect.tapError(() => release)
  )
})

/** A run of one turn. */
export const start = <S, E, R>(
  driver: AgentDriver.AgentDriver<S>,
  store: Store,
  options: run.Options,
  request: AgentRequest.AgentRequest,
  runOptions: AgentRun.Options<E, R>
) =>
  Effect.map(open(driver, store, options, request, runOptions, false), (live: run.Live<E>): AgentRun.AgentRun<E> => {
    const { agent, first, outcome, session, tree } = live
    const { events, interrupt, send } = first
    const detach = request.session._tag === "Named"
      // Others would go on with the conversation while it is at work.
      ? new AgentError.AgentUnsupported({
        agent,
        what: "to detach a run in a named session",
        hint: "Run it in a session without a name, and bind that when it has ended."
      })
      : live.detach
    return { agent, events, outcome, session, tree, send, interrupt, detach }
  })
