/**
 * What is said in the Agent Client Protocol, version 1: JSON-RPC 2.0, one record a line. The records are checked against
 * the protocol's own types; those leave nothing behind, neither in the code nor in the declarations.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as Approval from "../../Approval.js"
import * as Json from "./json.js"

type Record_ = AgentDriver.JsonRecord
type Methods<Table> = Table[keyof Table]

/** A request that the agent has to answer, with a name for people. Its id is a name too: the agent numbers its own. */
export interface Request {
  readonly id: string
  readonly what: string
  readonly record: Record_
}

const message = (method: Methods<typeof Acp.AGENT_METHODS>, params: object, id?: string): Record_ => ({
  jsonrpc: "2.0",
  ...(id === undefined ? {} : { id }),
  method,
  params
})

const request = (
  what: string,
  method: Methods<typeof Acp.AGENT_METHODS>,
  params: object,
  id: string = method
): Request => ({ id, what, record: message(method, params, id) })

/** `meta`: what this agent understands beyond the protocol. */
export const initialize = (meta: Record_): Request =>
  request(
    "the opening of the dialogue",
    "initialize",
    {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false, _meta: meta },
      clientInfo: { name: "effect-agents", version: "0.1.0" }
    } satisfies Acp.InitializeRequest
  )

export const newSession = (cwd: string): Request =>
  request("the opening of the conversation", "session/new", { cwd, mcpServers: [] } satisfies Acp.NewSessionRequest)

export const loadSession = (sessionId: string, cwd: string): Request =>
  request(
    "the opening of the conversation",
    "session/load",
    { sessionId, cwd, mcpServers: [] } satisfies Acp.LoadSessionRequest
  )

export const setMode = (sessionId: string, modeId: string): Request =>
  request("the mode", "session/set_mode", { sessionId, modeId } satisfies Acp.SetSessionModeRequest)

export const setOption = (sessionId: string, configId: string, value: string): Request =>
  request(
    `the option ${configId}`,
    "session/set_config_option",
    { sessionId, configId, value } satisfies Acp.SetSessionConfigOptionRequest
  )

/** The answer to a prompt is the end of its turn. */
export const prompt = (id: string, what: string, sessionId: string, texts: ReadonlyArray<string>): Request =>
  request(
    what,
    "session/prompt",
    { sessionId, prompt: texts.map((text) => ({ type: "text", text })) } satisfies Acp.PromptRequest,
    id
  )

export const cancel = (sessionId: string): Record_ =>
  message("session/cancel", { sessionId } satisfies Acp.CancelNotification)

const answer = (id: unknown, result: object): Record_ => ({ jsonrpc: "2.0", id, result })

/** Whatever a later version asks, it hears that nobody knows. */
export const refusal = (id: unknown): Record_ => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32601, message: "This client does not support the request" }
})

/** A question that waits for its answer. Its id on the wire may be a number. */
export interface Open {
  readonly wire: unknown
  readonly tool: string
  readonly options: ReadonlyMap<string, string>
}

export const open = (wire: unknown, tool: string, options: unknown): Open => ({
  wire,
  tool,
  options: new Map(
    Json.list(options).map(Json.record).flatMap(({ kind, optionId }) =>
      typeof kind === "string" && typeof optionId === "string" ? [[kind, optionId] as const] : []
    )
  )
})

const kindsOf = (decision: Approval.Decision): ReadonlyArray<Acp.PermissionOptionKind> =>
  decision._tag === "Deny"
    ? ["reject_once"]
    : decision.remember === true
    ? ["allow_always", "allow_once"]
    : ["allow_once"]

export const cancelled = ({ wire }: Open): Record_ =>
  answer(wire, { outcome: { outcome: "cancelled" } } satisfies Acp.RequestPermissionResponse)

export const decided = (question: Open, decision: Approval.Decision): Record_ => {
  const kind = kindsOf(decision).find((kind) => question.options.has(kind))
  const optionId = kind === undefined ? undefined : question.options.get(kind)
  return optionId === undefined
    ? cancelled(question)
    : answer(
      question.wire,
      { outcome: { outcome: "selected", optionId } } satisfies Acp.RequestPermissionResponse
    )
}

/** Why a turn is over, where it is not for a failure. */
export const stopOf = (reason: string | undefined): AgentDriver.Terminal => {
  switch (reason as Acp.StopReason | undefined) {
    case "end_turn":
      return { stop: "completed" }
    case "cancelled":
      return { stop: "interrupted" }
    case "refusal":
      return { stop: "refused" }
    case "max_turn_requests":
      return { stop: "max-turns" }
    default:
      return { stop: "other", stopDetail: reason ?? "unknown" }
  }
}
