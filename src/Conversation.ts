/**
 * Several turns with one agent. Where the agent has a dialogue, one process stays warm for all of them; elsewhere every
 * turn is a run that resumes the one before. Either way the caller sees the same, and when the scope has closed nothing
 * is left.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as AgentError from "./AgentError.js"
import type * as AgentEvent from "./AgentEvent.js"
import type * as AgentOutcome from "./AgentOutcome.js"
import type * as AgentRun from "./AgentRun.js"
import type * as Session from "./Session.js"

/**
 * One turn while it goes on. The members are those of `AgentRun`, for this turn alone.
 *
 * @since 0.1.0
 * @category models
 */
export interface Turn<out E = never> {
  readonly events: Stream.Stream<AgentEvent.AgentEvent, AgentError.AgentError | E>
  readonly outcome: Effect.Effect<AgentOutcome.Turn, AgentError.AgentError | E>
  readonly send: (text: string) => Effect.Effect<void, AgentRun.SendError>
  readonly interrupt: Effect.Effect<void>
}

/**
 * A conversation. Turns come one after the other: who asks for one while another goes on waits for its end.
 *
 * - `turn`: says something, and waits for the answer. Interrupting it interrupts the turn, and the conversation goes on
 *   with the next one. A turn that fails does not end the conversation either: the next one finds the process that lives,
 *   or starts one that resumes.
 * - `start`: the same for who wants the events of the turn, or to send messages into it. The turn lives as long as the
 *   scope, and is interrupted when that closes before its end.
 * - `session`: where to continue: none before the first turn has ended, nor unless the agent has named it.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "effect-agents"
 *
 * const interview = Effect.scoped(Effect.gen(function*() {
 *   const conversation = yield* Agent.conversation({ permission: "ReadOnly", cwd: "packages/core" })
 *   const { text } = yield* conversation.turn("What does this package do?")
 *   yield* Effect.log(text)
 *   return yield* conversation.turn("And what is its weakest part?").pipe(Effect.timeout("2 minutes"))
 * }))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface Conversation<out E = never> {
  readonly agent: string
  readonly turn: (prompt: string) => Effect.Effect<AgentOutcome.Turn, AgentError.AgentError | E>
  readonly start: (prompt: string) => Effect.Effect<Turn<E>, AgentError.AgentError | E, Scope.Scope>
  readonly session: Effect.Effect<Session.SessionRef | undefined>
}
