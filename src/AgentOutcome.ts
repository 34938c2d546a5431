/**
 * How a run ended well: the answer, what it used, where to continue, and the proof that nothing of it is left.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Session from "./Session.js"
import * as Teardown from "./Teardown.js"

const count = Schema.optional(Schema.Number)

/**
 * What a run used, in the agent's own figures. Absent means that the agent did not say; it never means zero.
 *
 * - `inputTokens`: prompt tokens that no cache served; `cacheReadTokens` and `cacheWriteTokens` come on top.
 * - `outputTokens`: includes `reasoningTokens` where the agent counts them.
 * - `contextTokens`: the whole prompt of the last model call, of at most `contextWindow`.
 * - `costUsd`: as reported by the agent, never computed from a price list.
 * - `premiumRequests`, `aiCreditsNano`: how Copilot counts.
 * - `durationMs`, `apiDurationMs`: as the agent measured them.
 *
 * @since 0.1.0
 * @category models
 */
export const Usage = Schema.Struct({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  reasoningTokens: count,
  contextTokens: count,
  contextWindow: count,
  maxOutputTokens: count,
  costUsd: count,
  premiumRequests: count,
  aiCreditsNano: count,
  modelCalls: count,
  durationMs: count,
  apiDurationMs: count
})

/**
 * @since 0.1.0
 * @category models
 */
export type Usage = typeof Usage.Type

const summed = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "reasoningTokens",
  "costUsd",
  "premiumRequests",
  "modelCalls",
  "durationMs",
  "apiDurationMs"
] as const satisfies ReadonlyArray<keyof Usage>

/**
 * Adds the usage of a later run to that of an earlier one: counters are summed, `contextTokens`, `contextWindow`,
 * `maxOutputTokens` and `aiCreditsNano` are the newest that were said. A silent run erases nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const addUsage = (earlier: Usage, later: Usage): Usage => ({
  ...earlier,
  ...later,
  ...Object.fromEntries(summed.flatMap((key) => {
    const [a, b] = [earlier[key], later[key]]
    return a === undefined || b === undefined ? [] : [[key, a + b]]
  }))
})

/**
 * The share of the context window that the last model call filled, 0 to 1; none unless both figures are known.
 *
 * @since 0.1.0
 * @category getters
 */
export const contextUsed = (usage: Usage): Option.Option<number> =>
  Option.all([Option.fromNullable(usage.contextTokens), Option.fromNullable(usage.contextWindow)]).pipe(
    Option.filter(([, window]) => window > 0),
    Option.map(([tokens, window]) => tokens / window)
  )

/**
 * Why the agent stopped, in words common to all; `other` with the agent's own in the outcome's `stopDetail`.
 *
 * @since 0.1.0
 * @category models
 */
export const Stop = Schema.Literal("completed", "max-turns", "max-budget", "refused", "interrupted", "error", "other")

/**
 * @since 0.1.0
 * @category models
 */
export type Stop = typeof Stop.Type

/**
 * How the leading process ended: by itself with `code`, or by `signal`. Both are absent when it had to be ended
 * although its answer was complete and its end could not be read.
 *
 * @since 0.1.0
 * @category models
 */
export const Exit = Schema.Struct({ code: Schema.NullOr(Schema.Number), signal: Schema.NullOr(Schema.String) })

/**
 * @since 0.1.0
 * @category models
 */
export type Exit = typeof Exit.Type

/**
 * The outcome of a run that ended well.
 *
 * - `text` is the answer: the last message of the agent, not the sum of the `Text` events.
 * - `structured` is the answer as a value, where the request had an `outputSchema`.
 * - `unparsed` counts the lines of output that were not part of the protocol.
 * - `stderrTail` is the end of what the agent wrote to its standard error.
 * - `durationMs` is the time from the start to the end of the teardown.
 *
 * @since 0.1.0
 * @category models
 */
export class AgentOutcome extends Schema.Class<AgentOutcome>("effect-agents/AgentOutcome")({
  agent: Schema.String,
  session: Session.SessionRef,
  text: Schema.String,
  structured: Schema.optional(Schema.Unknown),
  usage: Usage,
  stop: Stop,
  stopDetail: Schema.optional(Schema.String),
  exit: Exit,
  stderrTail: Schema.String,
  unparsed: Schema.Number,
  durationMs: Schema.Number,
  teardown: Teardown.TeardownReport
}) {}
