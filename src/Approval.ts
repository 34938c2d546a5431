/**
 * The questions that an agent asks before it does what its permission does not allow, and the answers. A handler is an
 * Effect: it may ask a person, look something up, or decide by rules; its failures and requirements become the run's.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/**
 * What an agent asks.
 *
 * - `id`: of the question, in this run.
 * - `tool`, `input`: what it wants to do, as the agent spells it.
 * - `call`: the id of the tool call, as in the event `ToolCall`.
 * - `reason`: why it has to ask, where the agent says so.
 * - `parent`: the tool call whose sub-agent asks.
 *
 * **Example**
 *
 * ```ts
 * import { Approval } from "effect-agents"
 *
 * const line = ({ input, reason, tool }: Approval.Question) => `${tool} ${JSON.stringify(input)}? ${reason ?? ""}`
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class Question extends Schema.Class<Question>("effect-agents/Approval/Question")({
  id: Schema.String,
  agent: Schema.String,
  tool: Schema.String,
  input: Schema.Unknown,
  call: Schema.optional(Schema.String),
  reason: Schema.optional(Schema.String),
  parent: Schema.optional(Schema.String)
}) {}

/**
 * It may. `input` is what it shall do instead of what it asked for (`AgentUnsupported` ends the run where the agent
 * cannot take that), `remember` that it need not ask again for the like in this conversation.
 *
 * **Example**
 *
 * ```ts
 * import { Approval } from "effect-agents"
 *
 * const dry = Approval.Allow.make({ input: { command: "npm publish --dry-run" } })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Allow = Schema.TaggedStruct("Allow", {
  input: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  remember: Schema.optional(Schema.Boolean)
})

/**
 * It may not. `reason` is told to the model.
 *
 * **Example**
 *
 * ```ts
 * import { Approval } from "effect-agents"
 *
 * const no = Approval.Deny.make({ reason: "Not on a Friday" })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Deny = Schema.TaggedStruct("Deny", { reason: Schema.optional(Schema.String) })

/**
 * An answer.
 *
 * **Example**
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Approval } from "effect-agents"
 *
 * // From a browser, say: {"_tag":"Deny","reason":"Use the staging database"}
 * const decode = Schema.decodeUnknown(Schema.parseJson(Approval.Decision))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Decision = Schema.Union(Allow, Deny)

/**
 * A value of the schema `Decision`.
 *
 * @since 0.1.0
 * @category models
 */
export type Decision = typeof Decision.Type

/**
 * Who answers. Several questions may be asked at once, each in a fiber of its own, which is interrupted when the agent
 * withdraws its question or the run ends.
 *
 * @since 0.1.0
 * @category models
 */
export type Handler<E = never, R = never> = (question: Question) => Effect.Effect<Decision, E, R>

/**
 * It may, as it asked; with `input` something else in its place.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Approval } from "effect-agents"
 *
 * const watched = Agent.run(AgentRequest.make({ prompt: "Tidy up the branches" }), {
 *   approve: ({ input, tool }) => Effect.as(Effect.log(tool, input), Approval.allow())
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const allow = (options?: { readonly input?: { readonly [key: string]: unknown } | undefined }): Decision =>
  Allow.make(options?.input === undefined ? {} : { input: options.input })

/**
 * It may, and need not ask again for the like in this conversation, as far as the agent knows what is alike.
 *
 * **Example**
 *
 * ```ts
 * import { Approval } from "effect-agents"
 *
 * const policy = Approval.rules([{ tool: /^(Edit|Write)$/, decide: Approval.allowForSession }])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const allowForSession: Decision = Allow.make({ remember: true })

/**
 * It may not; `reason` is told to the model.
 *
 * **Example**
 *
 * ```ts
 * import { Approval } from "effect-agents"
 *
 * const policy = Approval.rules([{ tool: "WebFetch", decide: Approval.deny("There is no network here") }])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const deny = (reason?: string): Decision => Deny.make(reason === undefined ? {} : { reason })

/**
 * One rule: what it applies to, and the answer. `tool` is the whole name or an expression, `input` an expression on the
 * input as JSON, or a function of it; what is left out applies to everything.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rule {
  readonly tool?: string | RegExp | undefined
  readonly input?: RegExp | ((input: unknown) => boolean) | undefined
  readonly decide: Decision
}

const matches = (expression: RegExp, text: string): boolean => {
  // One with the flag g remembers where it stopped.
  expression.lastIndex = 0
  return expression.test(text)
}

const applies = ({ input, tool }: Rule, question: Question): boolean =>
  (tool === undefined || (typeof tool === "string" ? tool === question.tool : matches(tool, question.tool)))
  && (input === undefined
    || (typeof input === "function" ? input(question.input) : matches(input, JSON.stringify(question.input) ?? "")))

/**
 * A handler of rules: the first that applies decides. What none applies to goes to `otherwise`, by default a denial.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Approval } from "effect-agents"
 *
 * const approve = Approval.rules([
 *   { tool: "Bash", input: /"command":"git (status|diff|log)\b[^;&|]*"/, decide: Approval.allow() },
 *   { tool: "Bash", input: /\brm\b/, decide: Approval.deny("Nothing is removed here") }
 * ], (question) => Effect.as(Effect.log(question.tool), Approval.deny("Ask me tomorrow")))
 *
 * const run = Agent.run(AgentRequest.make({ prompt: "What has changed?" }), { approve })
 * ```
 *
 * @since 0.1.0
 * @category handlers
 */
export const rules = <E = never, R = never>(
  list: ReadonlyArray<Rule>,
  otherwise: Handler<E, R> = () => Effect.succeed(deny("No rule allows it"))
): Handler<E, R> =>
(question) => {
  const rule = list.find((rule) => applies(rule, question))
  return rule === undefined ? otherwise(question) : Effect.succeed(rule.decide)
}

/**
 * A handler that gets so much time for each question; then `decide` is the answer, by default a denial, and the handler
 * is interrupted.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Approval } from "effect-agents"
 *
 * declare const askTheTeam: Approval.Handler
 *
 * const approve = Approval.timeout(askTheTeam, "5 minutes", Approval.deny("Nobody was there to ask"))
 * ```
 *
 * @since 0.1.0
 * @category handlers
 */
export const timeout = <E, R>(
  handler: Handler<E, R>,
  duration: Duration.DurationInput,
  decide: Decision = deny("Nobody answered in time")
): Handler<E, R> =>
(question) =>
  Effect.map(
    Effect.timeoutOption(Effect.interruptible(handler(question)), duration),
    Option.getOrElse(() => decide)
  )
