/** What Codex's app-server asks while a turn goes on, and how it is answered, as of 0.171.0. */
import type * as AgentDriver from "../../AgentDriver.js"
import * as Approval from "../../Approval.js"
import * as Json from "./json.js"
import type * as ToolCalls from "./toolCalls.js"

type Record_ = AgentDriver.JsonRecord

/** A question that waits for its answer. Its id on the wire may be a number. */
export interface Open {
  readonly wire: unknown
  /** Whose it is: that of a sub-agent has a thread of its own. */
  readonly thread: string | undefined
  readonly turn: string | undefined
  readonly answer: (decision: Approval.Decision) => Record_
}

const decided = (decision: Approval.Decision): Record_ => ({
  decision: decision._tag === "Deny" ? "decline" : decision.remember === true ? "acceptForSession" : "accept"
})

/** What was asked for is what is granted, or nothing of it. */
const granted = (asked: Record_) => (decision: Approval.Decision): Record_ => ({
  permissions: decision._tag === "Deny"
    ? {}
    : Object.fromEntries(Object.entries(asked).filter(([, part]) => part !== null)),
  scope: decision._tag === "Allow" && decision.remember === true ? "session" : "turn"
})

const elicited = (decision: Approval.Decision): Record_ => ({
  action: decision._tag === "Deny" ? "decline" : "accept",
  content: decision._tag === "Deny" ? null : {},
  _meta: decision._tag === "Allow" && decision.remember === true ? { persist: "session" } : null
})

const present = (params: Record_, keys: ReadonlyArray<string>): Record_ =>
  Object.fromEntries(
    keys.flatMap((key) => params[key] === undefined || params[key] === null ? [] : [[key, params[key]]])
  )

interface Asked {
  readonly tool: string
  readonly input: Record_
  readonly call?: string | undefined
  readonly reason?: string | undefined
  readonly answer: Open["answer"]
}

/** What is known of the tool calls that have no result yet. */
export interface Calls {
  readonly open: ToolCalls.Open
  readonly changes: ReadonlyMap<string, unknown>
}

/** It names the server, and the tool in its words alone: the call is found among those that are open. */
const ofServer = (open: ToolCalls.Open, server: string, words: string): Pick<Asked, "tool" | "call"> => {
  const prefix = `mcp__${server}__`
  const calls = open.filter(({ name }) => name.startsWith(prefix) && words.includes(`"${name.slice(prefix.length)}"`))
  const [first, second] = calls
  return first === undefined
    ? { tool: `mcp__${server}` }
    : { tool: first.name, call: second === undefined ? first.id : undefined }
}

const read = (method: string, params: Record_, { changes, open }: Calls): Asked | undefined => {
  const reason = Json.string(params["reason"])
  const call = Json.string(params["itemId"])
  switch (method) {
    case "item/commandExecution/requestApproval":
      return {
        tool: "command_execution",
        input: present(params, ["command", "cwd", "networkApprovalContext"]),
        call,
        reason,
        answer: decided
      }
    case "item/fileChange/requestApproval":
      return {
        tool: "file_change",
        input: { changes: call === undefined ? null : changes.get(call) ?? null, ...present(params, ["grantRoot"]) },
        call,
        reason,
        answer: decided
      }
    case "item/permissions/requestApproval": {
      const permissions = Json.record(params["permissions"])
      return {
        tool: "permissions",
        input: { permissions, ...present(params, ["cwd"]) },
        call,
        reason,
        answer: granted(permissions)
      }
    }
    case "mcpServer/elicitation/request": {
      const meta = Json.record(params["_meta"])
      // Other forms want an answer of their own making.
      if (meta["codex_approval_kind"] !== "mcp_tool_call") return undefined
      const words = Json.string(params["message"]) ?? ""
      return {
        ...ofServer(open, Json.string(params["serverName"]) ?? "unknown", words),
        input: Json.record(meta["tool_params"]),
        reason: words,
        answer: elicited
      }
    }
    default:
      return undefined
  }
}

/** The question in a request; `undefined` for a request that is none. */
export const asked = (method: string, wire: unknown, params: Record_, calls: Calls) => {
  const found = read(method, params, calls)
  if (found === undefined) return undefined
  const { answer, ...about } = found
  const open: Open = { wire, thread: Json.string(params["threadId"]), turn: Json.string(params["turnId"]), answer }
  return { question: Approval.Question.make(Json.compact({ id: String(wire), agent: "codex", ...about })), open }
}
