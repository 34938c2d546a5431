/**
 * Which conversation a run belongs to, and how to speak of one that exists.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * An id as the agents print and take them: not empty, no white space, not read as a flag. Ids that do not fit are
 * refused, never shortened.
 *
 * **Example**
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Session } from "effect-agents"
 *
 * const isSessionId = Schema.is(Session.SessionId)
 *
 * isSessionId("0199a213-81c0-7800-8aa1-bbab2a035a53") // true
 * isSessionId("--resume") // false
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const SessionId = Schema.String.pipe(
  Schema.pattern(/^[^\s-][^\s]{0,511}$/u, {
    identifier: "SessionId",
    description: "a session id: 1 to 512 characters, no white space, not beginning with '-'"
  })
)

/**
 * A conversation that exists: everything needed to continue or branch it later.
 *
 * `agent` is the name of the agent that keeps it (`claude`, `codex`, `copilot`); no other can continue it. `cwd` is the
 * absolute working directory of the run.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const decode = Schema.decodeUnknown(Schema.parseJson(Session.SessionRef))
 *
 * const goOn = (stored: string) =>
 *   Effect.flatMap(decode(stored), (session) =>
 *     Agent.run(AgentRequest.make({ prompt: "Go on", cwd: session.cwd, session: Session.resume(session) })))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class SessionRef extends Schema.Class<SessionRef>("effect-agents/Session/SessionRef")({
  agent: Schema.String,
  id: Schema.String,
  cwd: Schema.String
}) {}

/** Milliseconds since the epoch that a `Date` can hold. */
const Time = Schema.Number.pipe(Schema.between(0, 8.64e15))

/**
 * What is remembered of a named conversation: which agent keeps it under which `id`, and where its last run worked
 * (`cwd`, absolute). `created` and `updated` are milliseconds since the epoch.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { Session } from "effect-agents"
 * import { SessionStore } from "effect-agents"
 *
 * const line = (record: Session.SessionRecord) => `${record.project}/${record.name}: ${record.agent} ${record.id}`
 *
 * const all = Effect.flatMap(SessionStore.SessionStore, (store) => Effect.map(store.list, (found) => found.map(line)))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class SessionRecord extends Schema.Class<SessionRecord>("effect-agents/Session/SessionRecord")({
  project: Schema.String,
  name: Schema.String,
  agent: Schema.String,
  id: SessionId,
  cwd: Schema.String,
  created: Time,
  updated: Time
}) {}

/**
 * A new conversation; `id` only for agents that take one from the caller (a UUID).
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, Session } from "effect-agents"
 *
 * const request = AgentRequest.make({ prompt: "Find the bug", session: Session.New.make({}) })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const New = Schema.TaggedStruct("New", { id: Schema.optional(SessionId) })

/**
 * Continue the conversation `id`. Fails with `AgentSessionNotFound` where there is none, also when the agent silently
 * began a new one, and with `AgentUnsupported` before any start where `agent` names another one.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, Session } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Now fix it",
 *   session: Session.Resume.make({ id: "0199a213-81c0-7800-8aa1-bbab2a035a53" })
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Resume = Schema.TaggedStruct("Resume", { id: SessionId, agent: Schema.optional(Schema.String) })

/**
 * Branch off the conversation `id`; the branch gets an id of its own, the original stays as it is. Claude Code and
 * Codex can, Copilot refuses with `AgentUnsupported`.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, Session } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Try it with a cache instead",
 *   session: Session.Fork.make({ id: "0199a213-81c0-7800-8aa1-bbab2a035a53" })
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Fork = Schema.TaggedStruct("Fork", { id: SessionId, agent: Schema.optional(Schema.String) })

/**
 * The conversation that has this name in this project: begun when there is none, else continued, or branched off with
 * `fork`, after which the name stands for the branch. Names are of any form and length, and told apart to the letter.
 *
 * One run at a time: while another one holds the name, in this process or in another, a run fails with
 * `AgentSessionBusy`. A name belongs to the agent that began its conversation; any other fails with
 * `AgentSessionConflict`. Where `cwd` is left out, the run works where the last one did. What is remembered, and where:
 * `SessionStore`.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, Session } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Review what has changed since we last spoke",
 *   session: Session.Named.make({ project: "my-app", name: "review" })
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Named = Schema.TaggedStruct("Named", {
  project: Schema.String,
  name: Schema.String,
  fork: Schema.optional(Schema.Boolean)
})

/**
 * What a request says about its conversation.
 *
 * **Example**
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Session } from "effect-agents"
 *
 * const decode = Schema.decodeUnknown(Session.Session)
 *
 * const session = decode({ _tag: "Resume", id: "0199a213-81c0-7800-8aa1-bbab2a035a53" })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Session = Schema.Union(New, Resume, Fork, Named)

/**
 * A value of the schema `Session`.
 *
 * @since 0.1.0
 * @category models
 */
export type Session = typeof Session.Type

/**
 * A new conversation, the default of every request. With an `id` (a UUID) where the agent takes one: Claude Code and
 * Copilot do, Codex refuses with `AgentUnsupported`. Throws a `ParseError` when `id` is not a `SessionId`.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, Session } from "effect-agents"
 *
 * // The id is known before the run, so that even one that is killed can be continued.
 * const request = AgentRequest.make({
 *   prompt: "Find the bug",
 *   session: Session.fresh("0199a213-81c0-4800-8aa1-bbab2a035a53")
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fresh = (id?: string | undefined): Session => New.make(id === undefined ? {} : { id })

/**
 * Continue a conversation, by its id or by the reference that an outcome carries: that one is refused by any other agent
 * before it is started.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const twoTurns = Effect.gen(function*() {
 *   const first = yield* Agent.run(AgentRequest.make({ prompt: "Find the bug" }))
 *   return yield* Agent.run(AgentRequest.make({
 *     prompt: "Now fix it",
 *     permission: "Edit",
 *     session: Session.resume(first.session)
 *   }))
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const resume = (session: string | Pick<SessionRef, "agent" | "id">): Session => Resume.make(referred(session))

/**
 * Branch off a conversation, by its id or by the reference that an outcome carries. Throws a `ParseError` when the id
 * is not a `SessionId`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const twoWays = Effect.gen(function*() {
 *   const { session } = yield* Agent.run(AgentRequest.make({ prompt: "Read the parser" }))
 *   const ask = (prompt: string) => Agent.run(AgentRequest.make({ prompt, session: Session.fork(session) }))
 *   return yield* Effect.all([ask("How can it be faster?"), ask("How can it be smaller?")], { concurrency: 2 })
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fork = (session: string | Pick<SessionRef, "agent" | "id">): Session => Fork.make(referred(session))

/**
 * The conversation of this name: see `Named`. With `fork: true` a branch of it, which takes over the name; where there is
 * none yet, one is begun all the same.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * // Every call goes on where the last one ended, in whatever process that was.
 * const review = (prompt: string) =>
 *   Agent.run(AgentRequest.make({ prompt, session: Session.named("my-app", "review") }))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const named = (
  project: string,
  name: string,
  options?: { readonly fork?: boolean | undefined }
): Session => Named.make({ project, name, ...(options?.fork === true ? { fork: true } : {}) })

const referred = (session: string | Pick<SessionRef, "agent" | "id">) =>
  typeof session === "string" ? { id: session } : { id: session.id, agent: session.agent }
