/** How Codex speaks with `codex app-server`, as of 0.171.0: JSON-RPC without its version, one record a line. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as AgentOutcome from "../../AgentOutcome.js"
import type * as Approval from "../../Approval.js"
import * as Begun from "./begun.js"
import * as CodexFailure from "./codexFailure.js"
import * as Items from "./codexItems.js"
import { said } from "./codexPlan.js"
import { complaintOf, usageOf, valueOf } from "./codexProtocol.js"
import * as Questions from "./codexQuestions.js"
import * as ServerPlan from "./codexServerPlan.js"
import * as Json from "./json.js"
import type * as ToolCalls from "./toolCalls.js"

type Record_ = AgentDriver.JsonRecord
type Step = AgentDriver.Step<State>
type Event = AgentEvent.Unstamped

/** What belongs to one turn. */
interface Turn {
  /** Known once it goes on; only then does the CLI take messages and interrupts. */
  readonly turn: string | undefined
  readonly early: ReadonlyArray<AgentDriver.Input>
  readonly text: string
  /** The items whose newest piece was told as it came. */
  readonly textOf: string | undefined
  readonly thinkingOf: string | undefined
  readonly structured: unknown
  readonly usage: AgentOutcome.Usage
  readonly subAgents: AgentOutcome.Usage | undefined
  readonly open: ToolCalls.Open
  /** What the edits that have begun would change: the questions about them do not say it. */
  readonly changes: ReadonlyMap<string, unknown>
  readonly questions: ReadonlyMap<string, Questions.Open>
  readonly complaint: string | undefined
  /** What the caller asked for and the CLI cannot do: the turn ends for it. */
  readonly unsupported: string | undefined
  readonly terminal: AgentDriver.Terminal | undefined
}

export interface State extends Turn {
  readonly opening: ServerPlan.Opening
  readonly schema: AgentDriver.JsonRecord | undefined
  readonly session: string | undefined
  /** Of each whole conversation: what is told twice has the same. */
  readonly totals: ReadonlyMap<string, number>
  /** The conversations of sub-agents, with the calls that they come from. */
  readonly subs: Items.Subs
}

const noTurn: Turn = {
  turn: undefined,
  early: [],
  text: "",
  textOf: undefined,
  thinkingOf: undefined,
  structured: undefined,
  usage: {},
  subAgents: undefined,
  open: [],
  changes: new Map(),
  questions: new Map(),
  complaint: undefined,
  unsupported: undefined,
  terminal: undefined
}

const initial: AgentDriver.Protocol<State>["initial"] = (request, context) => ({
  ...noTurn,
  opening: ServerPlan.opening(request, context, said(request, true)),
  schema: request.outputSchema,
  session: undefined,
  totals: new Map(),
  subs: new Map()
})

const unknown = (state: State, type: string, raw: Record_): Step => ({
  state,
  events: [{ _tag: "Unknown", type, raw }]
})

const snake = (record: Record_): Record_ =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [snakeWord(key), value])
  )

const snakeWord = (word: string): string => word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

// ---------------------------------------------------------------------------------------------------------------------
// what the caller says
// ---------------------------------------------------------------------------------------------------------------------

/** Our requests bear the name of what they are for. The CLI numbers its own: an id says nothing without its direction. */
const initialize = "initialize"
const thread = "thread"
const turnStart = "turn"
const answerOf = "answer to "

const startTurn = (state: State, params: Record_): Record_ => ({
  id: turnStart,
  method: "turn/start",
  params: { threadId: state.session, ...params }
})

const steer = (
  { session, turn }: Pick<State, "session" | "turn">,
  id: string,
  text: string
): Record_ => ({
  id,
  method: "turn/steer",
  params: { threadId: session, expectedTurnId: turn, input: [ServerPlan.text(text)] }
})

const interrupt = (state: State, id: string): Record_ => ({
  id,
  method: "turn/interrupt",
  params: { threadId: state.session, turnId: state.turn }
})

const answer = (state: State, id: string, decision: Approval.Decision): Step => {
  const question = state.questions.get(id)
  if (question === undefined) return { state, events: [] }
  const next = { ...state, questions: Begun.without(state.questions, id) }
  const ours = `${answerOf}${id}`
  const reply = (decision: Approval.Decision): Record_ => ({ id: question.wire, result: question.answer(decision) })
  if (decision._tag === "Allow" && decision.input !== undefined) {
    return {
      state: { ...next, unsupported: "an approval with another input" },
      events: [],
      replies: [reply({ _tag: "Deny" }), interrupt(state, ours)],
      expects: [{ id: ours, what: "an interrupt" }]
    }
  }
  const { thread: session, turn } = question
  if (decision._tag === "Allow" || decision.reason === undefined || turn === undefined) {
    return { state: next, events: [], replies: [reply(decision)] }
  }
  return {
    state: next,
    events: [],
    // A refusal takes no words, so they are said before it: the model hears both at once.
    replies: [steer({ session, turn }, ours, `This is not allowed: ${decision.reason}`), reply(decision)],
    expects: [{ id: ours, what: "the reason of a refusal" }]
  }
}

const tell = (state: State, input: AgentDriver.Input): Step => {
  switch (input._tag) {
    case "Begin":
      return {
        state,
        events: [],
        replies: [{ id: initialize, method: initialize, params: state.opening.initialize }],
        expects: [{ id: initialize, what: "the opening of the dialogue" }]
      }
    case "Message":
    case "Interrupt":
      if (state.turn === undefined) return { state: { ...state, early: [...state.early, input] }, events: [] }
      return {
        state,
        events: [],
        replies: [input._tag === "Message" ? steer(state, input.id, input.text) : interrupt(state, input.id)]
      }
    case "Answer":
      return answer(state, input.question, input.decision)
    case "Turn":
      return {
        state: { ...state, ...noTurn },
        events: [],
        replies: [
          startTurn(state, {
            ...state.opening.turn,
            input: [ServerPlan.text(ServerPlan.asked(input.prompt, state.schema))]
          })
        ],
        expects: [{ id: turnStart, what: "the beginning of a turn" }]
      }
    case "Close":
      return { state, events: [], closes: true }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// answers
// ---------------------------------------------------------------------------------------------------------------------

const over = (state: State, terminal: AgentDriver.Terminal): Step => {
  const ids = state.early.flatMap((input) => "id" in input ? [input.id] : [])
  return {
    state: { ...state, early: [], questions: new Map(), terminal },
    events: [{
      _tag: "Finished",
      ok: terminal.failure === undefined && terminal.stop === "completed",
      stop: terminal.stop
    }],
    withdrawn: [...state.questions.keys()],
    settled: ids.map((id) => ({ id, refused: "the turn is over" }))
  }
}

const refused = (state: State, id: string, record: Record_): Step => {
  const message = Json.string(Json.record(record["error"])["message"]) ?? "it was refused"
  if (id !== initialize && id !== thread && id !== turnStart) {
    return { ...unknown(state, "response/error", record), settled: [{ id, refused: message }] }
  }
  const step = over(state, { stop: "error", failure: CodexFailure.told(message) })
  // Without a conversation nothing more can come of the process.
  return { ...step, settled: [...step.settled ?? [], { id }], closes: id !== turnStart }
}

const response = (state: State, record: Record_): Step => {
  const id = Json.string(record["id"])
  const result = Json.record(record["result"])
  if (id === undefined) return unknown(state, "response", record)
  if (record["error"] !== undefined) return refused(state, id, record)
  const settled = [{ id }]
  if (id === initialize) {
    const { method, params } = state.opening.thread
    return {
      ...unknown(state, "response/initialize", record),
      settled,
      replies: [{ method: "initialized" }, { id: thread, method, params }],
      expects: [{ id: thread, what: "the opening of the conversation" }]
    }
  }
  if (id === thread) {
    const session = Json.string(Json.record(result["thread"])["id"])
    if (session === undefined) return { ...unknown(state, "response/thread", record), settled }
    const next = { ...state, session }
    return {
      state: next,
      events: [Json.compact({ _tag: "Started" as const, session, model: Json.string(result["model"]) })],
      settled,
      replies: [startTurn(next, state.opening.turn)],
      expects: [{ id: turnStart, what: "the beginning of a turn" }]
    }
  }
  return { ...unknown(state, "response", record), settled }
}

// ---------------------------------------------------------------------------------------------------------------------
// what the CLI asks
// ---------------------------------------------------------------------------------------------------------------------

const request = (state: State, method: string, record: Record_): Step => {
  const wire = record["id"]
  const asked = Questions.asked(method, wire, Json.record(record["params"]), state)
  if (asked === undefined) {
    // Never left hanging: whatever a later version asks, it hears that nobody knows.
    return {
      ...unknown(state, method, record),
      replies: [{ id: wire, error: { code: -32601, message: "This client does not support the request" } }]
    }
  }
  const { open, question } = asked
  const { agent: _, ...event } = question
  return {
    state: { ...state, questions: new Map(state.questions).set(question.id, open) },
    events: [{ _tag: "ApprovalRequested", ...event }],
    asks: [question]
  }
}

const resolved = (state: State, method: string, params: Record_, record: Record_): Step => {
  const id = String(params["requestId"])
  const step = unknown({ ...state, questions: Begun.without(state.questions, id) }, method, record)
  return state.questions.has(id) ? { ...step, withdrawn: [id] } : step
}

// ---------------------------------------------------------------------------------------------------------------------
// items
// ---------------------------------------------------------------------------------------------------------------------

const delta = (state: State, method: string, params: Record_, record: Record_): Step => {
  const text = Json.string(params["delta"])
  const id = Json.string(params["itemId"])
  if (text === undefined || id === undefined) return unknown(state, method, record)
  return method === "item/agentMessage/delta"
    ? {
      state: { ...state, text: state.textOf === id ? state.text + text : text, textOf: id },
      events: [{ _tag: "Text", text }]
    }
    : { state: { ...state, thinkingOf: id }, events: [{ _tag: "Thinking", text }] }
}

const message = (state: State, id: string | undefined, text: string): Step => ({
  state: { ...state, text, textOf: undefined },
  events: [
    ...(state.textOf !== undefined && state.textOf === id ? [] : [{ _tag: "Text", text } as const]),
    Json.compact({ _tag: "Message" as const, text, id })
  ]
})

const reasoning = (item: Record_): string =>
  [...Json.strings(item["summary"]), ...Json.strings(item["content"])].join("\n\n")

const item = (state: State, phase: string, params: Record_, record: Record_): Step => {
  const found = Json.record(params["item"])
  const id = Json.string(found["id"])
  const type = Json.string(found["type"]) ?? "unknown"
  const text = Json.string(found["text"])
  if (type === "contextCompaction") {
    return {
      state,
      events: [
        phase === "started"
          ? { _tag: "Compaction", phase: "started" }
          : { _tag: "Compaction", phase: "finished", ok: true }
      ]
    }
  }
  if (phase === "completed" && type === "agentMessage" && text !== undefined) return message(state, id, text)
  if (phase === "completed" && type === "reasoning" && state.thinkingOf !== id) {
    const text = reasoning(found)
    if (text !== "") return { state, events: [{ _tag: "Thinking", text }] }
  }
  const { events, open } = Items.step(state.open, phase, snakeWord(type), snake(found))
  if (events.length === 0) return unknown(withSubs(state, type, found), `item/${phase}/${type}`, record)
  const changes = id === undefined || type !== "fileChange"
    ? state.changes
    : phase === "started"
    ? new Map(state.changes).set(id, found["changes"])
    : Begun.without(state.changes, id)
  // Of an edit that is forgotten to be at work nothing is kept.
  const [oldest] = changes.keys()
  const kept = changes.size > open.length ? Begun.without(changes, oldest) : changes
  return { state: { ...withSubs(state, type, found), open, changes: kept }, events }
}

/** A call may begin sub-agents; that they work is told by their own turns. */
const withSubs = (state: State, type: string, item: Record_, call = Json.string(item["id"])): State => {
  const thread = Json.string(item["agentThreadId"])
  const begun = type === "collabAgentToolCall" && item["tool"] === "spawnAgent"
    ? Json.strings(item["receiverThreadIds"])
    : type === "subAgentActivity" && item["kind"] === "started" && thread !== undefined
    ? [thread]
    : []
  return begun.length === 0
    ? state
    : { ...state, subs: begun.reduce((subs, id) => subs.has(id) ? subs : Begun.kept(subs, id, call), state.subs) }
}

/** What a sub-agent says and does: never the answer, and its end is not the end. */
const ofSub = (state: State, thread: string, method: string, params: Record_, record: Record_): Step => {
  const parent = state.subs.get(thread)
  const item = Json.record(params["item"])
  const type = Json.string(item["type"]) ?? "unknown"
  const text = Json.string(item["text"]) ?? Json.string(params["delta"])
  switch (method) {
    case "turn/started":
      return { state, events: [Items.subAgent("started", thread, parent)] }
    case "turn/completed":
      return {
        state,
        events: [Items.subAgent("finished", thread, parent, Json.record(params["turn"])["status"] === "completed")]
      }
    case "thread/tokenUsage/updated":
      return usage(state, method, params, record)
    case "item/agentMessage/delta":
      return text === undefined
        ? unknown(state, method, record)
        : { state, events: [Json.compact({ _tag: "Text" as const, text, parent })] }
    case "item/started":
    case "item/completed": {
      const phase = method.slice(5)
      if (phase === "completed" && type === "agentMessage" && text !== undefined) {
        const id = Json.string(item["id"])
        return { state, events: [Json.compact({ _tag: "Message" as const, text, id, parent })] }
      }
      const { events, open } = Items.step(state.open, phase, snakeWord(type), snake(item), parent)
      const next = withSubs(state, type, item, parent)
      return events.length === 0
        ? unknown(next, `item/${phase}/${type}`, record)
        : { state: { ...next, open }, events }
    }
    default:
      return unknown(state, method, record)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// turns
// ---------------------------------------------------------------------------------------------------------------------

const turnStarted = (state: State, method: string, params: Record_, record: Record_): Step => {
  const turn = Json.string(Json.record(params["turn"])["id"])
  const next: State = { ...state, turn, early: [], terminal: undefined }
  const replies = state.early.flatMap((input) => tell(next, input).replies ?? [])
  const step = unknown(next, method, record)
  return replies.length === 0 ? step : { ...step, replies }
}

const turnCompleted = (state: State, params: Record_): Step => {
  const { error, status } = Json.record(params["turn"])
  if (state.unsupported !== undefined) {
    return over(state, { stop: "error", failure: { kind: "unsupported", detail: state.unsupported } })
  }
  if (status === "interrupted") return over(state, { stop: "interrupted" })
  if (status !== "completed") {
    const { codexErrorInfo, message } = Json.record(error)
    return over(state, {
      stop: "error",
      failure: CodexFailure.told(Json.string(message) ?? state.complaint ?? "the turn failed", codexErrorInfo)
    })
  }
  const { failure, structured } = valueOf(state)
  return over(
    { ...state, structured, complaint: undefined },
    failure === undefined ? { stop: "completed" } : { stop: "error", failure }
  )
}

const usage = (state: State, method: string, params: Record_, record: Record_): Step => {
  const told = Json.record(params["tokenUsage"])
  const thread = Json.string(params["threadId"]) ?? ""
  const isSub = state.subs.has(thread)
  const total = Json.number(Json.record(told["total"])["totalTokens"])
  if (total !== undefined && total === state.totals.get(thread)) return unknown(state, method, record)
  const last = Json.record(told["last"])
  const call = Json.compact({
    ...usageOf(snake(last)),
    contextTokens: Json.number(last["inputTokens"]),
    contextWindow: Json.number(told["modelContextWindow"])
  })
  const next = total === undefined ? state : { ...state, totals: Begun.kept(state.totals, thread, total) }
  return {
    state: isSub
      ? { ...next, subAgents: AgentOutcome.addUsage(state.subAgents ?? {}, call) }
      : { ...next, usage: AgentOutcome.addUsage(state.usage, call) },
    events: [Json.compact({ _tag: "Usage" as const, usage: call, parent: state.subs.get(thread) })]
  }
}

const complained = (state: State, method: string, params: Record_, record: Record_): Step => {
  const { codexErrorInfo, message: text } = Json.record(params["error"])
  const message = Json.string(text)
  if (message === undefined) return unknown(state, method, record)
  const { status } = CodexFailure.told(message, codexErrorInfo)
  const { complaint, event } = complaintOf(message, status)
  const retry: Event = event._tag === "Notice" && params["willRetry"] === true
    ? Json.compact({ _tag: "Retry" as const, reason: event.text, status })
    : event
  return { state: { ...state, complaint }, events: [retry] }
}

const notice = (state: State, method: string, params: Record_, record: Record_): Step => {
  const text = Json.string(params["message"]) ?? Json.string(params["summary"])
  return text === undefined
    ? unknown(state, method, record)
    : { state, events: [{ _tag: "Notice", level: "warning", text }] }
}

const notification = (state: State, method: string, record: Record_): Step => {
  const params = Json.record(record["params"])
  if (method === "serverRequest/resolved") return resolved(state, method, params, record)
  const thread = Json.string(params["threadId"])
  const turn = Json.string(params["turnId"])
  // Sub-agents have threads of their own.
  if (thread !== undefined && state.subs.has(thread)) return ofSub(state, thread, method, params, record)
  if (thread !== undefined && thread !== state.session) return unknown(state, method, record)
  // What a turn that was interrupted still has to say belongs to none that follows.
  if (turn !== undefined && turn !== state.turn && method !== "error") return unknown(state, method, record)
  switch (method) {
    case "turn/started":
      return turnStarted(state, method, params, record)
    case "turn/completed":
      // One that failed before it went on was never told to have begun.
      return state.turn === undefined || Json.record(params["turn"])["id"] === state.turn
        ? turnCompleted(state, params)
        : unknown(state, method, record)
    case "item/started":
    case "item/completed":
      return item(
        state.complaint === undefined ? state : { ...state, complaint: undefined },
        method.slice(5),
        params,
        record
      )
    case "item/agentMessage/delta":
    case "item/reasoning/summaryTextDelta":
    case "item/reasoning/textDelta":
      return delta(state, method, params, record)
    case "thread/tokenUsage/updated":
      return usage(state, method, params, record)
    case "turn/plan/updated":
      return { state, events: [Items.planned(params)] }
    case "error":
      return complained(state, method, params, record)
    case "warning":
    case "configWarning":
    case "guardianWarning":
    case "deprecationNotice":
      return notice(state, method, params, record)
    default:
      return unknown(state, method, record)
  }
}

const step = (state: State, record: Record_): Step => {
  const method = Json.string(record["method"])
  if (method === undefined) {
    return record["id"] === undefined ? unknown(state, "unknown", record) : response(state, record)
  }
  return record["id"] === undefined ? notification(state, method, record) : request(state, method, record)
}

export const protocol = {
  initial,
  step,
  tell,
  progress: (state) => ({
    session: state.session,
    text: state.text,
    structured: state.structured,
    usage: state.usage,
    ...(state.subAgents === undefined ? {} : { subAgents: state.subAgents }),
    openToolCalls: state.open,
    terminal: state.terminal
  }),
  diagnose: (state, ending) =>
    state.complaint === undefined || ending.exit.signal !== null
      ? CodexFailure.printed(ending)
      : CodexFailure.told(state.complaint)
} satisfies AgentDriver.Protocol<State>
