/** What an agent's words about a failure mean. Only ever used on what the CLI says itself, never on an answer. */
import type * as AgentDriver from "../../AgentDriver.js"
import * as Json from "./json.js"

type Kind = AgentDriver.Failure["kind"]

export const kindOfStatus = (status: number | undefined): Kind | undefined =>
  status === undefined
    ? undefined
    : status === 401
    ? "not-authenticated"
    : status === 429
    ? "rate-limited"
    : status >= 500 || status === 408
    ? "overloaded"
    : status >= 400
    ? "turn-failed"
    : undefined

/** An HTTP status, only where the text says that it is one: numbers occur in ids, ports and line numbers as well. */
const statuses = [
  /\b(?:status(?:[ _]code)?|HTTP(?:\/[\d.]+)?|API error)\W{0,3}([1-5]\d\d)\b/i,
  /\b([45]\d\d) (?:unauthorized|too many requests|internal server error|bad gateway|service unavailable|gateway timeout|overloaded)\b/i,
  /\berror\W{1,3}([45]\d\d)(?=\s*(?:$|[.,;)\]]))/im
]

const statusIn = (text: string): number | undefined => {
  const found = statuses.map((status) => status.exec(text)).find((found) => found !== null)
  return found === undefined ? undefined : Number(found?.[1])
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 }

/** "try again in 1 hour 20 minutes", "retry after 1.5s". */
export const retryAfterIn = (text: string): number | undefined => {
  const found = /\b(?:again in|retry after|reset(?:s)? in)\s+((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and\s+)?)+)/i.exec(text)
  if (found === null) return undefined
  let total = 0
  // Where digits begin, and not at each of them: so many would take for ever.
  for (const [, amount, unit] of (found[1] ?? "").matchAll(/(?<!\d)(\d+(?:\.\d+)?)\s*(ms|milli|s|m|h|d)/gi)) {
    const word = (unit ?? "").toLowerCase()
    total += Number(amount) * (units[word === "milli" ? "ms" : word] ?? 0)
  }
  return total > 0 ? Math.round(total) : undefined
}

const rules: ReadonlyArray<readonly [Kind, RegExp]> = [
  [
    "not-authenticated",
    /\b(?:unauthorized|not logged in|log ?in again|invalid_api_key|incorrect api key|missing environment variable|authentication_error|token (?:has )?expired|no authentication information)\b/i
  ],
  [
    "rate-limited",
    /\b(?:rate[ _]limit\w*|usage limit|(?<!(?:disk|storage) )quota|too many requests|insufficient_quota)\b/i
  ],
  [
    "overloaded",
    /\b(?:high demand|overloaded\w*|server_error|stream (?:disconnected|closed)|connection (?:failed|reset|refused|closed|lost|error)|error sending request|timed out|idle timeout|E(?:CONNRESET|CONNREFUSED|TIMEDOUT|PIPE|NOTFOUND|AI_AGAIN)|temporar(?:y|ily)|service unavailable|bad gateway|transient)\b/i
  ]
]

export const kindOfWords = (text: string): Kind | undefined => rules.find(([, rule]) => rule.test(text))?.[0]

interface Words {
  readonly message: string
  readonly status: number | undefined
  readonly code: string | undefined
}

/**
 * The sentence in a message: providers' bodies come as JSON inside a text, sometimes twice, sometimes with words around.
 */
export const unwrap = (text: string, depth = 0): Words => {
  const plain: Words = { message: text, status: statusIn(text), code: undefined }
  const from = text.indexOf("{")
  const to = text.lastIndexOf("}")
  if (depth > 3 || from < 0 || to < from) return plain
  const body = Json.parseRecord(text.slice(from, to + 1))
  if (body === undefined) return plain
  const error = Json.isRecord(body["error"]) ? body["error"] : body
  const message = Json.string(error["message"]) ?? Json.string(error["detail"]) ?? Json.string(body["error"])
  if (message === undefined) return plain
  const inner = unwrap(message, depth + 1)
  return {
    message: inner.message,
    status: inner.status ?? Json.number(body["status"]) ?? Json.number(error["status"]) ?? plain.status,
    code: inner.code ?? Json.string(error["code"]) ?? Json.string(error["type"])
  }
}

/** Whether there is a time after which it may go well. */
export const isPassing = (kind: Kind): boolean => kind === "rate-limited" || kind === "overloaded"

/** A failure from a message that is all that the CLI gives. A status decides before words do. */
export const fromMessage = (text: string): AgentDriver.Failure => {
  const { code, message, status } = unwrap(text)
  const kind = [kindOfStatus(status), code === undefined ? undefined : kindOfWords(code), kindOfWords(message)]
    .find((found) => found !== undefined && found !== "turn-failed") ?? "turn-failed"
  return Json.compact({
    kind,
    detail: message,
    status,
    retryAfterMs: isPassing(kind) ? retryAfterIn(message) : undefined
  })
}

/** How one CLI words what ends it before a turn. */
export interface Wording {
  readonly kind: Kind
  readonly pattern: RegExp
  readonly hint?: string
}

/** Options that the parser of a CLI refused; the same few phrasings everywhere. */
export const flagRejected: Wording = {
  kind: "flag-rejected",
  pattern:
    /^error: (?:unknown option|unexpected argument|unrecognized|invalid value|option '.*' argument|the argument)/i
}

/**
 * The cause of an ending without any record, from what the CLI printed beside its protocol. Once it has spoken, what
 * stands there may come from anything that it started, and is no longer its own word.
 */
export const fromOutput = (
  ending: AgentDriver.Ending,
  wordings: ReadonlyArray<Wording>
): AgentDriver.Failure | undefined => {
  if (ending.records > 0 || ending.exit.code === null || ending.exit.code === 0) return undefined
  const lines = [...ending.stderrTail.split("\n"), ...ending.noise].map((line) => line.trim())
  for (const { hint, kind, pattern } of wordings) {
    const line = lines.find((text) => pattern.test(text))
    if (line !== undefined) return { kind, detail: hint === undefined ? line : `${line} (${hint})` }
  }
  return undefined
}
