/** How Codex speaks with `codex exec --json`, as of 0.171.0. */
import * as Option from "effect/Option"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as AgentOutcome from "../../AgentOutcome.js"
import * as Failure from "./failure.js"
import * as Json from "./json.js"
import * as ToolCalls from "./toolCalls.js"

type Record_ = AgentDriver.JsonRecord
type Step = AgentDriver.Step<State>
type Event = AgentEvent.Unstamped

export interface State {
  readonly continued: boolean
  readonly hasSchema: boolean
  readonly session: string | undefined
  readonly text: string
  readonly structured: unknown
  readonly usage: AgentOutcome.Usage
  readonly open: ToolCalls.Open
  /** What the CLI complained of last; the cause, when it gives up without saying more. */
  readonly complaint: string | undefined
  readonly terminal: AgentDriver.Terminal | undefined
}

const initial = (request: Parameters<AgentDriver.Protocol<State>["initial"]>[0]): State => ({
  continued: request.session._tag !== "New",
  hasSchema: request.outputSchema !== undefined,
  session: undefined,
  text: "",
  structured: undefined,
  usage: {},
  open: [],
  complaint: undefined,
  terminal: undefined
})

const unknown = (state: State, type: string, raw: Record_): Step => ({
  state,
  events: [{ _tag: "Unknown", type, raw }]
})

// ---------------------------------------------------------------------------------------------------------------------
// items
// ---------------------------------------------------------------------------------------------------------------------

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

const okOf = (item: Record_, exitCode: number | undefined): boolean | undefined => {
  if (exitCode !== undefined) return exitCode === 0
  if (Json.isRecord(item["error"])) return false
  const status = Json.string(item["status"])
  return status === "completed" ? true : status === "failed" || status === "declined" ? false : undefined
}

const toolItem = (state: State, phase: string, type: string, item: Record_, record: Record_): Step => {
  const tool = Object.hasOwn(tools, type) ? tools[type] : undefined
  if (tool === undefined) return unknown(state, `item.${phase}/${type}`, record)
  const id = Json.string(item["id"])
  const isOpen = ToolCalls.has(state.open, id)
  const events: Array<Event> = []
  let open = state.open
  if (!isOpen && phase !== "updated") {
    const name = tool.name(item)
    open = ToolCalls.opened(open, id, name)
    events.push(Json.compact({ _tag: "ToolCall" as const, id, name, input: tool.input(item) }))
  }
  if (phase === "completed") {
    const exitCode = Json.number(item["exit_code"])
    open = ToolCalls.closed(open, id)
    events.push(Json.compact({
      _tag: "ToolResult" as const,
      id,
      ok: okOf(item, exitCode),
      denied: item["status"] === "declined" ? true : undefined,
      exitCode,
      output: tool.output(item)
    }))
  }
  return events.length === 0
    ? unknown(state, `item.${phase}/${type}`, record)
    : { state: { ...state, open }, events }
}

const item = (state: State, phase: string, record: Record_): Step => {
  const found = Json.record(record["item"])
  const type = Json.string(found["type"]) ?? "unknown"
  const text = Json.string(found["text"])
  if (phase === "completed") {
    if (type === "agent_message" && text !== undefined) {
      return {
        state: { ...state, text },
        events: [
          { _tag: "Text", text },
          Json.compact({ _tag: "Message" as const, text, id: Json.string(found["id"]) })
        ]
      }
    }
    if (type === "reasoning" && text !== undefined) return { state, events: [{ _tag: "Thinking", text }] }
    if (type === "error") {
      const message = Json.string(found["message"]) ?? "unknown"
      return { state, events: [{ _tag: "Notice", level: "warning", text: message }] }
    }
  }
  return toolItem(state, phase, type, found, record)
}

// ---------------------------------------------------------------------------------------------------------------------
// turns
// ---------------------------------------------------------------------------------------------------------------------

const reconnecting = /^Reconnecting\.\.\. (?:(\d+)\/(\d+)|waiting for network)(?: \((.*)\))?$/s

const complaint = (state: State, message: string): Step => {
  const found = reconnecting.exec(message)
  if (found === null) {
    const { message: text } = Failure.unwrap(message)
    return { state: { ...state, complaint: message }, events: [{ _tag: "Notice", level: "error", text }] }
  }
  const [, attempt, of, why] = found
  const { message: reason, status } = Failure.unwrap(why ?? message)
  return {
    // The next attempt may succeed, but if the CLI leaves instead, this was why.
    state: { ...state, complaint: why ?? message },
    events: [Json.compact({
      _tag: "Retry" as const,
      reason,
      attempt: attempt === undefined ? undefined : Number(attempt),
      maxAttempts: of === undefined ? undefined : Number(of),
      status
    })]
  }
}

/** The wire's input tokens include those that a cache served. */
const usageOf = (usage: Record_): AgentOutcome.Usage => {
  const cached = Json.number(usage["cached_input_tokens"])
  const written = Json.number(usage["cache_write_input_tokens"])
  const input = Json.number(usage["input_tokens"])
  return Json.compact({
    inputTokens: input === undefined ? undefined : Math.max(0, input - (cached ?? 0) - (written ?? 0)),
    outputTokens: Json.number(usage["output_tokens"]),
    cacheReadTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: Json.number(usage["reasoning_output_tokens"])
  })
}

const completed = (state: State, record: Record_): Step => {
  // Here the figures are those of the whole conversation; what this run had of them is not told.
  const usage = state.continued ? {} : usageOf(Json.record(record["usage"]))
  const value = state.hasSchema ? Json.parse(state.text) : Option.none()
  const failure: AgentDriver.Failure | undefined = state.hasSchema && Option.isNone(value)
    ? { kind: "turn-failed", detail: "the turn ended without the value that the schema asks for" }
    : undefined
  const stop = failure === undefined ? "completed" as const : "error" as const
  return {
    state: {
      ...state,
      usage: { ...state.usage, ...usage },
      structured: Option.getOrUndefined(value),
      complaint: undefined,
      terminal: Json.compact({ stop, failure })
    },
    events: [
      ...(Object.keys(usage).length === 0 ? [] : [{ _tag: "Usage", usage } as const]),
      { _tag: "Finished", ok: failure === undefined, stop }
    ]
  }
}

const failed = (state: State, record: Record_): Step => {
  const message = Json.string(Json.record(record["error"])["message"])
    ?? Json.string(record["message"])
    ?? state.complaint
    ?? "the turn failed"
  const failure = Failure.fromMessage(message)
  return {
    state: { ...state, terminal: { stop: "error", failure } },
    events: [{ _tag: "Finished", ok: false, stop: "error" }]
  }
}

const step = (state: State, record: Record_): Step => {
  const type = Json.string(record["type"]) ?? "unknown"
  switch (type) {
    case "thread.started": {
      const session = Json.string(record["thread_id"])
      return session === undefined
        ? unknown(state, type, record)
        : { state: { ...state, session }, events: [{ _tag: "Started", session }] }
    }
    case "turn.started":
      return unknown({ ...state, complaint: undefined, terminal: undefined }, type, record)
    case "turn.completed":
      return completed(state, record)
    case "turn.failed":
      return failed(state, record)
    case "item.started":
    case "item.updated":
    case "item.completed":
      // Work goes on, so whatever it complained of is over.
      return item(state.complaint === undefined ? state : { ...state, complaint: undefined }, type.slice(5), record)
    case "error": {
      const message = Json.string(record["message"])
      return message === undefined ? unknown(state, type, record) : complaint(state, message)
    }
    default:
      return unknown(state, type, record)
  }
}

const wordings: ReadonlyArray<Failure.Wording> = [
  { kind: "session-not-found", pattern: /no rollout found for thread|Session not found/i },
  Failure.flagRejected,
  {
    kind: "turn-failed",
    pattern: /^Not inside a trusted directory/i,
    hint: "outside of git it works only where nothing can be written, or with extraArgs: [\"--skip-git-repo-check\"]"
  },
  { kind: "not-authenticated", pattern: /not logged in|codex login|missing environment variable/i },
  { kind: "turn-failed", pattern: /^Error loading config|^Failed to read output schema|^No prompt provided/i }
]

export const protocol: AgentDriver.Protocol<State> = {
  initial,
  step,
  progress: (state) => ({
    session: state.session,
    text: state.text,
    structured: state.structured,
    usage: state.usage,
    openToolCalls: state.open,
    terminal: state.terminal
  }),
  diagnose: (state, ending) =>
    state.complaint === undefined || ending.exit.signal !== null
      ? Failure.fromOutput(ending, wordings)
      : Failure.fromMessage(state.complaint)
}
