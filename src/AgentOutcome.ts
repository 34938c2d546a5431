/**
 * How a run ended well: the answer, what it used, where to continue, and the proof that nothing of it is left.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
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
 * - `partial`: the run ended before the agent told the total; these are the figures until then.
 *
 * `durationMs` and `apiDurationMs` are milliseconds, `costUsd` is US dollars, `aiCreditsNano` billionths of a credit,
 * all others are counts. Which agent says what is in the README.
 *
 * **Example**
 *
 * ```ts
 * import { Schema } from "effect"
 * import { AgentOutcome } from "effect-agents"
 *
 * const decode = Schema.decodeUnknown(AgentOutcome.Usage)
 *
 * const stored = decode({ inputTokens: 1200, outputTokens: 340, costUsd: 0.02 })
 * ```
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
  apiDurationMs: count,
  partial: Schema.optional(Schema.Boolean)
})

/**
 * A value of the schema `Usage`.
 *
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
 * **Example**
 *
 * ```ts
 * import { AgentOutcome } from "effect-agents"
 *
 * const total = (outcomes: ReadonlyArray<AgentOutcome.AgentOutcome>) =>
 *   outcomes.reduce((sum, { usage }) => AgentOutcome.addUsage(sum, usage), AgentOutcome.Usage.make({}))
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const addUsage = (earlier: Usage, later: Usage): Usage => {
  const sum: Types.Mutable<Usage> = { ...earlier, ...later }
  for (const key of summed) {
    const [a, b] = [earlier[key], later[key]]
    if (a !== undefined && b !== undefined) sum[key] = a + b
  }
  return sum
}

/**
 * The share of the context window that the last model call filled, 0 to 1; none unless both figures are known.
 *
 * **Example**
 *
 * ```ts
 * import { Option } from "effect"
 * import { AgentOutcome, Session } from "effect-agents"
 *
 * // Begin afresh before the window is full.
 * const next = (last: AgentOutcome.AgentOutcome) =>
 *   Option.exists(AgentOutcome.contextUsed(last.usage), (share) => share > 0.8)
 *     ? Session.fresh()
 *     : Session.resume(last.session)
 * ```
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
 * Why the agent stopped, in words common to all; `other` with the agent's own in the outcome's `stopDetail`. That of a
 * run which failed is in `AgentTurnFailed`: `interrupted` and `error` always, `max-turns` and `max-budget` where the
 * agent takes a limit that it reached for a failure, as Claude Code and Copilot do, and the limit is none of the run: those
 * are `AgentLimitExceeded`. An outcome with `max-budget` has its answer, which took the last of the money. `detached`: it
 * has not stopped, but was handed over by `AgentRun.detach` while it was at work.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const bounded = Agent.run(AgentRequest.make({ prompt: "Find the bug", extraArgs: ["--max-turns", "5"] })).pipe(
 *   Effect.tapErrorTag("AgentTurnFailed", ({ partial, stop }) =>
 *     stop === "max-turns" ? Effect.log("not found in five turns", partial.session) : Effect.void)
 * )
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Stop = Schema.Literal(
  "completed",
  "max-turns",
  "max-budget",
  "refused",
  "interrupted",
  "detached",
  "error",
  "other"
)

/**
 * A value of the schema `Stop`.
 *
 * @since 0.1.0
 * @category models
 */
export type Stop = typeof Stop.Type

/**
 * How the leading process ended: by itself with `code`, or by `signal`. Both are `null` when it had to be ended
 * although its answer was complete and its end could not be read.
 *
 * **Example**
 *
 * ```ts
 * import { AgentOutcome } from "effect-agents"
 *
 * const describe = ({ code, signal }: AgentOutcome.Exit) => signal ?? (code === null ? "unknown" : `exit code ${code}`)
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Exit = Schema.Struct({ code: Schema.NullOr(Schema.Number), signal: Schema.NullOr(Schema.String) })

/**
 * A value of the schema `Exit`.
 *
 * @since 0.1.0
 * @category models
 */
export type Exit = typeof Exit.Type

/**
 * What the provider says of the account's quota, in its own words: `status` such as `allowed`, `allowed_warning` or
 * `rejected`, `window` such as `five_hour`, `resetsAt` in milliseconds since the epoch. `overageStatus` and
 * `isUsingOverage` tell of what is paid beyond the quota. Absent is not said. Only Claude Code tells.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, AgentRequest } from "effect-agents"
 * import { Effect } from "effect"
 *
 * const quota = Agent.run(AgentRequest.make({ prompt: "Review src/index.ts" })).pipe(
 *   Effect.map(({ rateLimit }) => rateLimit?.status ?? "not said")
 * )
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const RateLimit = Schema.Struct({
  status: Schema.String,
  window: Schema.optional(Schema.String),
  resetsAt: Schema.optional(Schema.Number),
  overageStatus: Schema.optional(Schema.String),
  isUsingOverage: Schema.optional(Schema.Boolean)
})

/**
 * A value of the schema `RateLimit`.
 *
 * @since 0.1.0
 * @category models
 */
export type RateLimit = typeof RateLimit.Type

/**
 * An attempt of the agent to reach the provider that failed, and was made again: the event `Retry` without its stamp.
 * `delayMs` is how long it waited then, `status` an HTTP status; absent is not said.
 *
 * **Example**
 *
 * ```ts
 * import type { AgentOutcome } from "effect-agents"
 *
 * const waited = ({ attempts }: AgentOutcome.Turn) => attempts.reduce((sum, { delayMs }) => sum + (delayMs ?? 0), 0)
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Attempt = Schema.Struct({
  reason: Schema.String,
  attempt: count,
  maxAttempts: count,
  delayMs: count,
  status: count
})

/**
 * A value of the schema `Attempt`.
 *
 * @since 0.1.0
 * @category models
 */
export type Attempt = typeof Attempt.Type

/** What is known of a turn once it is over. */
const turn = {
  agent: Schema.String,
  session: Session.SessionRef,
  text: Schema.String,
  structured: Schema.optional(Schema.Unknown),
  usage: Usage,
  subAgents: Schema.optional(Usage),
  stop: Stop,
  stopDetail: Schema.optional(Schema.String),
  rateLimit: Schema.optional(RateLimit),
  attempts: Schema.Array(Attempt),
  filesChanged: Schema.Array(Schema.String),
  durationMs: Schema.Number
}

/**
 * The outcome of one turn of a conversation whose process lives on. The fields are those of `AgentOutcome`; `usage`,
 * `subAgents` and `durationMs` are the turn's.
 *
 * **Example**
 *
 * ```ts
 * import type { AgentOutcome } from "effect-agents"
 *
 * const line = (turn: AgentOutcome.Turn) => `${turn.stop} after ${turn.durationMs} ms: ${turn.text}`
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class Turn extends Schema.Class<Turn>("effect-agents/AgentOutcome/Turn")(turn) {}

/**
 * The outcome of a run that ended well.
 *
 * - `text` is the answer: the last message of the agent, not the sum of the `Text` events.
 * - `usage` is what the agent itself used, `subAgents` what its sub-agents used beside that, where it tells them apart.
 *   `costUsd` and what an agent counts for the whole account of the conversation stand in `usage` and hold for both.
 * - `structured` is the answer as a value, where the request had an `outputSchema`.
 * - `unparsed` counts the lines of output that were not part of the protocol, `firstUnparsed` is the first of them.
 * - `rateLimit` is what was last said of the account's quota.
 * - `attempts` are those to reach the provider that failed, the newest 32.
 * - `filesChanged` are the files that the agent's own tools for editing have changed, by the names that it gave them. What
 *   its shell commands did is not known.
 * - `stderrTail` is the end of what the agent wrote to its standard error.
 * - `durationMs` is the time from the start to the end of the teardown.
 * - `session` is where to continue; its `id` is empty when the agent never named one.
 * - `stop` is `interrupted` when the caller ended the turn by `AgentRun.interrupt`, and `detached` when it handed the run
 *   over: `text` is then what was there.
 * - `teardown` is the report on what was left of the run when it ended, and what was done about it.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, AgentOutcome, AgentRequest } from "effect-agents"
 *
 * const encode = Schema.encode(Schema.parseJson(AgentOutcome.AgentOutcome))
 *
 * const review = Effect.gen(function*() {
 *   const outcome = yield* Agent.run(AgentRequest.make({ prompt: "Review the staged diff" }))
 *   yield* Effect.log(`${outcome.durationMs} ms, ${outcome.teardown.killed.length} processes were left and ended`)
 *   return yield* encode(outcome)
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class AgentOutcome extends Schema.Class<AgentOutcome>("effect-agents/AgentOutcome")({
  ...turn,
  exit: Exit,
  stderrTail: Schema.String,
  unparsed: Schema.Number,
  firstUnparsed: Schema.optional(Schema.String),
  teardown: Teardown.TeardownReport
}) {}
