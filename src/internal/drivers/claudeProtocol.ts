/** How Claude Code speaks with `--output-format stream-json`, as of 2.1.332. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as AgentOutcome from "../../AgentOutcome.js"
import * as ClaudeDialogue from "./claudeDialogue.js"
import * as ClaudeFailure from "./claudeFailure.js"
import { message } from "./claudePlan.js"
import * as Work from "./claudeWork.js"
import * as Usage from "./claudeUsage.js"
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
  readonly model: string | undefined
  readonly toldCommands: boolean
  /** The newest message of the main agent, and the model call that it belongs to. */
  readonly text: string
  readonly textOf: string | undefined
  readonly structured: unknown
  readonly calls: Usage.Calls
  readonly results: AgentOutcome.Usage
  readonly contextTokens: number | undefined
  readonly open: ToolCalls.Open
  readonly denied: ReadonlyArray<string>
  readonly work: Work.Work
  readonly compacting: boolean
  readonly limit: ClaudeFailure.Limit | undefined
  readonly apiError: string | undefined
  readonly terminal: AgentDriver.Terminal | undefined
  readonly dialogue: ClaudeDialogue.Dialogue
}

const initial = (request: Parameters<AgentDriver.Protocol<State>["initial"]>[0]): State => ({
  continued: request.session._tag !== "New",
  hasSchema: request.outputSchema !== undefined,
  session: undefined,
  model: undefined,
  toldCommands: false,
  text: "",
  textOf: undefined,
  structured: undefined,
  calls: Usage.noCalls,
  results: Usage.none,
  contextTokens: undefined,
  open: [],
  denied: [],
  work: Work.none,
  compacting: false,
  limit: undefined,
  apiError: undefined,
  terminal: undefined,
  dialogue: ClaudeDialogue.begun(message(request))
})

/** A changed copy. To spread a state of this size takes longer than all else that a record makes of it. */
const updated = (state: State, change: Partial<State>): State =>
  Object.assign<State, Partial<State>>({
    continued: state.continued,
    hasSchema: state.hasSchema,
    session: state.session,
    model: state.model,
    toldCommands: state.toldCommands,
    text: state.text,
    textOf: state.textOf,
    structured: state.structured,
    calls: state.calls,
    results: state.results,
    contextTokens: state.contextTokens,
    open: state.open,
    denied: state.denied,
    work: state.work,
    compacting: state.compacting,
    limit: state.limit,
    apiError: state.apiError,
    terminal: state.terminal,
    dialogue: state.dialogue
  }, change)

const unknown = (type: string, raw: unknown): Event => ({ _tag: "Unknown", type, raw })

const typed = (record: Record_, outer: string): string => {
  const inner = Json.string(record["subtype"]) ?? Json.string(record["type"])
  return inner === undefined || inner === outer ? outer : `${outer}/${inner}`
}

const parentOf = (record: Record_): string | undefined => Json.string(record["parent_tool_use_id"])

// ---------------------------------------------------------------------------------------------------------------------
// system
// ---------------------------------------------------------------------------------------------------------------------

const init = (state: State, record: Record_): Step => {
  const session = Json.string(record["session_id"]) ?? state.session
  const model = Json.string(record["model"]) ?? state.model
  const commands = Json.strings(record["slash_commands"])
  const skills = Json.strings(record["skills"])
  const tells = !state.toldCommands && commands.length + skills.length > 0
  const events: Array<Event> = [
    session === undefined
      ? unknown("system/init", record)
      : Json.compact({ _tag: "Started" as const, session, model })
  ]
  if (tells) events.push({ _tag: "Commands", commands, skills })
  return {
    // A turn that begins after a result takes back that the work was over.
    state: { ...state, session, model, terminal: undefined, toldCommands: state.toldCommands || tells },
    events
  }
}

const status = (state: State, record: Record_): Step => {
  const result = Json.string(record["compact_result"])
  if (record["status"] === "compacting") {
    return { state: { ...state, compacting: true }, events: [{ _tag: "Compaction", phase: "started" }] }
  }
  if (state.compacting || result !== undefined) {
    const ok = result === undefined ? Json.string(record["compact_error"]) === undefined : result === "success"
    return { state: { ...state, compacting: false }, events: [{ _tag: "Compaction", phase: "finished", ok }] }
  }
  return { state, events: [unknown("system/status", record)] }
}

const permissionDenied = (state: State, record: Record_): Step => {
  const id = Json.string(record["tool_use_id"])
  return {
    state: {
      ...state,
      open: ToolCalls.closed(state.open, id),
      denied: id === undefined ? state.denied : [...state.denied.slice(-99), id]
    },
    events: [Json.compact({
      _tag: "ToolResult" as const,
      id,
      ok: false,
      denied: true,
      output: Json.string(record["message"]) ?? Json.string(record["decision_reason"]) ?? null,
      parent: parentOf(record)
    })]
  }
}

const system = (state: State, record: Record_): Step => {
  switch (record["subtype"]) {
    case "init":
      return init(state, record)
    case "status":
      return status(state, record)
    case "compact_boundary":
      return { state: { ...state, compacting: false }, events: [{ _tag: "Compaction", phase: "finished", ok: true }] }
    case "permission_denied":
      return permissionDenied(state, record)
    case "api_retry":
      return {
        state,
        events: [Json.compact({
          _tag: "Retry" as const,
          reason: Json.string(record["error"]) ?? "unknown",
          attempt: Json.number(record["attempt"]),
          maxAttempts: Json.number(record["max_retries"]),
          delayMs: Json.number(record["retry_delay_ms"]),
          status: Json.number(record["error_status"])
        })]
      }
    case "task_started":
    case "task_notification": {
      const step = Work.task(state.work, record, parentOf(record))
      if (step !== undefined) return { state: { ...state, work: step.work }, events: step.events }
    }
  }
  return { state, events: [unknown(typed(record, "system"), record)] }
}

// ---------------------------------------------------------------------------------------------------------------------
// messages
// ---------------------------------------------------------------------------------------------------------------------

const callOf = (state: State, parent: string | undefined, id: string | undefined): Usage.Call => {
  const newest = Usage.newestOf(state.calls, parent)
  return newest !== undefined && (id === undefined || newest.id === id) ? newest : Usage.begun(id ?? "")
}

/** Sub-agents speak to the main agent: their words are not the answer. */
const said = (state: State, parent: string | undefined, id: string, text: string): State =>
  parent !== undefined
    ? state
    : updated(state, { text: state.textOf === id ? state.text + text : text, textOf: id })

const delta = (state: State, record: Record_, event: Record_, parent: string | undefined): Step => {
  const piece = Json.record(event["delta"])
  const call = callOf(state, parent, undefined)
  const text = Json.string(piece["text"])
  const thinking = Json.string(piece["thinking"])
  if (piece["type"] === "text_delta" && text !== undefined) {
    const next = said(state, parent, call.id, text)
    return {
      state: call.saidText
        ? next
        : updated(next, { calls: Usage.withCall(state.calls, parent, { ...call, streamed: true, saidText: true }) }),
      events: [parent === undefined ? { _tag: "Text", text } : { _tag: "Text", text, parent }]
    }
  }
  if (piece["type"] === "thinking_delta" && thinking !== undefined) {
    return {
      state: call.saidThinking
        ? state
        : { ...state, calls: Usage.withCall(state.calls, parent, { ...call, streamed: true, saidThinking: true }) },
      events: [
        parent === undefined ? { _tag: "Thinking", text: thinking } : { _tag: "Thinking", text: thinking, parent }
      ]
    }
  }
  return { state, events: [unknown(typed(piece, "stream_event/content_block_delta"), record)] }
}

const streamEvent = (state: State, record: Record_): Step => {
  const event = Json.record(record["event"])
  const parent = parentOf(record)
  switch (event["type"]) {
    case "content_block_delta":
      return delta(state, record, event, parent)
    case "message_start": {
      const message = Json.record(event["message"])
      const usage = Usage.promptTokens(Json.record(message["usage"]))
      const call = callOf(state, parent, Json.string(message["id"]) ?? Json.string(record["api_message_id"]))
      const calls = Usage.withCall(state.calls, parent, { ...call, usage: { ...call.usage, ...usage }, streamed: true })
      return {
        state: {
          ...state,
          calls,
          contextTokens: parent === undefined ? Usage.context(usage) ?? state.contextTokens : state.contextTokens
        },
        events: [unknown("stream_event/message_start", record)]
      }
    }
    case "message_delta": {
      if (!Json.isRecord(event["usage"])) return { state, events: [unknown("stream_event/message_delta", record)] }
      const call = callOf(state, parent, undefined)
      const usage = { ...call.usage, ...Usage.tokens(event["usage"]) }
      return {
        state: { ...state, calls: Usage.withCall(state.calls, parent, { ...call, usage, streamed: true }) },
        events: [Json.compact({ _tag: "Usage" as const, usage, parent })]
      }
    }
    default:
      return { state, events: [unknown(typed(event, "stream_event"), record)] }
  }
}

const noIds: ReadonlySet<unknown> = new Set()

/** The calls that a record tells were rejected: gathered once for all of its results. */
const rejectedIn = (record: Record_): ReadonlySet<unknown> => {
  const metas = Json.list(record["tool_result_meta"])
  return metas.length === 0 ? noIds : new Set(
    metas.map(Json.record)
      .filter((meta) => Json.record(meta["permission_decision"])["decision"] === "reject")
      .map((meta) => meta["id"])
  )
}

const resultBlock = (
  state: State,
  block: Record_,
  rejected: ReadonlySet<unknown>,
  parent: string | undefined,
  told: Record_ = {}
): Step => {
  const id = Json.string(block["tool_use_id"])
  const output = Json.content(block["content"])
  if (id !== undefined && state.denied.includes(id)) {
    return {
      state: { ...state, denied: state.denied.filter((denied) => denied !== id) },
      // Told already, as a result that was denied.
      events: [unknown("user/tool_result", block)]
    }
  }
  const ok = block["is_error"] !== true
  const { events, work } = Work.returned(state.work, id, { ok, parent, told }, output)
  return {
    state: updated(state, { work, open: ToolCalls.closed(state.open, id) }),
    events: [
      Json.compact({
        _tag: "ToolResult" as const,
        id,
        ok,
        denied: rejected.has(id) ? true : undefined,
        output,
        parent
      }),
      ...events
    ]
  }
}

const isToolUse = (type: unknown): boolean =>
  type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use"

const assistantBlock = (
  state: State,
  block: Record_,
  rejected: ReadonlySet<unknown>,
  id: string,
  parent: string | undefined
): Step => {
  const call = callOf(state, parent, id)
  const text = Json.string(block["text"])
  const thinking = Json.string(block["thinking"])
  const type = Json.string(block["type"])
  if (type === "text" && text !== undefined) {
    const message: Event = Json.compact({ _tag: "Message" as const, text, id: id === "" ? undefined : id, parent })
    return call.saidText
      ? { state, events: [message] }
      : {
        state: said(state, parent, id, text),
        events: [parent === undefined ? { _tag: "Text", text } : { _tag: "Text", text, parent }, message]
      }
  }
  if (type === "thinking" && thinking !== undefined && !call.saidThinking) {
    return { state, events: [Json.compact({ _tag: "Thinking" as const, text: thinking, parent })] }
  }
  if (isToolUse(type)) {
    const tool = Json.string(block["id"])
    const name = Json.string(block["name"]) ?? "unknown"
    return {
      state: updated(state, {
        open: ToolCalls.opened(state.open, tool, name),
        work: Work.called(state.work, tool, name, block["input"])
      }),
      events: [Json.compact({ _tag: "ToolCall" as const, id: tool, name, input: block["input"] ?? null, parent })]
    }
  }
  return type?.endsWith("tool_result") === true
    ? resultBlock(state, block, rejected, parent)
    : { state, events: [unknown(typed(block, "assistant"), block)] }
}

const assistant = (state: State, record: Record_): Step => {
  const message = Json.record(record["message"])
  const parent = parentOf(record)
  const blocks = Json.list(message["content"]).map(Json.record)
  const error = Json.string(record["error"])
  if (record["is_api_error_message"] === true || message["model"] === "<synthetic>" || error !== undefined) {
    // The CLI speaks in the model's place: that is news about the run, not a part of the answer.
    const text = blocks.map((block) => Json.string(block["text"]) ?? "").join("\n")
    return {
      state: { ...state, apiError: error ?? state.apiError },
      events: [{ _tag: "Notice", level: error === undefined ? "info" : "error", text }]
    }
  }
  const id = Json.string(message["id"]) ?? Json.string(record["uuid"]) ?? ""
  const known = Usage.newestOf(state.calls, parent)?.id === id
  const call = callOf(state, parent, id)
  const told = Usage.promptTokens(Json.record(message["usage"]))
  const usage = { ...call.usage, ...told }
  const context = parent === undefined ? Usage.context(told) : undefined
  const rejected = rejectedIn(record)
  const events: Array<Event> = []
  let next = updated(state, {
    apiError: undefined,
    calls: call.streamed ? state.calls : Usage.withCall(state.calls, parent, { ...call, usage }),
    contextTokens: context ?? state.contextTokens
  })
  for (const block of blocks) {
    const step = assistantBlock(next, block, rejected, id, parent)
    next = step.state
    events.push(...step.events)
  }
  if (!known && Object.keys(told).length > 0) events.push(Json.compact({ _tag: "Usage" as const, usage, parent }))
  return { state: next, events: events.length > 0 ? events : [unknown("assistant", record)] }
}

const user = (state: State, record: Record_): Step => {
  const parent = parentOf(record)
  const rejected = rejectedIn(record)
  const events: Array<Event> = []
  let next = state
  const blocks = Json.list(Json.record(record["message"])["content"]).map(Json.record)
  // Told of the one result that a record holds.
  const told = blocks.length === 1 ? Json.record(record["tool_use_result"]) : undefined
  for (const block of blocks) {
    const step: Step = block["type"] === "tool_result"
      ? resultBlock(next, block, rejected, parent, told)
      : { state: next, events: [unknown(typed(block, "user"), block)] }
    next = step.state
    events.push(...step.events)
  }
  if (record["isReplay"] === true) {
    const step = within(next, ClaudeDialogue.taken(next.dialogue, Json.string(record["uuid"])))
    return { ...step, events: [unknown("user/replay", record)] }
  }
  return { state: next, events: events.length > 0 ? events : [unknown("user", record)] }
}

// ---------------------------------------------------------------------------------------------------------------------
// account and end
// ---------------------------------------------------------------------------------------------------------------------

const rateLimit = (state: State, record: Record_): Step => {
  const info = Json.isRecord(record["rate_limit_info"]) ? record["rate_limit_info"] : record
  const limit: ClaudeFailure.Limit = {
    status: Json.string(info["status"]) ?? "unknown",
    resetsAt: ClaudeFailure.milliseconds(Json.number(info["resetsAt"]))
  }
  return {
    state: { ...state, limit },
    events: [Json.compact({
      _tag: "RateLimit" as const,
      ...limit,
      window: Json.string(info["rateLimitType"]),
      overageStatus: Json.string(info["overageStatus"]),
      isUsingOverage: Json.boolean(info["isUsingOverage"])
    })]
  }
}

const result = (state: State, record: Record_): Step => {
  const structured = record["structured_output"]
  const terminal = ClaudeFailure.terminal(record, {
    apiError: state.apiError,
    limit: state.limit,
    continued: state.continued,
    lacksValue: state.hasSchema && structured === undefined
  })
  const text = terminal.failure === undefined ? Json.string(record["result"]) : undefined
  const lost = terminal.failure?.kind === "session-not-found"
  return {
    state: {
      ...state,
      // There, the id is that of the conversation that does not exist, or of nothing at all.
      session: lost ? undefined : Json.string(record["session_id"]) ?? state.session,
      text: text ?? state.text,
      textOf: undefined,
      structured: structured ?? state.structured,
      calls: Usage.withoutMain(state.calls),
      results: Usage.afterResult(state.results, state.calls, record, state),
      // A message that waits for its turn begins another.
      terminal: ClaudeDialogue.isOver(state.dialogue) ? terminal : undefined,
      dialogue: { ...state.dialogue, questions: new Map() }
    },
    events: [{ _tag: "Finished", ok: terminal.failure === undefined, stop: terminal.stop }],
    withdrawn: [...state.dialogue.questions.keys()]
  }
}

/** A step of the dialogue, in which nothing else of the state moves. */
const within = (state: State, step: AgentDriver.Step<ClaudeDialogue.Dialogue>): Step => ({
  ...step,
  state: { ...state, dialogue: step.state }
})

const tell = (state: State, input: AgentDriver.Input): Step => {
  const step = within(state, ClaudeDialogue.said(state.dialogue, input))
  return input._tag !== "Turn" ? step : {
    ...step,
    state: {
      ...step.state,
      // From here on the counters of the conversation are not those of the turn.
      continued: true,
      text: "",
      textOf: undefined,
      structured: undefined,
      calls: Usage.noCalls,
      results: Usage.none,
      open: [],
      denied: [],
      apiError: undefined,
      terminal: undefined
    }
  }
}

const dispatch = (state: State, record: Record_): Step => {
  switch (record["type"]) {
    case "stream_event":
      return streamEvent(state, record)
    case "assistant":
      return assistant(state, record)
    case "user":
      return user(state, record)
    case "system":
      return system(state, record)
    case "result":
      return result(state, record)
    case "rate_limit_event":
      return rateLimit(state, record)
    case "control_request":
    case "control_response":
    case "control_cancel_request":
      return within(state, ClaudeDialogue.heard(state.dialogue, record, (agent) => Work.callOf(state.work, agent)))
    default:
      return { state, events: [unknown(typed(record, Json.string(record["type"]) ?? "unknown"), record)] }
  }
}

/** Absent where there are none. */
const subAgents = (usage: AgentOutcome.Usage): Pick<AgentDriver.Progress, "subAgents"> =>
  Object.keys(usage).length === 0 ? {} : { subAgents: usage }

export const protocol: AgentDriver.Protocol<State> = {
  initial,
  step: (state, record) => {
    const session = Json.string(record["session_id"])
    return dispatch(
      session === undefined || session === state.session || record["type"] === "result" ? state : { ...state, session },
      record
    )
  },
  tell,
  progress: (state) => ({
    session: state.session,
    text: state.text,
    structured: state.structured,
    usage: Json.compact({
      ...AgentOutcome.addUsage(state.results, Usage.sum(state.calls)),
      contextTokens: state.contextTokens
    }),
    ...subAgents(Usage.sumOfSubAgents(state.calls)),
    openToolCalls: state.open,
    terminal: state.terminal
  }),
  diagnose: (_, ending) => Failure.fromOutput(ending, ClaudeFailure.wordings)
}
