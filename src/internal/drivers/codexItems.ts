/** Work of tools, as both of Codex's protocols tell it: `codex exec` in snake case, the app-server in camel case. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as Json from "./json.js"
import * as Plans from "./plans.js"
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

const kinds: Readonly<Record<string, "add" | "update" | "delete">> = { add: "add", update: "update", delete: "delete" }

/** `codex exec` names the kind alone; the app-server puts with it where to a file was moved, and into the diff as well. */
const changed = (call: string | undefined, item: Record_, parent: string | undefined) =>
  Json.list(item["changes"]).map(Json.record).flatMap((change): ReadonlyArray<AgentEvent.Unstamped> => {
    const path = Json.string(change["path"])
    const about = Json.record(change["kind"])
    const kind = kinds[Json.string(change["kind"]) ?? Json.string(about["type"]) ?? ""]
    return path === undefined || kind === undefined ? [] : [Json.compact({
      _tag: "FileChange" as const,
      path,
      kind,
      movedTo: Json.string(about["move_path"]),
      // Of a file that is new or gone it is what stands in the file.
      diff: kind === "update" ? Json.string(change["diff"])?.replace(/\n\nMoved to: [^\n]*$/, "") : undefined,
      call,
      parent
    })]
  })

/** Its steps are done or not; nothing says which it is at. */
const todos = (item: Record_): AgentEvent.Unstamped => ({
  _tag: "Plan",
  steps: Json.list(item["items"]).map(Json.record).map((step) => ({
    text: Json.string(step["text"]) ?? "",
    status: step["completed"] === true ? "completed" : "pending"
  }))
})

export const planned = (params: Record_): AgentEvent.Unstamped =>
  Json.compact({
    _tag: "Plan" as const,
    steps: Json.list(params["plan"]).map(Json.record).map((step) => ({
      text: Json.string(step["step"]) ?? "",
      status: Plans.status(step["status"])
    })),
    note: Json.string(params["explanation"])
  })

/** Sub-agents that are at work, with the calls that they come from. */
export type Subs = ReadonlyMap<string, string | undefined>

export const subAgent = (
  phase: "started" | "finished",
  id: string,
  call: string | undefined,
  ok?: boolean | undefined
): AgentEvent.Unstamped => Json.compact({ _tag: "SubAgent" as const, phase, id, call, ok })

/** The sub-agents that an item has begun. */
export const spawned = (type: string, item: Record_): ReadonlyArray<string> =>
  type === "collab_tool_call" && item["tool"] === "spawn_agent" ? Json.strings(item["receiver_thread_ids"]) : []

const over = new Set(["completed", "errored", "interrupted", "shutdown", "not_found"])

/** Those whose end an item tells, and whether it was a good one. */
export const ended = (item: Record_): ReadonlyArray<readonly [id: string, ok: boolean]> =>
  Object.entries(Json.record(item["agents_states"])).flatMap(([id, state]) => {
    const status = Json.string(Json.record(state)["status"]) ?? ""
    return over.has(status) ? [[id, status === "completed"] as const] : []
  })

/** What an item makes of the open calls; no events where it is none of a tool, or tells nothing new. */
export const step = (
  open: ToolCalls.Open,
  phase: string,
  type: string,
  item: Record_,
  parent?: string | undefined
) => {
  const events: Array<AgentEvent.Unstamped> = type === "todo_list" && phase !== "completed" ? [todos(item)] : []
  const tool = Object.hasOwn(tools, type) ? tools[type] : undefined
  if (tool === undefined) return { open, events }
  const id = Json.string(item["id"])
  let next = open
  if (!ToolCalls.has(open, id) && phase !== "updated") {
    const name = tool.name(item)
    next = ToolCalls.opened(open, id, name)
    events.push(Json.compact({ _tag: "ToolCall" as const, id, name, input: tool.input(item), parent }))
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
      output: tool.output(item),
      parent
    }))
    if (type === "file_change" && item["status"] === "completed") events.push(...changed(id, item, parent))
  }
  return { open: next, events }
}
