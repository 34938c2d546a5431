/** How a scripted agent speaks: the input goes to it as it is, and its records are events and endings. */
import * as Either from "effect/Either"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as Approval from "../../Approval.js"
import * as Teardown from "../../Teardown.js"

/** What an agent is started with, as its only argument. */
export interface Start {
  readonly prompt: string
  readonly session: string
  readonly forkOf: string | undefined
  readonly dialogue: boolean
}

export type Record =
  | { readonly _tag: "Event"; readonly event: AgentEvent.Unstamped }
  | { readonly _tag: "Session"; readonly id: string }
  | { readonly _tag: "Ask"; readonly id: string; readonly tool: string; readonly input: unknown }
  | { readonly _tag: "Settled"; readonly id: string }
  | {
    readonly _tag: "End"
    readonly terminal: AgentDriver.Terminal
    readonly text?: string | undefined
    readonly structured?: unknown
    readonly usage?: AgentDriver.Progress["usage"] | undefined
  }

type State = AgentDriver.Progress

const begun = (session: string | undefined): State => ({
  session,
  text: "",
  structured: undefined,
  usage: {},
  openToolCalls: [],
  terminal: undefined
})

const heard = (state: State, event: AgentEvent.Unstamped): State => {
  switch (event._tag) {
    case "Text":
      return event.parent === undefined ? { ...state, text: state.text + event.text } : state
    case "Message":
      return event.parent === undefined ? { ...state, text: event.text } : state
    case "Usage":
      return event.parent === undefined ? { ...state, usage: event.usage } : state
    case "ToolCall":
      return {
        ...state,
        openToolCalls: [...state.openToolCalls, {
          name: event.name,
          ...(event.id === undefined ? {} : { id: event.id })
        }]
      }
    case "ToolResult":
      return { ...state, openToolCalls: state.openToolCalls.filter(({ id }) => id !== event.id) }
    default:
      return state
  }
}

const step = (state: State, record: Record): AgentDriver.Step<State> => {
  switch (record._tag) {
    case "Event":
      return { state: heard(state, record.event), events: [record.event] }
    case "Session":
      return { state: { ...state, session: record.id }, events: [{ _tag: "Started", session: record.id }] }
    case "Ask": {
      const { _tag, ...question } = record
      return {
        state,
        events: [{ _tag: "ApprovalRequested", ...question }],
        asks: [Approval.Question.make({ ...question, agent: "scripted" })]
      }
    }
    case "Settled":
      return { state, events: [], settled: [{ id: record.id }] }
    case "End": {
      const { structured = state.structured, terminal, text = state.text, usage = state.usage } = record
      const ok = terminal.failure === undefined && terminal.stop !== "interrupted"
      return {
        state: { ...state, structured, text, usage, terminal, openToolCalls: [] },
        events: [{ _tag: "Finished", ok, stop: terminal.stop }]
      }
    }
  }
}

export const driver: AgentDriver.AgentDriver<State> = {
  name: "scripted",
  executable: {
    names: ["scripted"],
    directories: [],
    native: () => [],
    installHint: "A scripted agent is always there",
    loginHint: "The script says that nobody is logged in"
  },
  environment: [],
  nesting: [],
  teardown: Teardown.immediate,
  plan: ({ prompt, session }, { dialogue, uuid }) => {
    const start: Start = {
      prompt,
      session: session._tag === "Fork" ? uuid : session.id ?? uuid,
      forkOf: session._tag === "Fork" ? session.id : undefined,
      dialogue: dialogue !== undefined
    }
    return Either.right({
      args: [JSON.stringify(start)],
      env: {},
      stdin: undefined,
      files: [],
      dialogue: start.dialogue
    })
  },
  protocol: {
    initial: () => begun(undefined),
    // The records are our own.
    step: (state, record) => step(state, record as unknown as Record),
    tell: (state, input) => ({
      state: input._tag === "Turn" ? begun(state.session) : state,
      events: [],
      replies: [{ ...input }],
      closes: input._tag === "Close"
    }),
    progress: (state) => state,
    diagnose: () => undefined
  }
}
