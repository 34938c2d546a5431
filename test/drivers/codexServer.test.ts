/** What is said to Codex's app-server, and what it says and asks, record by record. */
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import type * as AgentDriver from "effect-agents/AgentDriver"
import type * as AgentEvent from "effect-agents/AgentEvent"
import type * as AgentRequest from "effect-agents/AgentRequest"
import * as Approval from "effect-agents/Approval"
import * as Codex from "effect-agents/Codex"
import * as Session from "effect-agents/Session"
import { ask, context, only, records, words } from "./replay.js"

const { plan, protocol } = Codex.driver

const strict = {
  type: "object",
  properties: { a: { type: "number" } },
  required: ["a"],
  additionalProperties: false
}

const tell = protocol.tell ?? (() => assert.fail("no dialogue"))

const speaking = (approvals = true, keep = false) => ({ ...context, dialogue: { approvals, keep } })

type State = ReturnType<typeof protocol.initial>

interface Heard {
  readonly state: State
  readonly events: ReadonlyArray<AgentEvent.Unstamped>
  readonly steps: ReadonlyArray<AgentDriver.Step<State>>
}

const hear = (state: State, lines: ReadonlyArray<AgentDriver.JsonRecord>): Heard => {
  const steps: Array<AgentDriver.Step<State>> = []
  for (const line of lines) steps.push(protocol.step(steps.at(-1)?.state ?? state, line))
  return { state: steps.at(-1)?.state ?? state, events: steps.flatMap(({ events }) => events), steps }
}

const begin = (request: AgentDriver.Request = ask(), at = speaking()) => protocol.initial(request, at)

const threadId = "t"
const opened = [
  { id: "initialize", result: {} },
  { id: "thread", result: { thread: { id: threadId }, model: "m" } },
  { id: "turn", result: { turn: { id: "1" } } }
]
const note = (method: string, params: object = {}): AgentDriver.JsonRecord => ({
  method,
  params: { threadId, turnId: "1", ...params }
})
const started = (id = "1") => ({ method: "turn/started", params: { threadId, turn: { id } } })
const ended = (turn: object, id = "1") => ({ method: "turn/completed", params: { threadId, turn: { id, ...turn } } })

/** A turn that goes on. */
const going = hear(begin(), [...opened, started()]).state

const question = (id: number | string = 0, method = "item/commandExecution/requestApproval", params: object = {}) => ({
  ...note(method, { itemId: "call_1", reason: "because", command: "rm -r build", cwd: "/project", ...params }),
  id
})

const decided = (decision: Approval.Decision, asking: AgentDriver.JsonRecord = question()) => {
  const { state } = protocol.step(going, asking)
  return tell(state, { _tag: "Answer", question: String(asking["id"]), decision })
}

const paramsOf = (step: AgentDriver.Step<State> | undefined, method: string): AgentDriver.JsonRecord =>
  Object(step?.replies?.find((reply) => reply["method"] === method)?.["params"])

describe("the dialogue of Codex, as captured", () => {
  it("a text", () => {
    const { events, state } = hear(begin(), records("codex-server-text"))
    assert.deepStrictEqual(only(events, "Started"), [
      { _tag: "Started", session: "01a22cce-1c1c-72b3-81a4-a1130404f5b9", model: "fake-model" }
    ])
    assert.deepStrictEqual(only(events, "Thinking").map(({ text }) => text), ["I think."])
    assert.deepStrictEqual(only(events, "Text").map(({ text }) => text), ["Hello fr", "om the f", "ake mode", "l."])
    assert.strictEqual(only(events, "Message").length, 1)
    const progress = protocol.progress(state)
    assert.strictEqual(progress.text, "Hello from the fake model.")
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    // 11 with the 3 that a cache served.
    assert.deepStrictEqual(progress.usage, {
      inputTokens: 8,
      outputTokens: 7,
      cacheReadTokens: 3,
      cacheWriteTokens: 0,
      reasoningTokens: 2,
      contextTokens: 11,
      contextWindow: 258400
    })
  })

  it("a question, and the command after it", () => {
    const { events, state, steps } = hear(begin(), records("codex-server-approval"))
    const command = "/bin/bash -lc 'echo hi > /usr/x-nope && rm /usr/x-nope'"
    assert.deepStrictEqual(steps.flatMap(({ asks }) => asks ?? []), [
      Approval.Question.make({
        id: "0",
        agent: "codex",
        tool: "command_execution",
        input: { command, cwd: "/project" },
        call: "call_1",
        reason: "because"
      })
    ])
    assert.deepStrictEqual(only(events, "ToolCall"), [
      { _tag: "ToolCall", id: "call_1", name: "command_execution", input: { command } }
    ])
    assert.deepStrictEqual(only(events, "ToolResult"), [
      { _tag: "ToolResult", id: "call_1", ok: true, exitCode: 0, output: null }
    ])
    const { openToolCalls, usage } = protocol.progress(state)
    assert.deepStrictEqual(openToolCalls, [])
    assert.strictEqual(usage.outputTokens, 14, "the sum of both calls of the model")
    assert.strictEqual(usage.contextTokens, 11, "the last one")
  })
})

describe("the dialogue of Codex", () => {
  it("opens step by step, and each step must be answered", () => {
    const first = tell(begin(), { _tag: "Begin" })
    assert.deepStrictEqual(first.replies?.map(({ method }) => method), ["initialize"])
    const { steps } = hear(first.state, opened)
    assert.deepStrictEqual(steps.map(({ replies }) => replies?.map(({ method }) => method)), [
      ["initialized", "thread/start"],
      ["turn/start"],
      undefined
    ])
    const expected = [first, ...steps].flatMap(({ expects }) => expects?.map(({ id }) => id) ?? [])
    assert.deepStrictEqual(expected, ["initialize", "thread", "turn"])
    assert.deepStrictEqual(steps.flatMap(({ settled }) => settled?.map(({ id }) => id) ?? []), expected)
  })

  it("says what the request says", () => {
    const request = ask({
      model: "large",
      effort: "low",
      system: "In French",
      systemReplace: "A parrot",
      permission: "Edit",
      attachments: [{ path: "a,b.png" }],
      outputSchema: strict
    })
    const { steps } = hear(begin(request), opened)
    assert.deepStrictEqual(paramsOf(steps[0], "thread/start"), {
      approvalPolicy: "on-request",
      approvalsReviewer: "user",
      sandbox: "workspace-write",
      model: "large",
      baseInstructions: "A parrot",
      developerInstructions: "In French"
    })
    assert.deepStrictEqual(paramsOf(steps[1], "turn/start"), {
      threadId,
      input: [{ type: "text", text: "do it", text_elements: [] }, { type: "localImage", path: "a,b.png" }],
      effort: "low",
      outputSchema: strict
    })
  })

  it("continues and forks, with instructions before the prompt", () => {
    for (
      const [session, method] of [
        [Session.resume("old"), "thread/resume"],
        [Session.fork("old"), "thread/fork"]
      ] as const
    ) {
      const { steps } = hear(begin(ask({ session, system: "In French" })), opened)
      const params = paramsOf(steps[0], method)
      assert.deepInclude(params, { threadId: "old", cwd: "/project" })
      assert.notProperty(params, "developerInstructions")
      assert.deepInclude(paramsOf(steps[1], "turn/start"), {
        input: [{ type: "text", text: "In French\n\ndo it", text_elements: [] }]
      })
    }
  })

  it("asks only where somebody answers, and only out of a sandbox", () => {
    const policy = (permission: AgentRequest.Permission, approvals: boolean) => {
      const { steps } = hear(begin(ask({ permission }), speaking(approvals)), opened)
      const { approvalPolicy, sandbox } = paramsOf(steps[0], "thread/start")
      return [approvalPolicy, sandbox]
    }
    assert.deepStrictEqual(policy("ReadOnly", true), ["on-request", "read-only"])
    assert.deepStrictEqual(policy("Auto", true), ["on-request", "workspace-write"])
    assert.deepStrictEqual(policy("Bypass", true), ["never", "danger-full-access"])
    assert.deepStrictEqual(policy("Edit", false), ["never", "workspace-write"])
  })

  it("is another command, with the same servers and directories", () => {
    const planned = Either.getOrThrow(
      plan(
        ask({
          permission: "Auto",
          addDirs: ["/opt"],
          mcpServers: { notes: { command: "notes" } },
          systemReplace: "A parrot",
          extraArgs: ["--skip-git-repo-check", "--enable", "x"]
        }),
        speaking()
      )
    )
    assert.isTrue(planned.dialogue)
    assert.deepStrictEqual(planned.files, [])
    assert.deepStrictEqual(words(planned), [
      "app-server",
      "-c",
      "sandbox_workspace_write.network_access=true",
      "-c",
      "sandbox_workspace_write.writable_roots=[\"/opt\"]",
      "-c",
      "mcp_servers.notes.command=\"notes\"",
      "-c",
      "mcp_servers.notes.args=[]",
      "-c",
      "mcp_servers.notes.env_vars=[\"EFFECT_AGENTS_TREE\"]",
      "-c",
      "check_for_update_on_startup=false",
      "--enable",
      "x"
    ])
    assert.strictEqual(words(Either.getOrThrow(plan(ask(), context)))[0], "exec")
  })

  it("answers in its words", () => {
    const replied = (decision: Approval.Decision, asking?: AgentDriver.JsonRecord) => decided(decision, asking).replies
    assert.deepStrictEqual(replied(Approval.allow()), [{ id: 0, result: { decision: "accept" } }])
    assert.deepStrictEqual(replied(Approval.allowForSession), [{ id: 0, result: { decision: "acceptForSession" } }])
    assert.deepStrictEqual(replied(Approval.deny()), [{ id: 0, result: { decision: "decline" } }])
    const permissions = question("p", "item/permissions/requestApproval", {
      permissions: { network: { enabled: true }, fileSystem: null }
    })
    assert.deepStrictEqual(replied(Approval.allow(), permissions), [
      { id: "p", result: { permissions: { network: { enabled: true } }, scope: "turn" } }
    ])
    assert.deepStrictEqual(replied(Approval.deny(), permissions), [
      { id: "p", result: { permissions: {}, scope: "turn" } }
    ])
  })

  it("the reason of a refusal is said before it", () => {
    const { expects, replies } = decided(Approval.deny("not today"))
    assert.deepStrictEqual(replies?.map(({ method, result }) => method ?? result), [
      "turn/steer",
      { decision: "decline" }
    ])
    assert.include(JSON.stringify(replies), "not today")
    assert.deepStrictEqual(expects?.map(({ id }) => id), [String(replies?.[0]?.["id"])])
  })

  it("another input ends the turn with what cannot be done", () => {
    const step = decided(Approval.allow({ input: { command: "ls" } }))
    assert.deepStrictEqual(step.replies?.map(({ method, result }) => method ?? result), [
      { decision: "decline" },
      "turn/interrupt"
    ])
    const { terminal } = protocol.progress(protocol.step(step.state, ended({ status: "interrupted" })).state)
    assert.strictEqual(terminal?.failure?.kind, "unsupported")
  })

  it("a question about an edit says what would change", () => {
    const changes = [{ path: "/project/a", kind: { type: "add" }, diff: "x" }]
    const { steps } = hear(going, [
      note("item/started", { item: { type: "fileChange", id: "call_1", changes, status: "inProgress" } }),
      question(1, "item/fileChange/requestApproval")
    ])
    assert.deepStrictEqual(steps[1]?.asks?.map(({ input, tool }) => ({ input, tool })), [
      { tool: "file_change", input: { changes } }
    ])
  })

  it("a question about a tool of MCP is one, another form is none", () => {
    const asking = (meta: object | null) => ({
      ...note("mcpServer/elicitation/request", {
        serverName: "notes",
        mode: "form",
        message: "Allow the notes MCP server to run tool \"drop\"?",
        _meta: meta
      }),
      id: 7
    })
    const { state } = hear(going, [
      note("item/started", { item: { type: "mcpToolCall", id: "c", server: "notes", tool: "drop", arguments: {} } })
    ])
    const step = protocol.step(state, asking({ codex_approval_kind: "mcp_tool_call", tool_params: { id: 1 } }))
    assert.deepStrictEqual(step.asks?.map(({ call, input, tool }) => ({ call, input, tool })), [
      { call: "c", input: { id: 1 }, tool: "mcp__notes__drop" }
    ])
    const { replies } = tell(step.state, { _tag: "Answer", question: "7", decision: Approval.allow() })
    assert.deepStrictEqual(replies, [{ id: 7, result: { action: "accept", content: {}, _meta: null } }])
    assert.deepStrictEqual(protocol.step(state, asking(null)).replies?.map(({ error }) => Object(error).code), [-32601])
  })

  it("what it asks and nobody knows is refused, not left hanging", () => {
    const step = protocol.step(going, { id: 3, method: "item/tool/call", params: { threadId } })
    assert.deepStrictEqual(step.replies?.map(({ error, id }) => [id, Object(error).code]), [[3, -32601]])
    assert.isUndefined(step.asks)
  })

  it("a question of the CLI with the id of a request of ours is a question", () => {
    const sent = tell(going, { _tag: "Message", id: "m", text: "and the gap" })
    const step = protocol.step(sent.state, question("m"))
    assert.isUndefined(step.settled)
    assert.strictEqual(step.asks?.length, 1)
    assert.deepStrictEqual(protocol.step(step.state, { id: "m", result: { turnId: "1" } }).settled, [{ id: "m" }])
  })

  it("a question that was answered elsewhere is withdrawn, one that we answered is not", () => {
    const resolved = note("serverRequest/resolved", { requestId: 0 })
    const asked = protocol.step(going, question())
    const step = protocol.step(asked.state, resolved)
    assert.deepStrictEqual(step.withdrawn, ["0"])
    assert.isUndefined(tell(step.state, { _tag: "Answer", question: "0", decision: Approval.allow() }).replies)
    assert.isUndefined(protocol.step(decided(Approval.allow()).state, resolved).withdrawn)
    assert.deepStrictEqual(protocol.step(asked.state, ended({ status: "interrupted" })).withdrawn, ["0"])
  })

  it("a message and an interrupt wait for the turn, and are settled by their answers", () => {
    const early = tell(hear(begin(), opened).state, { _tag: "Message", id: "m", text: "and the gap" })
    assert.isUndefined(early.replies)
    const { replies, state } = protocol.step(early.state, started())
    assert.deepStrictEqual(paramsOf({ state, events: [], replies }, "turn/steer"), {
      threadId,
      expectedTurnId: "1",
      input: [{ type: "text", text: "and the gap", text_elements: [] }]
    })
    const refused = protocol.step(state, { id: "m", error: { code: -32600, message: "no active turn to steer" } })
    assert.deepStrictEqual(refused.settled, [{ id: "m", refused: "no active turn to steer" }])
    const stop = tell(state, { _tag: "Interrupt", id: "i" })
    assert.deepStrictEqual(paramsOf(stop, "turn/interrupt"), { threadId, turnId: "1" })
    assert.deepStrictEqual(
      protocol.progress(protocol.step(state, ended({ status: "interrupted" })).state).terminal,
      { stop: "interrupted" }
    )
  })

  it("what a turn never heard is told to be refused when it is over", () => {
    const early = tell(hear(begin(), opened).state, { _tag: "Message", id: "m", text: "and the gap" })
    const step = protocol.step(early.state, ended({ status: "failed", error: { message: "no" } }))
    assert.deepStrictEqual(step.settled, [{ id: "m", refused: "the turn is over" }])
  })

  it("another turn begins with nothing of the last one, nor hears what that one still says", () => {
    const usage = (total: number, turnId = "1") =>
      note("thread/tokenUsage/updated", {
        turnId,
        tokenUsage: { total: { totalTokens: total }, last: { inputTokens: 5, outputTokens: 2 } }
      })
    const over = hear(going, [usage(7), usage(7), ended({ status: "completed" })])
    assert.strictEqual(protocol.progress(over.state).usage.outputTokens, 2, "told twice, used once")
    const next = tell(over.state, { _tag: "Turn", prompt: "go on" })
    assert.deepInclude(paramsOf(next, "turn/start"), { input: [{ type: "text", text: "go on", text_elements: [] }] })
    const late = hear(next.state, [
      note("item/completed", { item: { type: "commandExecution", id: "old", command: "x", exitCode: 1 } }),
      usage(9),
      started("2"),
      usage(14, "2")
    ])
    assert.deepStrictEqual(only(late.events, "ToolResult"), [])
    const { terminal, text, usage: used } = protocol.progress(late.state)
    assert.deepStrictEqual([text, terminal, used.outputTokens], ["", undefined, 2])
  })

  it("the words and the end of a sub-agent are not those of the run", () => {
    const { events, state } = hear(going, [
      note("item/completed", { threadId: "child", item: { type: "agentMessage", id: "m", text: "theirs" } }),
      { method: "turn/completed", params: { threadId: "child", turn: { id: "1", status: "completed" } } }
    ])
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Unknown", "Unknown"])
    assert.isUndefined(protocol.progress(state).terminal)
  })

  it("a failure is what its fields say, before its words", () => {
    const kind = (message: string, codexErrorInfo: unknown = null) => {
      const { state } = protocol.step(going, ended({ status: "failed", error: { message, codexErrorInfo } }))
      const { failure } = protocol.progress(state).terminal ?? {}
      return [failure?.kind, failure?.status]
    }
    assert.deepStrictEqual(kind("quota?", "unauthorized"), ["not-authenticated", undefined])
    assert.deepStrictEqual(kind("out", "usageLimitExceeded"), ["rate-limited", undefined])
    assert.deepStrictEqual(kind("about rate limits", "contextWindowExceeded"), ["turn-failed", undefined])
    assert.deepStrictEqual(kind("no", { responseTooManyFailedAttempts: { httpStatusCode: 429 } }), [
      "rate-limited",
      429
    ])
    assert.deepStrictEqual(kind("no", { httpConnectionFailed: { httpStatusCode: null } }), ["overloaded", undefined])
    assert.deepStrictEqual(kind("unexpected status 401 Unauthorized", "other"), ["not-authenticated", 401])
  })

  it("a request that is refused is a failure, and without a conversation the end", () => {
    const message = "no rollout found for thread id x"
    const [initialized] = opened
    const refused = { id: "thread", error: { code: -32600, message } }
    const step = hear(
      begin(ask({ session: Session.resume("x") })),
      initialized === undefined ? [] : [initialized, refused]
    )
    assert.deepStrictEqual(protocol.progress(step.state).terminal, {
      stop: "error",
      failure: { kind: "session-not-found", detail: message }
    })
    assert.isTrue(step.steps.at(-1)?.closes)
    const late = protocol.step(going, { id: "turn", error: { code: -32600, message: "too busy" } })
    assert.isFalse(late.closes)
    assert.strictEqual(protocol.progress(late.state).terminal?.failure?.detail, "too busy")
  })

  it("tells of attempts that follow, and of complaints", () => {
    const complaint = (message: string, willRetry: boolean) =>
      protocol.step(
        going,
        note("error", {
          error: { message, codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: 500 } } },
          willRetry
        })
      ).events
    assert.deepStrictEqual(complaint("Reconnecting... 2/5", true), [
      { _tag: "Retry", reason: "Reconnecting... 2/5", attempt: 2, maxAttempts: 5, status: 500 }
    ])
    assert.deepStrictEqual(complaint("the stream broke", true), [
      { _tag: "Retry", reason: "the stream broke", status: 500 }
    ])
    assert.deepStrictEqual(complaint("the stream broke", false), [
      { _tag: "Notice", level: "error", text: "the stream broke" }
    ])
  })

  it("the value of a schema is read from the answer", () => {
    const value = (text: string) => {
      const request = ask({ outputSchema: { type: "object" } })
      const { state } = hear(begin(request), [
        ...opened,
        started(),
        note("item/completed", { item: { type: "agentMessage", id: "m", text } }),
        ended({ status: "completed" })
      ])
      const { structured, terminal } = protocol.progress(state)
      return [structured, terminal?.failure?.kind]
    }
    assert.deepStrictEqual(value("{\"a\":1}"), [{ a: 1 }, undefined])
    assert.deepStrictEqual(value("no value"), [undefined, "output-invalid"])
  })
})
