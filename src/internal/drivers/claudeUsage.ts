/** What Claude Code tells about tokens, money and the context window. */
import * as AgentOutcome from "../../AgentOutcome.js"
import type * as AgentDriver from "../../AgentDriver.js"
import * as Json from "./json.js"

type Usage = AgentOutcome.Usage

export const none: Usage = {}

/** The `usage` of a message, or of the result for its whole turn. */
export const tokens = (usage: AgentDriver.JsonRecord): Usage =>
  Json.compact({ ...promptTokens(usage), outputTokens: Json.number(usage["output_tokens"]) })

/** The same where the output is a placeholder. */
export const promptTokens = (usage: AgentDriver.JsonRecord): Usage =>
  Json.compact({
    inputTokens: Json.number(usage["input_tokens"]),
    cacheReadTokens: Json.number(usage["cache_read_input_tokens"]),
    cacheWriteTokens: Json.number(usage["cache_creation_input_tokens"]),
    reasoningTokens: Json.number(Json.record(usage["output_tokens_details"])["thinking_tokens"])
  })

/** The whole prompt of one model call. */
export const context = (usage: Usage): number | undefined =>
  usage.inputTokens === undefined
    ? undefined
    : usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0)

/**
 * A model call in progress. Until its stream ends, `output_tokens` is a placeholder, so it is held back; a call is told
 * several times, once for each block of its message, and the last one counts.
 */
export interface Call {
  readonly id: string
  readonly usage: Usage
  readonly streamed: boolean
  readonly saidText: boolean
  readonly saidThinking: boolean
}

export const begun = (id: string): Call => ({
  id,
  usage: { modelCalls: 1 },
  streamed: false,
  saidText: false,
  saidThinking: false
})

/**
 * The model calls of a turn: those that are over as a sum, of the agent itself and of its sub-agents, and the newest of
 * each apart, those of sub-agents in the order in which they were last heard of.
 */
export interface Calls {
  readonly spent: Usage
  readonly main: Call | undefined
  readonly spentBySubAgents: Usage
  readonly subs: ReadonlyMap<string, Call>
}

export const noCalls: Calls = { spent: none, main: undefined, spentBySubAgents: none, subs: new Map() }

/** Each step copies them: more sub-agents than ever work at once, few enough that a turn with thousands stays cheap. */
const kept = 64

export const newestOf = ({ main, subs }: Calls, parent: string | undefined): Call | undefined =>
  parent === undefined ? main : subs.get(parent)

export const withCall = (calls: Calls, parent: string | undefined, call: Call): Calls => {
  const before = newestOf(calls, parent)
  const isOver = before !== undefined && before.id !== call.id
  if (parent === undefined) {
    const spent = isOver ? AgentOutcome.addUsage(calls.spent, before.usage) : calls.spent
    return { spent, main: call, spentBySubAgents: calls.spentBySubAgents, subs: calls.subs }
  }
  let spentBySubAgents = isOver ? AgentOutcome.addUsage(calls.spentBySubAgents, before.usage) : calls.spentBySubAgents
  const subs = new Map(calls.subs)
  subs.delete(parent)
  subs.set(parent, call)
  const [oldest] = subs
  if (subs.size > kept && oldest !== undefined) {
    subs.delete(oldest[0])
    spentBySubAgents = AgentOutcome.addUsage(spentBySubAgents, oldest[1].usage)
  }
  return { ...calls, spentBySubAgents, subs }
}

/** What the agent itself used. */
export const sum = ({ main, spent }: Calls): Usage =>
  main === undefined ? spent : AgentOutcome.addUsage(spent, main.usage)

/** What its sub-agents used. A result does not count them, and they outlive it. */
export const sumOfSubAgents = ({ spentBySubAgents, subs }: Calls): Usage => {
  let total = spentBySubAgents
  for (const call of subs.values()) total = AgentOutcome.addUsage(total, call.usage)
  return total
}

/** The turn of the agent itself is over. */
export const withoutMain = (calls: Calls): Calls => ({ ...calls, spent: none, main: undefined })

/**
 * The window and output ceiling of the model that was asked. The other entries belong to helper models: without a match
 * among several the window is unknown.
 */
const limits = (models: AgentDriver.JsonRecord, model: string | undefined): Usage => {
  const names = Object.keys(models)
  const name = model !== undefined && Object.hasOwn(models, model) ? model : names.length === 1 ? names[0] : undefined
  const found = Json.record(name === undefined ? undefined : models[name])
  return Json.compact({
    contextWindow: Json.number(found["contextWindow"]),
    maxOutputTokens: Json.number(found["maxOutputTokens"])
  })
}

/**
 * The cost of this run. `total_cost_usd` belongs to the conversation: in a continued one, earlier runs are in it, and
 * only what was spent since the last result is this one's.
 */
const cost = (result: AgentDriver.JsonRecord, continued: boolean, before: number | undefined): number | undefined => {
  const since = result["model_usage_since_last_result"]
  if (!continued || !Json.isRecord(since)) return Json.number(result["total_cost_usd"]) ?? before
  const costs = Object.values(since).map((model) => Json.number(Json.record(model)["costUSD"]) ?? 0)
  return costs.reduce((total, next) => total + next, before ?? 0)
}

/**
 * The run so far, a result later. Counters of a result are those of its turn, the time spent in the API is that of the
 * conversation.
 */
export const afterResult = (
  before: Usage,
  calls: Calls,
  result: AgentDriver.JsonRecord,
  run: { readonly model: string | undefined; readonly continued: boolean }
): Usage => {
  const told = sum(calls)
  // The one that tells of the end of the money is made before the last call is counted in it.
  const turn = Json.isRecord(result["usage"]) && result["subtype"] !== "error_max_budget_usd"
    ? tokens(result["usage"])
    : told
  return Json.compact({
    ...AgentOutcome.addUsage(
      before,
      Json.compact({ ...turn, modelCalls: told.modelCalls, durationMs: Json.number(result["duration_ms"]) })
    ),
    ...limits(Json.record(result["modelUsage"]), run.model),
    costUsd: cost(result, run.continued, before.costUsd),
    apiDurationMs: run.continued ? undefined : Json.number(result["duration_api_ms"]) ?? before.apiDurationMs
  })
}
