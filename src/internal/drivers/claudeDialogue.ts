/** The other direction of Claude Code's stream-json: messages, questions and their answers, interrupts. As of 2.1.332. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as Approval from "../../Approval.js"
import * as Begun from "./begun.js"
import { text } from "./claudePlan.js"
import * as Json from "./json.js"

type Record_ = AgentDriver.JsonRecord
type Step = AgentDriver.Step<Dialogue>

/** A question that waits for its answer. */
interface Open {
  readonly input: Record_
  /** The rules that the CLI would keep, if it need not ask for the like again. */
  readonly suggestions: ReadonlyArray<unknown>
}

export interface Dialogue {
  readonly prompt: string
  readonly questions: ReadonlyMap<string, Open>
  /** Messages that the CLI has not shown to have taken. */
  readonly untaken: ReadonlyArray<string>
}

export const begun = (prompt: string): Dialogue => ({ prompt, questions: new Map(), untaken: [] })

export const isOver = ({ untaken }: Dialogue): boolean => untaken.length === 0

const initialize = "initialize"

const message = (content: string, uuid?: string): Record_ => ({
  type: "user",
  message: { role: "user", content },
  parent_tool_use_id: null,
  ...(uuid === undefined ? {} : { uuid })
})

const request = (id: string, subtype: string): Record_ => ({
  type: "control_request",
  request_id: id,
  request: { subtype }
})

const response = (id: string, response: Record_): Record_ => ({
  type: "control_response",
  response: { subtype: "success", request_id: id, response }
})

const answer = (state: Dialogue, id: string, decision: Approval.Decision): Step => {
  const question = state.questions.get(id)
  if (question === undefined) return { state, events: [] }
  return {
    state: { ...state, questions: Begun.without(state.questions, id) },
    events: [],
    replies: [
      response(
        id,
        decision._tag === "Deny"
          ? { behavior: "deny", message: decision.reason ?? "The user does not allow it" }
          : {
            behavior: "allow",
            updatedInput: decision.input ?? question.input,
            ...(decision.remember === true && question.suggestions.length > 0
              ? { updatedPermissions: question.suggestions }
              : {})
          }
      )
    ]
  }
}

/** What the caller says. */
export const said = (state: Dialogue, input: AgentDriver.Input): Step => {
  switch (input._tag) {
    case "Begin":
      return {
        state,
        events: [],
        replies: [request(initialize, initialize), message(state.prompt)],
        expects: [{ id: initialize, what: "the opening of the dialogue" }]
      }
    case "Message":
      return {
        state: { ...state, untaken: [...state.untaken, input.id] },
        events: [],
        replies: [message(text(input.text), input.id)]
      }
    case "Answer":
      return answer(state, input.question, input.decision)
    case "Interrupt":
      return { state, events: [], replies: [request(input.id, "interrupt")] }
    case "Turn":
      return { state, events: [], replies: [message(text(input.prompt))] }
    case "Close":
      return { state, events: [], closes: true }
  }
}

/** The tool call that a sub-agent comes from. */
type CallOf = (agent: string) => string

const unknown = (type: string, raw: Record_): AgentEvent.Unstamped => ({ _tag: "Unknown", type, raw })

const asked = (state: Dialogue, id: string, record: Record_, callOf: CallOf): Step => {
  const request = Json.record(record["request"])
  if (request["subtype"] !== "can_use_tool") {
    // Never left hanging: whatever a later version asks, it hears that nobody knows.
    return {
      state,
      events: [unknown(`control_request/${Json.string(request["subtype"]) ?? "unknown"}`, record)],
      replies: [{
        type: "control_response",
        response: { subtype: "error", request_id: id, error: "This client does not know the request" }
      }]
    }
  }
  const input = Json.record(request["input"])
  const agent = Json.string(request["agent_id"])
  const question = Json.compact({
    id,
    agent: "claude",
    tool: Json.string(request["tool_name"]) ?? "unknown",
    input,
    call: Json.string(request["tool_use_id"]),
    reason: Json.string(request["decision_reason"]),
    parent: agent === undefined ? undefined : callOf(agent)
  })
  const { agent: _, ...event } = question
  return {
    state: {
      ...state,
      questions: new Map(state.questions).set(id, { input, suggestions: Json.list(request["permission_suggestions"]) })
    },
    events: [{ _tag: "ApprovalRequested", ...event }],
    asks: [Approval.Question.make(question)]
  }
}

const answered = (state: Dialogue, record: Record_): Step => {
  const response = Json.record(record["response"])
  const id = Json.string(response["request_id"])
  const events = [unknown(`control_response/${Json.string(response["subtype"]) ?? "unknown"}`, record)]
  if (id === undefined) return { state, events }
  return response["subtype"] === "error"
    ? { state, events, settled: [{ id, refused: Json.string(response["error"]) ?? "it was refused" }] }
    : { state, events, settled: [{ id }] }
}

/** A control record of the CLI. */
export const heard = (state: Dialogue, record: Record_, callOf: CallOf): Step => {
  const id = Json.string(record["request_id"])
  if (record["type"] === "control_response") return answered(state, record)
  if (id === undefined) return { state, events: [unknown("control_request", record)] }
  return record["type"] === "control_request" ? asked(state, id, record, callOf) : {
    state: { ...state, questions: Begun.without(state.questions, id) },
    events: [unknown("control_cancel_request", record)],
    withdrawn: [id]
  }
}

/** The CLI shows a message that it has taken. */
export const taken = (state: Dialogue, id: string | undefined): Step =>
  id === undefined || !state.untaken.includes(id)
    ? { state, events: [] }
    : { state: { ...state, untaken: state.untaken.filter((other) => other !== id) }, events: [], settled: [{ id }] }
