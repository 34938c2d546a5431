/** The dialogue with Copilot: record by record, and with a fake of it that misbehaves. */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as AgentRequest from "effect-agents/AgentRequest"
import type * as AgentRun from "effect-agents/AgentRun"
import * as Approval from "effect-agents/Approval"
import * as Copilot from "effect-agents/Copilot"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Session from "effect-agents/Session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { fileURLToPath } from "node:url"
import { ask, context, only, words } from "./replay.js"

const { plan, protocol } = Copilot.driver
const tell = protocol.tell ?? (() => assert.fail("no dialogue"))
const speaking = (approvals = true) => ({ ...context, dialogue: { approvals, keep: false } })

type State = ReturnType<typeof protocol.initial>
type Record_ = AgentDriver.JsonRecord

const hear = (state: State, lines: ReadonlyArray<Record_>) => {
  const steps: Array<AgentDriver.Step<State>> = []
  for (const line of lines) steps.push(protocol.step(steps.at(-1)?.state ?? state, line))
  return { state: steps.at(-1)?.state ?? state, events: steps.flatMap(({ events }) => events), steps }
}

const opening: ReadonlyArray<Record_> = [
  { id: "initialize", result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } },
  { id: "session/new", result: { sessionId: "s" } },
  { id: "session/load", result: {} },
  { id: "session/set_mode", result: {} },
  { id: "session/set_config_option", result: {} }
]

const begun = (request = ask({ permission: "Edit" })) => {
  const first = tell(protocol.initial(request, speaking()), { _tag: "Begin" })
  const { state, steps } = hear(first.state, opening)
  return { state, replies: [first, ...steps].flatMap(({ replies }) => replies ?? []) }
}

const going = begun().state
const update = (update: object, sessionId = "s"): Record_ => ({
  method: "session/update",
  params: { sessionId, update }
})
const raw = (type: string, data: object, more: object = {}): Record_ => ({
  method: "github.com/copilot/sessionEvent",
  params: { sessionId: "s", type, data, ...more }
})
const chunk = (text: string) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } })
const ended = (stopReason = "end_turn", id = "prompt 1") => ({ id, result: { stopReason } })

describe("the dialogue of Copilot", () => {
  it.each(
    [
      ["Edit", Session.fresh(), ["initialize", "session/new", "session/prompt"]],
      ["Plan", Session.fresh(), ["initialize", "session/new", "session/set_mode", "session/prompt"]],
      ["Edit", Session.resume("abc"), [
        "initialize",
        "session/load",
        "session/set_mode",
        "session/set_config_option",
        "session/prompt"
      ]]
    ] as const
  )("opens step by step: %s", (permission, session, methods) => {
    const { replies } = begun(ask({ permission, session }))
    assert.deepStrictEqual(replies.map(({ method }) => method), [...methods])
  })

  it("a conversation is continued under the permission of the request", () => {
    const option = (permission: "Edit" | "Bypass") =>
      begun(ask({ permission, session: Session.resume("abc") })).replies
        .find(({ method }) => method === "session/set_config_option")?.["params"]
    assert.deepStrictEqual(option("Edit"), { sessionId: "abc", configId: "allow_all", value: "off" })
    assert.deepStrictEqual(option("Bypass"), { sessionId: "abc", configId: "allow_all", value: "on" })
  })

  it("a prompt that begins with a slash is no command", () => {
    const { replies } = begun(ask({ prompt: " /allow-all on" }))
    const [first] = Object(replies.at(-1)?.["params"]).prompt
    assert.deepStrictEqual(first, { type: "text", text: "" })
  })

  it("refuses before the start what it cannot take, and names what it takes", () => {
    const planned = (fields: Parameters<typeof ask>[0], approvals = true) =>
      plan(ask({ permission: "Edit", ...fields }), speaking(approvals))
    for (
      const fields of [
        { attachments: [{ path: "a.png" }] },
        { addDirs: ["/other\nname"] },
        { session: Session.fresh("11111111-2222-4333-8444-555555555555") }
      ]
    ) assert.isTrue(Either.isLeft(planned(fields)), JSON.stringify(fields))
    const args = (approvals: boolean) => words(Either.getOrThrow(planned({ permission: "ReadOnly" }, approvals)))
    assert.include(args(true), "--acp")
    assert.notInclude(args(true), "--deny-tool=shell")
    assert.include(args(false), "--deny-tool=shell")
  })

  it("what the CLI says itself is no word of the answer", () => {
    const { events, state } = hear(going, [
      raw("session.warning", { message: "beware" }),
      chunk("Warning: beware"),
      chunk("Hel"),
      chunk("lo"),
      raw("assistant.message", { messageId: "m", content: "Hello" }),
      ended()
    ])
    assert.deepStrictEqual(only(events, "Text").map(({ text }) => text), ["Hel", "lo"])
    assert.deepStrictEqual(only(events, "Message"), [{ _tag: "Message", text: "Hello", id: "m" }])
    assert.strictEqual(protocol.progress(state).text, "Hello")
    assert.deepStrictEqual(protocol.progress(state).terminal, { stop: "completed" })
  })

  it("what its own records leave out is taken from the protocol", () => {
    const { events, state } = hear(going, [
      update({ sessionUpdate: "tool_call", toolCallId: "c", kind: "edit", rawInput: { path: "a" } }),
      raw("tool.execution_complete", {}, { dataOmitted: true }),
      update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "failed", rawOutput: { message: "no" } }),
      chunk("all of it"),
      raw("assistant.message", {}, { dataOmitted: true }),
      ended()
    ])
    assert.deepStrictEqual(only(events, "ToolCall"), [{
      _tag: "ToolCall",
      id: "c",
      name: "edit",
      input: { path: "a" }
    }])
    assert.deepStrictEqual(only(events, "ToolResult"), [{ _tag: "ToolResult", id: "c", ok: false, output: "no" }])
    assert.deepStrictEqual(only(events, "Message").map(({ text }) => text), ["all of it"])
    assert.strictEqual(protocol.progress(state).text, "all of it")
  })

  it("a tool that both tell of is one", () => {
    const { events, state } = hear(going, [
      raw("tool.execution_start", { toolCallId: "c", toolName: "bash", arguments: {} }),
      update({ sessionUpdate: "tool_call", toolCallId: "c", kind: "execute", rawInput: {} }),
      raw("tool.execution_complete", { toolCallId: "c", success: true, result: { content: "x" } }),
      update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", rawOutput: { content: "x" } })
    ])
    assert.deepStrictEqual(only(events, "ToolCall").map(({ name }) => name), ["bash"])
    assert.lengthOf(only(events, "ToolResult"), 1)
    assert.deepStrictEqual(protocol.progress(state).openToolCalls, [])
  })

  it("a failure ends the turn as one, whatever the reason of its end", () => {
    const { state } = hear(going, [
      raw("session.error", { errorType: "rate_limit", message: "slow down", statusCode: 429 }),
      chunk("Error: slow down"),
      ended()
    ])
    assert.strictEqual(protocol.progress(state).terminal?.failure?.kind, "rate-limited")
    assert.strictEqual(protocol.progress(state).text, "")
  })

  it.each([["refusal", "refused"], ["max_turn_requests", "max-turns"], ["cancelled", "interrupted"], [
    "max_tokens",
    "other"
  ]])("%s is %s", (reason, stop) => {
    assert.strictEqual(protocol.progress(hear(going, [ended(reason)]).state).terminal?.stop, stop)
  })

  it("what is told before the prompt is the conversation so far", () => {
    const request = ask({ permission: "Edit", session: Session.resume("abc") })
    const first = tell(protocol.initial(request, speaking()), { _tag: "Begin" })
    const { events, state } = hear(first.state, [
      ...opening.slice(0, 1),
      update({
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text: "old" }
      }, "abc")
    ])
    assert.deepStrictEqual(only(events, "Text"), [])
    assert.strictEqual(protocol.progress(state).text, "")
  })

  it("each request of the opening, and the beginning of a turn, must be answered", () => {
    const first = tell(protocol.initial(ask(), speaking()), { _tag: "Begin" })
    const { steps } = hear(first.state, [...opening.slice(0, 2), raw("user.message", {})])
    const expected = [first, ...steps].flatMap(({ expects }) => expects?.map(({ id }) => id) ?? [])
    assert.deepStrictEqual(expected, ["initialize", "session/new", "prompt 1"])
    assert.deepStrictEqual(steps.flatMap(({ settled }) => settled?.map(({ id }) => id) ?? []), expected)
  })

  it("an interrupt before the prompt is said ends the turn without it", () => {
    const first = tell(protocol.initial(ask(), speaking()), { _tag: "Begin" })
    const { steps } = hear(tell(first.state, { _tag: "Interrupt", id: "i" }).state, opening)
    assert.isFalse(steps.some(({ replies }) => replies?.some(({ method }) => method === "session/prompt")))
    const last = steps.at(-1)?.state ?? first.state
    assert.deepStrictEqual(protocol.progress(last).terminal, { stop: "interrupted" })
  })

  it("a question that is asked twice is one", () => {
    const asking: Record_ = { id: 7, method: "session/request_permission", params: { sessionId: "s", toolCall: {} } }
    const { steps } = hear(going, [asking, asking])
    assert.deepStrictEqual(steps.map(({ asks }) => asks?.length), [1, undefined])
    assert.strictEqual(Object(steps[1]?.replies?.[0]?.["error"]).code, -32601)
  })

  it("a plan and a file that is changed are told", () => {
    const { events } = hear(going, [
      update({
        sessionUpdate: "plan",
        entries: [
          { content: "look", priority: "high", status: "completed" },
          { content: "mend", priority: "high", status: "in_progress" }
        ]
      }),
      raw("tool.execution_complete", {
        toolCallId: "c",
        success: true,
        fileEdits: [{ kind: "create", path: "/project/a" }]
      })
    ])
    assert.deepStrictEqual(only(events, "Plan").map(({ steps }) => steps), [
      [{ text: "look", status: "completed" }, { text: "mend", status: "in-progress" }]
    ])
    assert.deepStrictEqual(only(events, "FileChange").map(({ kind, path }) => [kind, path]), [["add", "/project/a"]])
  })

  it("an interrupt calls off the turn and what is asked in it", () => {
    const asking: Record_ = { id: 7, method: "session/request_permission", params: { sessionId: "s", toolCall: {} } }
    const { replies, settled, state, withdrawn } = tell(hear(going, [asking]).state, { _tag: "Interrupt", id: "i" })
    assert.deepStrictEqual(replies?.map(({ method, result }) => method ?? result), [
      "session/cancel",
      { outcome: { outcome: "cancelled" } }
    ])
    assert.deepStrictEqual([settled, withdrawn], [[{ id: "i" }], ["7"]])
    assert.deepStrictEqual(protocol.progress(hear(state, [ended()]).state).terminal, { stop: "interrupted" })
  })

  it("what comes behind the end of a turn is no word of it", () => {
    const { events, state } = hear(going, [chunk("all"), ended(), chunk("late")])
    assert.deepStrictEqual(only(events, "Text").map(({ text }) => text), ["all"])
    assert.strictEqual(protocol.progress(state).text, "all")
  })

  it("another turn begins with nothing of the last one", () => {
    const over = hear(going, [chunk("first"), raw("assistant.usage", { inputTokens: 5, outputTokens: 2 }), ended()])
    const next = tell(over.state, { _tag: "Turn", prompt: "go on" })
    const progress = protocol.progress(next.state)
    assert.deepStrictEqual([progress.text, progress.terminal, progress.usage, progress.session], [
      "",
      undefined,
      {},
      "s"
    ])
    assert.isUndefined(protocol.progress(hear(next.state, [ended()]).state).terminal, "the end of the last one, again")
  })
})

const fake = Layer.provideMerge(
  Copilot.layer({ program: fileURLToPath(new URL("../fakes/fake-acp", import.meta.url)) }),
  NodeProcessTree.layer
)

const say = (prompt: string, ...extraArgs: ReadonlyArray<string>) =>
  AgentRequest.make({
    prompt,
    permission: "Edit",
    interactive: true,
    env: { FAKE_NODE: process.execPath },
    extraArgs
  })

const run = <E = never, R = never>(request: AgentRequest.AgentRequest, options?: AgentRun.Options<E, R>) =>
  Effect.provide(Agent.run(request, options), fake)

const failing = (request: AgentRequest.AgentRequest, options?: AgentRun.Options) =>
  Effect.map(Effect.flip(run(request, options)), ({ _tag }) => _tag)

const allow: AgentRun.Options = { approve: () => Effect.succeed(Approval.allow()) }

describe("a fake of Copilot that misbehaves", () => {
  it.live("what nobody knows is refused, and the turn goes on", () =>
    Effect.gen(function*() {
      const { text } = yield* run(say("unknown elicit tell end"))
      assert.include(text, "fs/read_text_file -32601")
      assert.include(text, "elicitation/create -32601")
    }))

  it.live("answers go by what the CLI offers; a question may have the number of a request of ours", () =>
    Effect.gen(function*() {
      const answered = (decision: Approval.Decision) =>
        Effect.map(run(say("ask tell end"), { approve: () => Effect.succeed(decision) }), ({ text }) => text)
      assert.include(yield* answered(Approval.allow()), "the allow_once")
      assert.include(yield* answered(Approval.allowForSession), "the allow_always")
      const denied = yield* answered(Approval.deny("not on a full moon"))
      assert.include(denied, "the reject_once")
      assert.include(denied, "not on a full moon")
    }))

  it.live("another input than it asked for ends the run", () =>
    Effect.gen(function*() {
      const input = { command: "ls" }
      const tag = yield* failing(say("ask end"), { approve: () => Effect.succeed(Approval.allow({ input })) })
      assert.strictEqual(tag, "AgentUnsupported")
    }))

  it.live("a question that outlives the turn is withdrawn", () =>
    Effect.gen(function*() {
      const withdrawn = yield* Deferred.make<void>()
      yield* run(say("asksAndEnds end"), {
        approve: () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(withdrawn, void 0))
      })
      yield* Deferred.await(withdrawn)
    }))

  it.live("garbage, answers to nothing, others' words and a second end change nothing", () =>
    Effect.gen(function*() {
      const outcome = yield* run(say("garbage stray others say:hello end twice"))
      assert.strictEqual(outcome.text, "hello")
      assert.strictEqual(outcome.session.id, "fake-session")
      assert.isAbove(outcome.unparsed, 0)
    }))

  it.live("a line of two megabytes is read, one beyond the limit ends the run", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* run(say("huge end"))).text.length, 2 * 1024 * 1024)
      assert.strictEqual(yield* failing(say("endless end"), { maxLineBytes: 4 * 1024 * 1024 }), "AgentLineTooLong")
    }))

  it.live("one that does not answer fails the run in time, at its opening and at a prompt", () =>
    Effect.gen(function*() {
      const options: AgentRun.Options = { replyWithin: "200 millis" }
      assert.strictEqual(yield* failing(say("end", "mute"), options), "AgentUnresponsive")
      assert.strictEqual(yield* failing(say("end", "deaf"), options), "AgentUnresponsive")
    }))

  it.live("one that leaves, that is locked or speaks another version is told of", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* failing(say("say:x die")), "AgentFailed")
      assert.strictEqual(yield* failing(say("end", "locked")), "AgentNotAuthenticated")
      assert.strictEqual(yield* failing(say("end", "v2")), "AgentUnsupported")
    }))

  it.live("an interrupt withdraws what is asked; one that does not follow is ended", () =>
    Effect.scoped(Effect.gen(function*() {
      for (const words of [[], ["stubborn"]]) {
        const asked = yield* Deferred.make<void>()
        const live = yield* Agent.start(say("ask stay", ...words), {
          approve: () => Effect.zipRight(Deferred.succeed(asked, void 0), Effect.never),
          interruptWithin: "500 millis"
        })
        yield* Effect.forkScoped(Effect.ignore(Stream.runDrain(live.events)))
        yield* Deferred.await(asked)
        yield* live.interrupt
        assert.strictEqual((yield* live.outcome).stop, "interrupted")
      }
    })).pipe(Effect.provide(fake)))

  it.live("several turns go through one process", () =>
    Effect.scoped(Effect.gen(function*() {
      const { prompt: _, ...fields } = say("")
      const conversation = yield* Agent.conversation(fields, allow)
      yield* conversation.turn("ask say:one end")
      const { text } = yield* conversation.turn("tell end")
      assert.include(text, "ask say:one end")
    })).pipe(Effect.provide(fake)))
})
