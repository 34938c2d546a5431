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
 * @since 0.1.0
 * @category models
 */
export class SessionRef extends Schema.Class<SessionRef>("effect-agents/Session/SessionRef")({
  agent: Schema.String,
  id: Schema.String,
  cwd: Schema.String
}) {}

/**
 * A new conversation; `id` only for agents that take one from the caller (a UUID).
 *
 * @since 0.1.0
 * @category models
 */
export const New = Schema.TaggedStruct("New", { id: Schema.optional(SessionId) })

/**
 * Continue the conversation `id`.
 *
 * @since 0.1.0
 * @category models
 */
export const Resume = Schema.TaggedStruct("Resume", { id: SessionId })

/**
 * Branch off the conversation `id`; the branch gets an id of its own, the original stays as it is.
 *
 * @since 0.1.0
 * @category models
 */
export const Fork = Schema.TaggedStruct("Fork", { id: SessionId })

/**
 * What a request says about its conversation.
 *
 * @since 0.1.0
 * @category models
 */
export const Session = Schema.Union(New, Resume, Fork)

/**
 * @since 0.1.0
 * @category models
 */
export type Session = typeof Session.Type

/**
 * A new conversation, the default of every request.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fresh = (id?: string | undefined): Session => New.make(id === undefined ? {} : { id })

/**
 * Continue a conversation, by its id or by the reference that an outcome carries.
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
export const resume = (session: string | { readonly id: string }): Session => Resume.make({ id: idOf(session) })

/**
 * Branch off a conversation, by its id or by the reference that an outcome carries.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fork = (session: string | { readonly id: string }): Session => Fork.make({ id: idOf(session) })

const idOf = (session: string | { readonly id: string }): string => typeof session === "string" ? session : session.id
