/** How GitHub Copilot speaks with `copilot --acp`, as of 1.0.102. */
import type * as Protocol from "@agentclientprotocol/sdk"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as Approval from "../../Approval.js"
import * as Acp from "./acp.js"
import * as Begun from "./begun.js"
import { said } from "./copilotPlan.js"
import * as Exec from "./copilotProtocol.js"
import * as Failure from "./failure.js"
import * as Json from "./json.js"
import * as Plans from "./plans.js"
import * as ToolCalls from "./toolCalls.js"

type Record_ = AgentDriver.JsonRecord
type Step = AgentDriver.Step<State>
type Event = AgentEvent.Unstamped

/**
 * Records of `copilot -p` that it sends on request, under this name, beside those of the protocol. Only they tell a
 * failure from an answer, a word of the CLI from one of the model, and the names of tools. It drops some when the reader
 * is slow, and leaves out what is large, so the text comes from the protocol, and the rest does where they are missing.
 */
const extension = "github.com/copilot"
const notification = `${extension}/sessionEvent`
const events = [
  "abort",
  "assistant.message",
  "assistant.turn_retry",
  "assistant.usage",
  "model.call_failure",
  "session.compaction_complete",
  "session.compaction_start",
  "session.error",
  "session.info",
  "session.skills_loaded",
  "session.warning",
  "subagent.completed",
  "subagent.failed",
  "subagent.started",
  "system.notification",
  "tool.execution_complete",
  "tool.execution_start",
  "user.message"
]

/** What belongs to one turn. */
interface Turn {
  /** The id of the prompt that goes on. */
  readonly prompt: string | undefined
  /** It has not been heard of yet. */
  readonly silent: boolean
  readonly reader: Exec.State
  /** What the model has said since its last complete message. */
  readonly chunk: string
  /** What was told as a notice, and comes as text once more. */
  readonly echoes: ReadonlyArray<string>
  readonly questions: ReadonlyMap<string, Acp.Open>
  /** What the model has to hear, as a refusal ends its turn without a word. */
  readonly refusals: ReadonlyArray<string>
  readonly interrupted: boolean
  /** What the caller asked for and the CLI cannot do: the turn ends for it. */
  readonly unsupported: string | undefined
  readonly terminal: AgentDriver.Terminal | undefined
}

export interface State extends Turn {
  readonly request: AgentDriver.Request
  readonly cwd: string
  readonly session: string | undefined
  /** What is asked before the first prompt, and not answered yet. */
  readonly opening: ReadonlyArray<Acp.Request>
  readonly prompts: number
}

const noTurn = (reader: Exec.State): Turn => ({
  prompt: undefined,
  silent: false,
  reader: { ...reader, announced: true },
  chunk: "",
  echoes: [],
  questions: new Map(),
  refusals: [],
  interrupted: false,
  unsupported: undefined,
  terminal: undefined
})

const initial = (request: AgentDriver.Request, context: AgentDriver.PlanContext): State => ({
  ...noTurn(Exec.protocol.initial(request, context)),
  request,
  cwd: context.cwd,
  session: undefined,
  opening: [],
  prompts: 0
})

const unknown = (state: State, type: string, raw: Record_): Step => ({
  state,
  events: [{ _tag: "Unknown", type, raw }]
})

const ask = (state: State, [first, ...rest]: ReadonlyArray<Acp.Request>, events: ReadonlyArray<Event>): Step =>
  first === undefined
    ? say(state, said(state.request), events)
    : {
      state: { ...state, opening: [first, ...rest] },
      events,
      replies: [first.record],
      expects: [{ id: first.id, what: first.what }]
    }

// ---------------------------------------------------------------------------------------------------------------------
// turns
// ---------------------------------------------------------------------------------------------------------------------

const over = (state: State, terminal: AgentDriver.Terminal, events: ReadonlyArray<Event> = []): Step => ({
  state: { ...state, prompt: undefined, questions: new Map(), refusals: [], terminal },
  events: [
    ...events,
    {
      _tag: "Finished",
      ok: terminal.failure === undefined && terminal.stop === "completed",
      stop: terminal.stop
    }
  ],
  withdrawn: [...state.questions.keys()]
})

/** A text that begins with a slash would be taken for a command, which may widen the permission. */
const texts = (text: string): ReadonlyArray<string> => text.trimStart().startsWith("/") ? ["", text] : [text]

const say = (state: State, text: string, events: ReadonlyArray<Event>): Step => {
  const { prompts, session } = state
  if (session === undefined || state.interrupted) return over(state, { stop: "interrupted" }, events)
  const prompt = Acp.prompt(`prompt ${prompts + 1}`, "the beginning of a turn", session, texts(text))
  return {
    state: { ...state, opening: [], prompts: prompts + 1, prompt: prompt.id, silent: true },
    events,
    replies: [prompt.record],
    expects: [{ id: prompt.id, what: prompt.what }]
  }
}

/** What the model has said is complete, where no record says so. */
const flushed = (state: State): Step =>
  state.chunk === ""
    ? { state, events: [] }
    : {
      state: { ...state, chunk: "", reader: { ...state.reader, text: state.chunk } },
      events: [{ _tag: "Message", text: state.chunk }]
    }

const ended = (before: State, result: Record_): Step => {
  const { events, state } = flushed(before)
  const stop = Acp.stopOf(Json.string(result["stopReason"]))
  if (state.unsupported !== undefined) {
    return over(state, { stop: "error", failure: { kind: "unsupported", detail: state.unsupported } }, events)
  }
  if (state.interrupted || stop.stop === "interrupted") return over(state, { stop: "interrupted" }, events)
  if (state.refusals.length > 0 && state.reader.failure === undefined) {
    const next = { ...state, refusals: [], questions: new Map(), reader: { ...state.reader, aborted: undefined } }
    return {
      ...say(next, state.refusals.join("\n"), events),
      withdrawn: [...state.questions.keys()]
    }
  }
  const { structured, terminal } = Exec.over(state.reader, undefined)
  const next = { ...state, reader: { ...state.reader, structured } }
  return over(next, terminal.stop === "completed" ? stop : terminal, events)
}

// ---------------------------------------------------------------------------------------------------------------------
// what the caller says
// ---------------------------------------------------------------------------------------------------------------------

const cancelling = (state: State): Pick<Step, "replies" | "withdrawn"> => ({
  replies: [
    ...(state.session === undefined || state.prompt === undefined ? [] : [Acp.cancel(state.session)]),
    ...Array.from(state.questions.values(), Acp.cancelled)
  ],
  withdrawn: [...state.questions.keys()]
})

const answer = (state: State, id: string, decision: Approval.Decision): Step => {
  const question = state.questions.get(id)
  if (question === undefined) return { state, events: [] }
  const next = { ...state, questions: Begun.without(state.questions, id) }
  if (decision._tag === "Allow" && decision.input !== undefined) {
    const { replies = [], withdrawn } = cancelling(next)
    return {
      state: { ...next, questions: new Map(), unsupported: "an approval with another input" },
      events: [],
      replies: [Acp.decided(question, { _tag: "Deny" }), ...replies],
      withdrawn
    }
  }
  const replies = [Acp.decided(question, decision)]
  if (decision._tag === "Allow") return { state: next, events: [], replies }
  const why = decision.reason === undefined ? "" : `: ${decision.reason}`
  const refusal = `The call of ${question.tool} is not allowed${why}. Go on without it.`
  return { state: { ...next, refusals: [...state.refusals, refusal] }, events: [], replies }
}

const tell = (state: State, input: AgentDriver.Input): Step => {
  switch (input._tag) {
    case "Begin":
      return ask(state, [Acp.initialize({ [extension]: { events } })], [])
    case "Message":
      return {
        state,
        events: [],
        settled: [{
          id: input.id,
          unsupported: "a message into a turn that goes on",
          refused: "It would end the turn: send it as the next turn of a conversation."
        }]
      }
    case "Interrupt":
      return {
        state: { ...state, questions: new Map(), interrupted: true },
        events: [],
        ...cancelling(state),
        settled: [{ id: input.id }]
      }
    case "Answer":
      return answer(state, input.question, input.decision)
    case "Turn": {
      const { request, cwd, session } = state
      const reader = Exec.protocol.initial(request, { uuid: "", cwd, platform: "" })
      const { outputSchema } = request
      // What was left running may yet end.
      const { shells } = state.reader
      const text = said({ prompt: input.prompt, outputSchema })
      return say({ ...state, ...noTurn({ ...reader, session, shells }) }, text, [])
    }
    case "Close":
      return { state, events: [], closes: true }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// answers
// ---------------------------------------------------------------------------------------------------------------------

const modes = "https://agentclientprotocol.com/protocol/session-modes#"

/** A conversation that is continued comes with the mode and the permission that it had: those of the request hold. */
const posture = (
  { addDirs, permission, session }: AgentDriver.Request,
  id: string
): ReadonlyArray<Acp.Request> => [
  ...(permission === "Plan" || session._tag !== "New"
    ? [Acp.setMode(id, `${modes}${permission === "Plan" ? "plan" : "agent"}`)]
    : []),
  ...(session._tag === "New" ? [] : [Acp.setOption(id, "allow_all", permission === "Bypass" ? "on" : "off")]),
  // Its flag for them, and the protocol's field, are without consequence there; a command of its own is not.
  ...addDirs.map((directory) => Acp.prompt(`directory ${directory}`, "a directory", id, [`/add-dir ${directory}`]))
]

const codes: ReadonlyMap<number, AgentDriver.Failure["kind"]> = new Map([
  [-32000, "not-authenticated"],
  [-32002, "session-not-found"]
])

const failed = (error: Record_): AgentDriver.Failure => {
  const failure = Failure.fromMessage(Json.string(error["message"]) ?? "it was refused")
  return { ...failure, kind: codes.get(Json.number(error["code"]) ?? 0) ?? failure.kind }
}

const opened = (state: State, id: string, result: Record_, record: Record_): Step => {
  const rest = state.opening.slice(1)
  const { session: asked } = state.request
  const heard: Event = { _tag: "Unknown", type: `response/${id}`, raw: record }
  if (id === "initialize") {
    const { agentCapabilities, protocolVersion } = result
    const lacks = protocolVersion !== 1
      ? `version 1 of the Agent Client Protocol: it speaks ${String(protocolVersion)}`
      : asked._tag !== "New" && Json.record(agentCapabilities)["loadSession"] !== true
      ? "continuing a session in a dialogue"
      : undefined
    if (lacks !== undefined) {
      return { ...over(state, { stop: "error", failure: { kind: "unsupported", detail: lacks } }), closes: true }
    }
    return ask(
      state,
      [asked._tag === "New" ? Acp.newSession(state.cwd) : Acp.loadSession(asked.id, state.cwd)],
      [heard]
    )
  }
  if (id !== "session/new" && id !== "session/load") return ask(state, rest, [heard])
  const session = asked._tag === "New" ? Json.string(result["sessionId"]) : asked.id
  if (session === undefined) {
    const failure = { kind: "turn-failed", detail: "it named no session" } as const
    return { ...over(state, { stop: "error", failure }), closes: true }
  }
  return ask({ ...state, session, reader: { ...state.reader, session } }, posture(state.request, session), [{
    _tag: "Started",
    session
  }])
}

const response = (state: State, record: Record_): Step => {
  const id = Json.string(record["id"])
  const error = Json.isRecord(record["error"]) ? record["error"] : undefined
  const result = Json.record(record["result"])
  if (id !== undefined && id === state.prompt) {
    const step = error === undefined ? ended(state, result) : over(state, { stop: "error", failure: failed(error) })
    return { ...step, settled: [{ id }] }
  }
  // What is answered twice, or was never asked.
  if (id === undefined || id !== state.opening[0]?.id) return unknown(state, "response", record)
  const step = error === undefined
    ? opened(state, id, result, record)
    // Without a conversation nothing more can come of the process, nor with one under another permission.
    : { ...over({ ...state, opening: [] }, { stop: "error", failure: failed(error) }), closes: true }
  return { ...step, settled: [{ id }] }
}

// ---------------------------------------------------------------------------------------------------------------------
// what the CLI asks
// ---------------------------------------------------------------------------------------------------------------------

const request = (state: State, method: string, record: Record_): Step => {
  const wire = record["id"]
  const params = Json.record(record["params"])
  const id = String(wire)
  const asks = method === "session/request_permission" && !state.questions.has(id)
  if (!asks || state.interrupted) {
    return { ...unknown(state, method, record), replies: [Acp.refusal(wire)] }
  }
  const toolCall = Json.record(params["toolCall"])
  const call = Json.string(toolCall["toolCallId"])
  const tool = state.reader.open.find((open) => open.id === call)?.name ?? Json.string(toolCall["kind"]) ?? "unknown"
  const question = Approval.Question.make(Json.compact({
    id,
    agent: "copilot",
    tool,
    input: toolCall["rawInput"] ?? null,
    call,
    reason: Json.string(toolCall["title"])
  }))
  const { agent: _, ...event } = question
  return {
    state: { ...state, questions: new Map(state.questions).set(id, Acp.open(wire, tool, params["options"])) },
    events: [{ _tag: "ApprovalRequested", ...event }],
    asks: [question]
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// what it tells
// ---------------------------------------------------------------------------------------------------------------------

const levels: Readonly<Record<string, string>> = {
  "session.info": "Info",
  "session.warning": "Warning",
  "session.error": "Error"
}

const echoesKept = 16

/** A record of `copilot -p`. */
const event = (state: State, params: Record_, record: Record_): Step => {
  const type = Json.string(params["type"]) ?? "unknown"
  const data = Json.record(params["data"])
  const level = levels[type]
  if (state.prompt === undefined && level === undefined) return unknown(state, type, record)
  // One that was too large comes without what it is about: the protocol says that too.
  if (type.startsWith("tool.") && data["toolCallId"] === undefined) return unknown(state, type, record)
  const isMessage = type === "assistant.message"
  const isOurs = isMessage && params["agentId"] === undefined && data["parentToolCallId"] === undefined
  const reader = isOurs
    ? { ...state.reader, streamed: state.chunk !== "", draftOf: Json.string(data["messageId"]) }
    : state.reader
  const whole = isOurs && data["content"] === undefined ? { ...data, content: state.chunk } : data
  const step = Exec.protocol.step(
    reader,
    Json.compact({ type, data: whole, agentId: params["agentId"] })
  )
  return {
    state: {
      ...state,
      reader: step.state,
      chunk: isMessage || type === "assistant.turn_retry" ? "" : state.chunk,
      echoes: level === undefined
        ? state.echoes
        : [...state.echoes.slice(1 - echoesKept), `${level}: ${Json.string(data["message"]) ?? ""}`]
    },
    events: step.events
  }
}

const tool = (state: State, update: Record_, record: Record_): Step => {
  const id = Json.string(update["toolCallId"])
  const { reader } = state
  const status = Json.string(update["status"])
  const isOpen = ToolCalls.has(reader.open, id)
  if (update["sessionUpdate"] === "tool_call") {
    if (id === undefined || isOpen) return { state, events: [] }
    const name = Json.string(update["kind"]) ?? "unknown"
    const { events, state: next } = flushed(state)
    return {
      state: { ...next, reader: { ...next.reader, open: ToolCalls.opened(reader.open, id, name) } },
      events: [...events, { _tag: "ToolCall", id, name, input: update["rawInput"] ?? null }]
    }
  }
  if (status !== "completed" && status !== "failed") return unknown(state, "tool_call_update", record)
  if (id === undefined || !isOpen) return { state, events: [] }
  const output = Json.record(update["rawOutput"])
  return {
    state: { ...state, reader: { ...reader, open: ToolCalls.closed(reader.open, id) } },
    events: [{
      _tag: "ToolResult",
      id,
      ok: status === "completed",
      output: Json.string(output["message"]) ?? output["content"] ?? update["rawOutput"] ?? null
    }]
  }
}

const updated = (state: State, update: Record_, record: Record_): Step => {
  const kind = Json.string(update["sessionUpdate"])
  const text = Json.string(Json.record(update["content"])["text"])
  // What was said before the prompt is the conversation so far, told once more.
  if (state.prompt === undefined) return unknown(state, kind ?? "session/update", record)
  switch (kind as Protocol.SessionUpdate["sessionUpdate"] | undefined) {
    case "agent_message_chunk": {
      if (text === undefined) return unknown(state, "agent_message_chunk", record)
      return state.echoes.includes(text)
        ? { state: { ...state, echoes: state.echoes.filter((echo) => echo !== text) }, events: [] }
        : { state: { ...state, chunk: state.chunk + text }, events: [{ _tag: "Text", text }] }
    }
    case "agent_thought_chunk":
      return text === undefined
        ? unknown(state, "agent_thought_chunk", record)
        : { state, events: [{ _tag: "Thinking", text }] }
    case "tool_call":
    case "tool_call_update":
      return tool(state, update, record)
    case "plan": {
      const steps = Json.list(update["entries"]).map(Json.record).map(({ content, status }) => ({
        text: Json.string(content) ?? "",
        status: Plans.status(status)
      }))
      return { state, events: [{ _tag: "Plan", steps }] }
    }
    case "usage_update": {
      const usage = Json.compact({
        contextTokens: Json.number(update["used"]),
        contextWindow: Json.number(update["size"])
      })
      return {
        state: { ...state, reader: { ...state.reader, usage: { ...state.reader.usage, ...usage } } },
        events: [{ _tag: "Usage", usage }]
      }
    }
    default:
      return unknown(state, kind ?? "session/update", record)
  }
}

const notified = (state: State, method: string, record: Record_): Step => {
  const params = Json.record(record["params"])
  if (params["sessionId"] !== state.session) return unknown(state, method, record)
  const step = method === notification
    ? event(state, params, record)
    : method === "session/update"
    ? updated(state, Json.record(params["update"]), record)
    : unknown(state, method, record)
  const { prompt } = step.state
  return state.silent && prompt !== undefined
    ? { ...step, state: { ...step.state, silent: false }, settled: [{ id: prompt }] }
    : step
}

const step = (state: State, record: Record_): Step => {
  const method = Json.string(record["method"])
  if (method === undefined) {
    return record["id"] === undefined ? unknown(state, "unknown", record) : response(state, record)
  }
  return record["id"] === undefined ? notified(state, method, record) : request(state, method, record)
}

export const protocol = {
  initial,
  step,
  tell,
  progress: ({ chunk, reader, session, terminal }) => ({
    session,
    text: chunk === "" ? reader.text : chunk,
    structured: reader.structured,
    usage: reader.usage,
    ...(reader.subAgents === undefined ? {} : { subAgents: reader.subAgents }),
    openToolCalls: reader.open,
    terminal
  }),
  diagnose: (state, ending) => Exec.protocol.diagnose({ ...state.reader, aborted: undefined }, ending)
} satisfies AgentDriver.Protocol<State>
