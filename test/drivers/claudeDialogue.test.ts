/** What is said to Claude Code, and what it asks, record by record. */
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Approval from "effect-agents/Approval"
import * as Claude from "effect-agents/Claude"
import { ask, context, words } from "./replay.js"

const { plan, protocol } = Claude.driver

const tell = protocol.tell ?? (() => assert.fail("no dialogue"))

const begun = protocol.initial(ask(), context)

const question = (id: string): AgentDriver.JsonRecord => ({
  type: "control_request",
  request_id: id,
  request: {
    subtype: "can_use_tool",
    tool_name: "Bash",
    input: { command: "rm -r build" },
    permission_suggestions: [{ type: "addRules" }],
    decision_reason: "it removes files",
    tool_use_id: "toolu_1"
  }
})

const result: AgentDriver.JsonRecord = {
  type: "result",
  subtype: "success",
  is_error: false,
  result: "done",
  usage: {}
}

const decided = (decision: Approval.Decision) => {
  const { state } = protocol.step(begun, question("q"))
  const { replies } = tell(state, { _tag: "Answer", question: "q", decision })
  return replies?.map(({ response }) => response)
}

const planned = (dialogue: AgentDriver.PlanContext["dialogue"], fields: Parameters<typeof ask>[0] = {}) =>
  Either.getOrThrow(plan(ask(fields), { ...context, dialogue }))

describe("the dialogue of Claude Code", () => {
  it("begins with its opening, which must be answered, and the prompt", () => {
    const step = tell(begun, { _tag: "Begin" })
    assert.deepStrictEqual(step.replies?.map(({ type }) => type), ["control_request", "user"])
    const [expected] = step.expects ?? []
    const opened = protocol.step(step.state, {
      type: "control_response",
      response: { subtype: "success", request_id: expected?.id, response: {} }
    })
    assert.deepStrictEqual(opened.settled, [{ id: expected?.id ?? "" }])
  })

  it("what is said begins no command", () => {
    const said = (input: Parameters<typeof tell>[1]) => tell(begun, input).replies?.map(({ message }) => message)
    assert.deepStrictEqual(said({ _tag: "Turn", prompt: "/compact" }), [{ role: "user", content: " /compact" }])
    assert.deepStrictEqual(said({ _tag: "Message", id: "m", text: "/compact" }), [{
      role: "user",
      content: " /compact"
    }])
  })

  it("tells the call whose sub-agent asks, as its events do", () => {
    const [subtype, task_type] = ["task_started", "local_agent"]
    const { state } = protocol.step(begun, {
      type: "system",
      subtype,
      task_type,
      task_id: "a1",
      tool_use_id: "toolu_0"
    })
    const { request, ...record } = question("q")
    const parents = ["a1", "a2", undefined].map((agent_id) => {
      const { asks, events } = protocol.step(state, { ...record, request: { ...Object(request), agent_id } })
      const [event] = events
      assert.strictEqual(event?._tag === "ApprovalRequested" ? event.parent : "", asks?.[0]?.parent)
      return asks?.[0]?.parent
    })
    assert.deepStrictEqual(parents, ["toolu_0", "a2", undefined])
  })

  it("hands a question on as it was asked", () => {
    const step = protocol.step(begun, question("q"))
    assert.deepStrictEqual(step.asks, [
      Approval.Question.make({
        id: "q",
        agent: "claude",
        tool: "Bash",
        input: { command: "rm -r build" },
        call: "toolu_1",
        reason: "it removes files"
      })
    ])
    assert.deepStrictEqual(step.events.map(({ _tag }) => _tag), ["ApprovalRequested"])
  })

  it("answers in its words", () => {
    const success = (response: object) => [{ subtype: "success", request_id: "q", response }]
    const input = { command: "rm -r build" }
    assert.deepStrictEqual(decided(Approval.allow()), success({ behavior: "allow", updatedInput: input }))
    assert.deepStrictEqual(
      decided(Approval.allow({ input: { command: "ls" } })),
      success({ behavior: "allow", updatedInput: { command: "ls" } })
    )
    assert.deepStrictEqual(
      decided(Approval.allowForSession),
      success({ behavior: "allow", updatedInput: input, updatedPermissions: [{ type: "addRules" }] })
    )
    assert.deepStrictEqual(decided(Approval.deny("no")), success({ behavior: "deny", message: "no" }))
  })

  it("a question that was withdrawn is not answered any more", () => {
    const asked = protocol.step(begun, question("q"))
    const cancelled = protocol.step(asked.state, { type: "control_cancel_request", request_id: "q" })
    assert.deepStrictEqual(cancelled.withdrawn, ["q"])
    assert.isUndefined(
      tell(cancelled.state, { _tag: "Answer", question: "q", decision: Approval.allow() }).replies
    )
  })

  it("what it asks and nobody knows is refused, not left hanging", () => {
    const step = protocol.step(begun, {
      type: "control_request",
      request_id: "new",
      request: { subtype: "hook_callback" }
    })
    assert.deepStrictEqual(step.replies?.map(({ response }) => Object(response).subtype), ["error"])
    assert.isUndefined(step.asks)
  })

  it("a message is settled by its replay, and a result before it is not the end", () => {
    const sent = tell(begun, { _tag: "Message", id: "m", text: "and mind the gap" })
    assert.deepStrictEqual(sent.replies?.map(({ uuid }) => uuid), ["m"])
    const early = protocol.step(sent.state, result)
    assert.isUndefined(protocol.progress(early.state).terminal)
    const taken = protocol.step(early.state, { type: "user", uuid: "m", isReplay: true, message: { content: "" } })
    assert.deepStrictEqual(taken.settled, [{ id: "m" }])
    assert.strictEqual(protocol.progress(protocol.step(taken.state, result).state).terminal?.stop, "completed")
  })

  it("another turn begins with nothing of the last one", () => {
    const over = protocol.step(begun, { ...result, usage: { output_tokens: 7 }, total_cost_usd: 1 })
    assert.strictEqual(protocol.progress(over.state).usage.outputTokens, 7)
    const next = tell(over.state, { _tag: "Turn", prompt: "go on" })
    const progress = protocol.progress(next.state)
    assert.deepStrictEqual([progress.text, progress.terminal, progress.usage.outputTokens], ["", undefined, undefined])
    const second = protocol.step(next.state, {
      ...result,
      total_cost_usd: 3,
      model_usage_since_last_result: { m: { costUSD: 2 } }
    })
    assert.strictEqual(protocol.progress(second.state).usage.costUsd, 2, "the cost of a turn is its own")
  })

  it("is planned for when it is asked for, and approvals leave the permission as it is", () => {
    assert.isUndefined(planned(undefined).dialogue)
    assert.includeMembers([...words(planned(undefined))], ["--input-format", "text"])
    const open = planned({ approvals: false, keep: true }, { permission: "Edit" })
    assert.isTrue(open.dialogue)
    assert.includeMembers([...words(open)], ["stream-json", "acceptEdits", "--replay-user-messages"])
    assert.notInclude(words(open), "--permission-prompt-tool")
    const asking = words(planned({ approvals: true, keep: false }, { permission: "Edit" }))
    assert.includeMembers([...asking], ["--permission-prompt-tool", "acceptEdits"])
    const reading = words(planned({ approvals: true, keep: false }))
    assert.includeMembers([...reading], ["--permission-prompt-tool", "default", "--strict-mcp-config"])
    assert.notInclude(reading.join(" "), "--tools=")
  })
})
