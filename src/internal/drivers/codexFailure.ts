/** What Codex's words about a failure mean. */
import type * as AgentDriver from "../../AgentDriver.js"
import * as Failure from "./failure.js"
import * as Json from "./json.js"

const wordings: ReadonlyArray<Failure.Wording> = [
  {
    kind: "session-not-found",
    pattern: /no rollout found for thread|Session not found|invalid (?:thread|session) id/i
  },
  Failure.flagRejected,
  {
    kind: "turn-failed",
    pattern: /^Not inside a trusted directory/i,
    hint: "outside of git it works only where nothing can be written, or with extraArgs: [\"--skip-git-repo-check\"]"
  },
  { kind: "not-authenticated", pattern: /not logged in|codex login|missing environment variable/i },
  { kind: "turn-failed", pattern: /^Error loading config|^Failed to read output schema|^No prompt provided/i }
]

/** What the CLI printed instead of beginning. */
export const printed = (ending: AgentDriver.Ending): AgentDriver.Failure | undefined =>
  Failure.fromOutput(ending, wordings)

const kinds: Readonly<Record<string, AgentDriver.Failure["kind"]>> = {
  unauthorized: "not-authenticated",
  usageLimitExceeded: "rate-limited",
  rateLimitExceeded: "rate-limited",
  serverOverloaded: "overloaded",
  flexUnavailable: "overloaded",
  policyCapacityUnavailable: "overloaded",
  internalServerError: "overloaded",
  httpConnectionFailed: "overloaded",
  responseStreamConnectionFailed: "overloaded",
  responseStreamDisconnected: "overloaded",
  responseTooManyFailedAttempts: "overloaded",
  contextWindowExceeded: "turn-failed",
  badRequest: "turn-failed"
}

/** `codexErrorInfo`: a name, or a name with what goes with it. */
const infoOf = (info: unknown): { readonly name: string | undefined; readonly status: number | undefined } => {
  const [name, about] = Object.entries(Json.record(info))[0] ?? [Json.string(info), undefined]
  return { name, status: Json.number(Json.record(about)["httpStatusCode"]) }
}

/** A failure that the app-server tells: what it says in fields comes before its words. */
export const told = (message: string, info?: unknown): AgentDriver.Failure => {
  const { name, status } = infoOf(info)
  const read = Failure.fromMessage(message)
  const wording = wordings.find(({ pattern }) => pattern.test(message))
  const named = name !== undefined && Object.hasOwn(kinds, name) ? kinds[name] : undefined
  const ofStatus = Failure.kindOfStatus(status)
  return Json.compact({
    ...read,
    kind: (ofStatus === "turn-failed" ? undefined : ofStatus) ?? named ?? wording?.kind ?? read.kind,
    status: status ?? read.status
  })
}
