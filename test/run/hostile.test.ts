/**
 * Records that are right in form and made to take long: a driver that reads them holds up the whole host.
 */
import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Claude from "effect-agents/Claude"
import * as Copilot from "effect-agents/Copilot"
import * as Request from "../utils/Request.js"

const context: AgentDriver.PlanContext = { uuid: "u", cwd: "/", platform: "linux" }

const read = <S>(driver: AgentDriver.AgentDriver<S>, records: ReadonlyArray<AgentDriver.JsonRecord>) => {
  const { protocol } = driver
  const events = []
  let state = protocol.initial(Request.make({ prompt: "x" }), context)
  const began = performance.now()
  for (const record of records) {
    const step = protocol.step(state, record)
    state = step.state
    protocol.progress(state)
    events.push(...step.events)
  }
  // What took the square of its length took ten seconds and more.
  assert.isBelow(performance.now() - began, 4000)
  return { events, progress: protocol.progress(state) }
}

const numbered = <A>(count: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => make(index))

describe("hostile records", () => {
  it("a message of Copilot's that repeats itself", () => {
    const message = "Last error: ".repeat(25_000)
    const { progress } = read(Copilot.driver, [
      { type: "session.error", data: { errorType: "query", message: `${message}unexpected EOF` } },
      { type: "session.error", data: { errorType: "query", message } },
      { type: "result", exitCode: 1 }
    ])
    assert.strictEqual(progress.terminal?.failure?.kind, "turn-failed")
  })

  it("a time after which to try again that is nothing but digits", () => {
    const { progress } = read(Copilot.driver, [
      {
        type: "session.error",
        data: { errorType: "query", statusCode: 429, message: `try again in ${"1".repeat(60_000)} z` }
      },
      { type: "result", exitCode: 1 }
    ])
    assert.strictEqual(progress.terminal?.failure?.kind, "rate-limited")
  })

  it("a turn of Claude Code with thousands of sub-agents, whose use is still added up", () => {
    const count = 4_000
    const { progress } = read(
      Claude.driver,
      numbered(count, (index) => ({
        type: "assistant",
        parent_tool_use_id: `agent_${index}`,
        message: { id: `message_${index}`, usage: { input_tokens: 2 }, content: [{ type: "text", text: "x" }] }
      }))
    )
    assert.deepStrictEqual([progress.subAgents?.inputTokens, progress.subAgents?.modelCalls], [2 * count, count])
  })

  it("a message of Claude Code with thousands of results", () => {
    const count = 20_000
    const { events } = read(Claude.driver, [{
      type: "user",
      tool_result_meta: numbered(count, (index) => ({
        id: `call_${index}`,
        permission_decision: { decision: index === 7 ? "reject" : "allow" }
      })),
      message: { content: numbered(count, (index) => ({ type: "tool_result", tool_use_id: `call_${index}` })) }
    }])
    assert.deepStrictEqual(
      events.flatMap((event) => event._tag === "ToolResult" && event.denied === true ? [event.id] : []),
      ["call_7"]
    )
  })
})
