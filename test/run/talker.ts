/** A driver of the agent in `dialogueAgent.mjs`, with its dialogue and without. */
import * as Agent from "effect-agents/Agent"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Approval from "effect-agents/Approval"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"

interface State extends AgentDriver.Progress {
  readonly prompt: string
}

const driverOf = (script: string): AgentDriver.AgentDriver<State> => ({
  name: "talker",
  executable: { names: ["node"], directories: [], native: () => [], installHint: "", loginHint: "" },
  environment: [],
  nesting: [],
  teardown: Teardown.graceful("500 millis"),
  plan: (request, { dialogue }) =>
    Either.right({
      args: [
        fileURLToPath(new URL(script, import.meta.url)),
        ...(request.session._tag === "Resume" ? ["resume"] : []),
        ...request.extraArgs
      ],
      env: {},
      stdin: `${JSON.stringify({ type: "prompt", text: request.prompt })}\n`,
      files: [],
      dialogue: dialogue !== undefined
    }),
  protocol: {
    initial: ({ prompt }) => ({
      prompt,
      session: undefined,
      text: "",
      structured: undefined,
      usage: {},
      openToolCalls: [],
      terminal: undefined
    }),
    step: (state, record) => {
      const id = String(record["id"])
      switch (record["type"]) {
        case "named":
          return { state: { ...state, session: id }, events: [{ _tag: "Started", session: id }] }
        case "hello":
          return { state, events: [], settled: [{ id: "hello" }] }
        case "ask":
          return {
            state,
            events: [{ _tag: "ApprovalRequested", id, tool: "Bash", input: record["input"] }],
            asks: [Approval.Question.make({ id, agent: "talker", tool: "Bash", input: record["input"] })]
          }
        case "withdraw":
          return { state, events: [], withdrawn: [id] }
        case "taken":
          return { state, events: [], settled: [{ id }] }
        case "call":
          return {
            state: { ...state, openToolCalls: [...state.openToolCalls, { id, name: "Bash" }] },
            events: [{ _tag: "ToolCall", id, name: "Bash", input: null }]
          }
        case "returned":
          return {
            state: { ...state, openToolCalls: state.openToolCalls.filter((call) => call.id !== id) },
            events: [{ _tag: "ToolResult", id, output: null }]
          }
        case "retry":
          return { state, events: [{ _tag: "Retry", reason: "busy" }] }
        case "words":
          return {
            state: { ...state, text: String(record["text"] ?? "") },
            events: [{ _tag: "Message", text: "again" }]
          }
        case "cost":
          return {
            state: {
              ...state,
              usage: "tokens" in record
                ? { outputTokens: Number(record["tokens"]) }
                : { costUsd: Number(record["usd"]) }
            },
            events: []
          }
        case "answer":
          return {
            state: {
              ...state,
              text: String(record["text"]),
              terminal: { stop: record["stop"] === "interrupted" ? "interrupted" : "completed" }
            },
            events: []
          }
        default:
          return { state, events: [{ _tag: "Unknown", type: "other", raw: record }] }
      }
    },
    tell: (state, input) => {
      switch (input._tag) {
        case "Begin":
          return {
            state,
            events: [],
            replies: [{ type: "hello" }, { type: "prompt", text: state.prompt }],
            expects: [{ id: "hello", what: "the greeting" }]
          }
        case "Message":
          return { state, events: [], replies: [{ type: "message", id: input.id, text: input.text }] }
        case "Answer":
          return { state, events: [], replies: [{ type: "answer", ...input }] }
        case "Interrupt":
          return { state, events: [], replies: [{ type: "interrupt", id: input.id }] }
        case "Turn":
          return {
            state: { ...state, terminal: undefined },
            events: [],
            replies: [{ type: "prompt", text: input.prompt }]
          }
        case "Close":
          return { state, events: [], closes: true }
      }
    },
    progress: (state) => state,
    diagnose: () => undefined
  }
})

const driver = driverOf("./dialogueAgent.mjs")

export const talker = Layer.provideMerge(Agent.layer(driver), NodeProcessTree.layer)

/** One that does what its last argument says. */
export const generated = Layer.provideMerge(Agent.layer(driverOf("./generatedAgent.mjs")), NodeProcessTree.layer)

const { tell: _, ...monologue } = driver.protocol

/** The same agent, which only ever hears its prompt. */
export const listener = Layer.provideMerge(
  Agent.layer({ ...driver, protocol: monologue }),
  NodeProcessTree.layer
)
