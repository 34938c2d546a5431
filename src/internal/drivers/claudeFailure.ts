/** How a turn of Claude Code ended. `is_error` decides: `subtype` says "success" for a failed call of the model, too. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentOutcome from "../../AgentOutcome.js"
import * as Answer from "./answer.js"
import * as Failure from "./failure.js"
import * as Json from "./json.js"

type Kind = AgentDriver.Failure["kind"]

export interface Limit {
  readonly status: string
  readonly resetsAt: number | undefined
}

/** Times come as seconds since the epoch. */
export const milliseconds = (time: number | undefined): number | undefined =>
  time === undefined ? undefined : time < 1e11 ? time * 1000 : time

/** The words of `error`, `api_error` and `api_error_type`. */
const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["authentication_failed", "not-authenticated"],
  ["authentication_error", "not-authenticated"],
  ["oauth_org_not_allowed", "not-authenticated"],
  ["rate_limit", "rate-limited"],
  ["rate_limit_error", "rate-limited"],
  ["overloaded", "overloaded"],
  ["overloaded_error", "overloaded"],
  ["server_error", "overloaded"],
  ["api_error", "overloaded"],
  ["timeout", "overloaded"],
  ["timeout_error", "overloaded"],
  ["connection_failed", "overloaded"],
  ["connection_error", "overloaded"],
  ["invalid_request", "turn-failed"],
  ["invalid_request_error", "turn-failed"],
  ["permission_error", "turn-failed"],
  ["billing_error", "turn-failed"],
  ["model_not_found", "turn-failed"],
  ["max_output_tokens", "turn-failed"]
])

const kindOf = (word: string | undefined): Kind | undefined => word === undefined ? undefined : kinds.get(word)

interface Known {
  readonly apiError: string | undefined
  readonly limit: Limit | undefined
  readonly continued: boolean
  readonly lacksValue: boolean
}

const wasRefused = (limit: Limit | undefined): limit is Limit =>
  limit !== undefined && limit.status !== "unknown" && !limit.status.startsWith("allowed")

const stopOf = (record: AgentDriver.JsonRecord, failed: boolean): AgentOutcome.Stop => {
  const subtype = Json.string(record["subtype"]) ?? ""
  if (Json.string(record["terminal_reason"])?.startsWith("aborted") === true) return "interrupted"
  if (subtype === "error_max_turns" || record["terminal_reason"] === "max_turns") return "max-turns"
  if (subtype === "error_max_budget_usd") return "max-budget"
  if (record["stop_reason"] === "refusal") return "refused"
  if (failed) return "error"
  return record["stop_reason"] === "max_tokens" || record["stop_reason"] === "model_context_window_exceeded"
    ? "other"
    : "completed"
}

const unknownSession = /No conversation found|not a valid session|requires a valid session|does not match any session/i

const failureOf = (record: AgentDriver.JsonRecord, stop: AgentOutcome.Stop, known: Known): AgentDriver.Failure => {
  const errors = Json.strings(record["errors"]).join("; ")
  const said = errors !== "" ? errors : Json.string(record["result"]) ?? ""
  const detail = stop === "interrupted"
    ? "the turn was interrupted"
    : said !== ""
    ? said
    : `the turn ended with ${Json.string(record["subtype"]) ?? "an error"}`
  // Its own attempts to have the value mended are used up.
  if (record["subtype"] === "error_max_structured_output_retries") return { kind: "output-invalid", detail }
  if (stop !== "error") return { kind: "turn-failed", detail }
  if (known.continued && unknownSession.test(errors)) return { kind: "session-not-found", detail }
  const status = Json.number(record["api_error_status"])
  const words = [record["api_error_type"], record["api_error"], known.apiError].map((word) => kindOf(Json.string(word)))
  const unspecific = record["terminal_reason"] === "api_error" && status === undefined
  const kind = Failure.kindOfStatus(status)
    ?? words.find((word) => word !== undefined)
    ?? (wasRefused(known.limit) ? "rate-limited" : unspecific ? "overloaded" : "turn-failed")
  return Json.compact({
    kind,
    detail,
    status,
    resetsAt: kind === "rate-limited" && wasRefused(known.limit) ? known.limit.resetsAt : undefined
  })
}

/** The answer itself took the last of the budget, and was complete by then. */
const isAnswered = ({ stop_reason }: AgentDriver.JsonRecord, stop: AgentOutcome.Stop, { lacksValue }: Known): boolean =>
  stop === "max-budget" && stop_reason === "end_turn" && !lacksValue

export const terminal = (record: AgentDriver.JsonRecord, known: Known): AgentDriver.Terminal => {
  const failed = Json.boolean(record["is_error"]) ?? Json.string(record["subtype"])?.startsWith("error") === true
  const stop = stopOf(record, failed)
  const failure: AgentDriver.Failure | undefined =
    (failed && !isAnswered(record, stop, known)) || stop === "interrupted"
      ? failureOf(record, stop, known)
      : known.lacksValue
      ? Answer.missing
      : undefined
  return Json.compact({
    stop: failure !== undefined && stop === "completed" ? "error" as const : stop,
    stopDetail: stop === "other" || stop === "error" || stop === "refused"
      ? Json.string(record["stop_reason"]) ?? Json.string(record["terminal_reason"])
      : undefined,
    failure
  })
}

export const wordings: ReadonlyArray<Failure.Wording> = [
  {
    kind: "session-not-found",
    pattern: /^(?:Error: )?No conversation found with session ID|requires a valid session/i
  },
  { kind: "turn-failed", pattern: /^Error: Session ID \S+ is already in use/i },
  { kind: "turn-failed", pattern: /^Error: Invalid session ID/i },
  Failure.flagRejected,
  {
    kind: "not-authenticated",
    pattern: /not logged in|run \/login|invalid api key|OAuth token (?:has expired|revoked)/i
  }
]
