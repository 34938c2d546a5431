/** Work of tools, as both of Codex's protocols tell it: `codex exec` in snake case, the app-server in camel case. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as Json from "./json.js"
import * as ToolCalls from "./toolCalls.js"

type Record_ = AgentDriver.JsonRecord

/** Items that are work of a tool: what it is called, what it got, what it gave. */
const tools: Readonly<
  Record<string, {
    readonly name: (item: Record_) => string
    readonly input: (item: Record_) => unknown
    readonly output: (item: Record_) => unknown
  }>
> = {
  command_execution: {
    name: () => "command_execution",
    input: (item) => ({ command: item["command"] ?? null }),
    output: (item) => item["aggregated_output"] ?? null
  },
  mcp_tool_call: {
    name: (item) => `mcp__${Json.string(item["server"]) ?? "unknown"}__${Json.string(item["tool"]) ?? "unknown"}`,
    input: (item) => item["arguments"] ?? null,
    output: (item) => {
      const result = Json.record(item["result"])
      return Json.string(Json.record(item["error"])["message"])
        ?? (Array.isArray(result["content"]) ? Json.content(result["content"]) : item["result"] ?? null)
    }
  },
  file_change: {
    name: () => "file_change",
    input: (item) => ({ changes: item["changes"] ?? null }),
    output: (item) => item["changes"] ?? null
  },
  web_search: {
    name: () => "web_search",
    input: (item) => Json.compact({ query: item["query"] ?? null, action: item["action"] }),
    output: (item) => item["action"] ?? null
  },
  collab_tool_call: {
    name: (item) => Json.string(item["tool"]) ?? "collab_tool_call",
    input: (item) => Json.compact({ prompt: item["prompt"], threads: item["receiver_thread_ids"] }),
    output: (item) => item["agents_states"] ?? null
  }
}

/** Shell commands may write too; that is not told. */
export const writes: AgentDriver.AgentDriver<unknown>["writes"] = ({ input, name }) =>
  name === "file_change"
    ? Json.list(Json.record(input)["changes"]).flatMap((change) => Json.string(Json.record(change)["path"]) ?? [])
    : []

const okOf = (item: Record_, exitCode: number | undefined): boolean | undefined => {
  if (exitCode !== undefined) return exitCode === 0
  if (Json.isRecord(item["error"])) return false
  const status = Json.string(item["status"])
  return status === "completed" ? true : status === "failed" || status === "declined" ? false : undefined
}

/** What an item makes of the open calls; no events where it is none of a tool, or tells nothing new. */
export const step = (open: ToolCalls.Open, phase: string, type: string, item: Record_) => {
  const events: Array<AgentEvent.Unstamped> = []
  const tool = Object.hasOwn(tools, type) ? tools[type] : undefined
  if (tool === undefined) return { open, events }
  const id = Json.string(item["id"])
  let next = open
  if (!ToolCalls.has(open, id) && phase !== "updated") {
    const name = tool.name(item)
    next = ToolCalls.opened(open, id, name)
    events.push(Json.compact({ _tag: "ToolCall" as const, id, name, input: tool.input(item) }))
  }
  if (phase === "completed") {
    const exitCode = Json.number(item["exit_code"])
    next = ToolCalls.closed(next, id)
    events.push(Json.compact({
      _tag: "ToolResult" as const,
      id,
      ok: okOf(item, exitCode),
      denied: item["status"] === "declined" ? true : undefined,
      exitCode,
      output: tool.output(item)
    }))
  }
  return { open: next, events }
}
