/** How Codex speaks with `codex exec --json`, as of 0.171.0. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as AgentOutcome from "../../AgentOutcome.js"
import * as Begun from "./begun.js"
import * as Answer from "./answer.js"
import * as CodexFailure from "./codexFailure.js"
import * as Items from "./codexItems.js"
import * as Failure from "./failure.js"
import * as Json from "./json.js"
import * as StrictSchema from "./strictSchema.js"
import type * as ToolCalls from "./toolCalls.js"

type Record_ = AgentDriver.JsonRecord
type Step = AgentDriver.Step<State>
type Event = AgentEvent.Unstamped

export interface State {
  readonly continued: boolean
  readonly schema: AgentDriver.JsonRecord | undefined
  readonly session: string | undefined
  readonly text: string
  readonly structured: unknown
  readonly usage: AgentOutcome.Usage
  readonly open: ToolCalls.Open
  readonly subs: Items.Subs
  /** What the CLI complained of last; the cause, when it gives up without saying more. */
  readonly complaint: string | undefined
  readonly terminal: AgentDriver.Terminal | undefined
}

const initial = (request: Parameters<AgentDriver.Protocol<State>["initial"]>[0]): State => ({
  continued: request.session._tag !== "New",
  schema: request.outputSchema,
  session: undefined,
  text: "",
  structured: undefined,
  usage: {},
  open: [],
  subs: new Map(),
  complaint: undefined,
  terminal: undefined
})

/** A changed copy. To spread a state of this size takes longer than all else that a record makes of it. */
const updated = (state: State, change: Partial<State>): State =>
  Object.assign<State, Partial<State>>({
    continued: state.continued,
    schema: state.schema,
    session: state.session,
    text: state.text,
    structured: state.structured,
    usage: state.usage,
    open: state.open,
    subs: state.subs,
    complaint: state.complaint,
    terminal: state.terminal
  }, change)

const unknown = (state: State, type: string, raw: Record_): Step => ({
  state,
  events: [{ _tag: "Unknown", type, raw }]
})

// ---------------------------------------------------------------------------------------------------------------------
// items
// ---------------------------------------------------------------------------------------------------------------------

const toolItem = (state: State, phase: string, type: string, item: Record_, record: Record_): Step => {
  const { events, open } = Items.step(state.open, phase, type, item)
  if (events.length === 0) return unknown(state, `item.${phase}/${type}`, record)
  if (phase !== "completed" || type !== "collab_tool_call") return { state: updated(state, { open }), events }
  let { subs } = state
  const call = Json.string(item["id"])
  for (const id of Items.spawned(type, item)) {
    subs = Begun.kept(subs, id, call)
    events.push(Items.subAgent("started", id, call))
  }
  for (const [id, ok] of Items.ended(item).filter(([id]) => subs.has(id))) {
    events.push(Items.subAgent("finished", id, subs.get(id), ok))
    subs = Begun.without(subs, id)
  }
  return { state: { ...state, open, subs }, events }
}

const item = (state: State, phase: string, record: Record_): Step => {
  const found = Json.record(record["item"])
  const type = Json.string(found["type"]) ?? "unknown"
  const text = Json.string(found["text"])
  if (phase === "completed") {
    if (type === "agent_message" && text !== undefined) {
      return {
        state: updated(state, { text }),
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

/** What the CLI complains of, and how it is told; if it leaves instead of another attempt, this was why. */
export const complaintOf = (message: string, code?: number): { readonly complaint: string; readonly event: Event } => {
  const found = reconnecting.exec(message)
  if (found === null) {
    return { complaint: message, event: { _tag: "Notice", level: "error", text: Failure.unwrap(message).message } }
  }
  const [, attempt, of, why] = found
  const { message: reason, status } = Failure.unwrap(why ?? message)
  return {
    complaint: why ?? message,
    event: Json.compact({
      _tag: "Retry" as const,
      reason,
      attempt: attempt === undefined ? undefined : Number(attempt),
      maxAttempts: of === undefined ? undefined : Number(of),
      status: code ?? status
    })
  }
}

/** The wire's input tokens include those that a cache served. */
export const usageOf = (usage: Record_): AgentOutcome.Usage => {
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

/** The value that a schema asks for, and what its absence means. */
export const valueOf = ({ schema, text }: Pick<State, "schema" | "text">) => {
  const value = Answer.valueOf(schema, text)
  return schema === undefined || StrictSchema.strict(schema) === undefined
    ? value
    : { ...value, structured: StrictSchema.loosen(schema, value.structured) }
}

const completed = (state: State, record: Record_): Step => {
  // Here the figures are those of the whole conversation; what this run had of them is not told.
  const usage = state.continued ? {} : usageOf(Json.record(record["usage"]))
  const { failure, structured } = valueOf(state)
  const stop = failure === undefined ? "completed" as const : "error" as const
  return {
    state: {
      ...state,
      usage: { ...state.usage, ...usage },
      structured,
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
      if (message === undefined) return unknown(state, type, record)
      const { complaint, event } = complaintOf(message)
      return { state: { ...state, complaint }, events: [event] }
    }
    default:
      return unknown(state, type, record)
  }
}

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
      ? CodexFailure.printed(ending)
      : Failure.fromMessage(state.complaint)
}
