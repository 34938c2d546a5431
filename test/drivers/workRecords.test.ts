/** Files, plans, sub-agents and work in the background: what no captured conversation happens to show, record by record. */
import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import type * as AgentEvent from "effect-agents/AgentEvent"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import { ask, context, only, replay, replayDialogue } from "./replay.js"

type Lines = ReadonlyArray<AgentDriver.JsonRecord>

const claude = (lines: Lines) => replay(Claude.driver, lines).events
const codex = (lines: Lines) => replay(Codex.driver, lines).events
const copilot = (lines: Lines) => replay(Copilot.driver, lines)

const changes = (events: ReadonlyArray<AgentEvent.Unstamped>) =>
  only(events, "FileChange").map(({ kind, parent, path }) => [kind, path, parent])

const plans = (events: ReadonlyArray<AgentEvent.Unstamped>) =>
  only(events, "Plan").map(({ steps }) => steps.map(({ status, text }) => `${text}: ${status}`))

describe("claude", () => {
  const called = (id: string, name: string, input: object) => ({
    type: "assistant",
    message: { id, content: [{ type: "tool_use", id, name, input }] }
  })
  const returned = (id: string, told: object, more: object = {}, parent?: string) => ({
    type: "user",
    ...(parent === undefined ? {} : { parent_tool_use_id: parent }),
    message: { content: [{ type: "tool_result", tool_use_id: id, content: "", ...more }] },
    tool_use_result: told
  })
  const task = (subtype: string, fields: object) => ({ type: "system", subtype, ...fields })

  it("each tool that edits is told, once, and no other", () => {
    const edits = [
      called("1", "MultiEdit", { file_path: "a" }),
      called("2", "NotebookEdit", { notebook_path: "b" }),
      called("3", "Read", { file_path: "c" }),
      called("4", "Write", { file_path: "d" })
    ]
    const results = [...["1", "2", "3"].map((id) => returned(id, {})), returned("4", { type: "create" })]
    assert.deepStrictEqual(changes(claude([...edits, ...results, ...results])), [
      ["update", "a", undefined],
      ["update", "b", undefined],
      ["add", "d", undefined]
    ])
  })

  it("what was held back or went wrong changed nothing", () => {
    const edit = called("1", "Edit", { file_path: "a" })
    for (const [told, more] of [[{ staged: true }, {}], [{ error: "no" }, {}], [{}, { is_error: true }]] as const) {
      assert.deepStrictEqual(changes(claude([edit, returned("1", told, more)])), [])
    }
  })

  it("a plan is told as a whole list or step by step, and what is taken off it", () => {
    const list = { newTodos: [{ content: "look", status: "in_progress" }, { content: "mend", status: "constructor" }] }
    assert.deepStrictEqual(plans(claude([returned("1", list)])), [["look: in-progress", "mend: pending"]])
    assert.deepStrictEqual(plans(claude([returned("1", list, { is_error: true })])), [])
    const steps = claude([
      returned("1", { task: { id: "1", subject: "look" } }),
      returned("2", { task: { id: "2", subject: "mend" } }),
      returned("3", { taskId: "1", statusChange: { from: "pending", to: "deleted" } }),
      returned("4", { taskId: "none", statusChange: { from: "pending", to: "completed" } })
    ])
    assert.deepStrictEqual(plans(steps).slice(2), [["mend: pending"]])
  })

  it("a sub-agent's plan is its own", () =>
    assert.strictEqual(only(claude([returned("1", { newTodos: [] }, {}, "sub")]), "Plan")[0]?.parent, "sub"))

  it("tasks have a name, a parent and one end; a command in the foreground is none", () => {
    const events = claude([
      task("task_started", {
        task_id: "1",
        tool_use_id: "c1",
        task_type: "local_agent",
        subagent_type: "looker",
        parent_tool_use_id: "p"
      }),
      task("task_started", { task_id: "2", tool_use_id: "c2", task_type: "local_bash", description: "sleep" }),
      task("task_started", { task_id: "3", task_type: "local_bash", is_backgrounded: false }),
      ...["1", "1", "2", "3", "4"].map((id) =>
        task("task_notification", { task_id: id, status: "completed", parent_tool_use_id: "p" })
      )
    ])
    assert.deepStrictEqual([...only(events, "SubAgent"), ...only(events, "Background")], [
      { _tag: "SubAgent", phase: "started", id: "1", call: "c1", parent: "p", name: "looker" },
      { _tag: "SubAgent", phase: "finished", id: "1", ok: true, parent: "p" },
      { _tag: "Background", phase: "started", id: "2", call: "c2", what: "sleep" },
      { _tag: "Background", phase: "finished", id: "2", ok: true, parent: "p" }
    ])
    assert.lengthOf(only(events, "Unknown"), 4, "an end too many, one of the foreground, and one of nothing")
  })

  it("of a thousand that never end the oldest is forgotten", () => {
    const ids = Array.from({ length: 1025 }, (_, index) => String(index))
    const events = claude([
      ...ids.map((id) => task("task_started", { task_id: id })),
      ...["0", "1", "1024"].map((id) => task("task_notification", { task_id: id, status: "completed" }))
    ])
    const ended = only(events, "Background").filter(({ phase }) => phase === "finished")
    assert.deepStrictEqual(ended.map(({ id }) => id), ["1", "1024"])
  })
})

describe("codex", () => {
  const item = (phase: string, fields: object) => ({ type: `item.${phase}`, item: { id: "i", ...fields } })
  const collab = (tool: string, agents_states: object, ids: ReadonlyArray<string> = []) =>
    item("completed", { type: "collab_tool_call", tool, status: "completed", receiver_thread_ids: ids, agents_states })
  const phases = (events: ReadonlyArray<AgentEvent.Unstamped>) =>
    only(events, "SubAgent").map(({ id, ok, phase }) => [phase, id, ok])

  it("a list is told while it changes, not once more at its end", () => {
    const list = { type: "todo_list", items: [{ text: "look", completed: true }] }
    assert.deepStrictEqual(plans(codex([item("updated", list), item("completed", list)])), [["look: completed"]])
  })

  it("sub-agents begin by the call for it, end once, well or not", () => {
    for (
      const [status, ok] of [
        ["completed", true],
        ["errored", false],
        ["interrupted", false],
        ["shutdown", false],
        ["not_found", false]
      ] as const
    ) {
      const state = { a: { status }, b: { status: "running" }, stranger: { status } }
      const events = codex([
        collab("spawn_agent", { a: { status: "pending_init" } }, ["a"]),
        collab("send_input", {}, ["b"]),
        collab("wait", state),
        collab("close_agent", state)
      ])
      assert.deepStrictEqual(phases(events), [["started", "a", undefined], ["finished", "a", ok]], status)
    }
  })
})

describe("codex, spoken with", () => {
  const note = (threadId: string, method: string, params: object = {}) => ({ method, params: { threadId, ...params } })
  const item = (threadId: string, phase: string, fields: object) => note(threadId, `item/${phase}`, { item: fields })
  const spawn = (threadId: string, id: string, thread: string) =>
    item(threadId, "completed", {
      id,
      type: "collabAgentToolCall",
      tool: "spawnAgent",
      status: "completed",
      receiverThreadIds: [thread]
    })
  const hear = (lines: Lines) =>
    replayDialogue([
      { id: "thread", result: { thread: { id: "t" } } },
      note("t", "turn/started", { turn: { id: "1" } }),
      ...lines
    ]).events
  const activity = (thread: string, kind: string) =>
    item("t", "completed", { id: "act", type: "subAgentActivity", kind, agentThreadId: thread })
  const turn = (threadId: string, status?: string) =>
    note(threadId, status === undefined ? "turn/started" : "turn/completed", { turn: { id: `of ${threadId}`, status } })

  it("sub-agents are those of a call or of an activity, by the call that came first", () => {
    const events = hear([
      spawn("t", "call", "a"),
      activity("a", "started"),
      activity("b", "started"),
      activity("c", "finished"),
      ...["a", "b", "c"].map((thread) => turn(thread)),
      turn("a", "failed"),
      turn("b", "completed")
    ])
    assert.deepStrictEqual(only(events, "SubAgent"), [
      { _tag: "SubAgent", phase: "started", id: "a", call: "call" },
      { _tag: "SubAgent", phase: "started", id: "b", call: "act" },
      { _tag: "SubAgent", phase: "finished", id: "a", call: "call", ok: false },
      { _tag: "SubAgent", phase: "finished", id: "b", call: "act", ok: true }
    ])
  })

  it("what a sub-agent says, changes and begins is told as its own", () => {
    const events = hear([
      spawn("t", "call", "a"),
      note("a", "item/agentMessage/delta", { itemId: "m", delta: "hi" }),
      item("a", "completed", {
        id: "f",
        type: "fileChange",
        status: "completed",
        changes: [{ path: "x", kind: { type: "add" } }]
      }),
      spawn("a", "below", "b"),
      turn("b")
    ])
    assert.deepStrictEqual(only(events, "Text"), [{ _tag: "Text", text: "hi", parent: "call" }])
    assert.deepStrictEqual(changes(events), [["add", "x", "call"]])
    assert.deepStrictEqual(only(events, "SubAgent").map(({ call, id }) => [id, call]), [["b", "call"]])
  })
})

describe("copilot", () => {
  const line = (type: string, data: object, agentId?: string) => ({
    type,
    data,
    ...(agentId === undefined ? {} : { agentId })
  })
  const edited = (fileEdits: ReadonlyArray<object>, agentId?: string) =>
    line("tool.execution_complete", {
      toolCallId: "c",
      success: true,
      fileEdits,
      result: { detailedContent: "diff\n@@ -1 +1 @@\n-a\n+b\n" }
    }, agentId)

  it("files are told by what was done to them, with the hunks where they are those of one update", () => {
    const update = { kind: "edit", path: "a" }
    const { events } = copilot([
      edited([update], "sub"),
      edited([update, { kind: "delete", path: "b" }]),
      edited([{ kind: "create", path: "c" }]),
      edited([{ kind: "rename", path: "d" }])
    ])
    assert.deepStrictEqual(changes(events), [
      ["update", "a", "sub"],
      ["update", "a", undefined],
      ["delete", "b", undefined],
      ["add", "c", undefined]
    ])
    assert.deepStrictEqual(only(events, "FileChange").map(({ diff }) => diff !== undefined), [
      true,
      false,
      false,
      false
    ])
  })

  it("a command in the background is told with its end, its words and its maker", () => {
    const ended = (shellId: string, fields: object = {}) =>
      line("system.notification", { kind: { type: "shell_completed", shellId, ...fields } })
    const started = (shell: string, agentId?: string) =>
      line("tool.execution_complete", {
        toolCallId: `c${shell}`,
        success: true,
        result: { content: `<command started in background with shellId: ${shell}>` }
      }, agentId)
    const { events } = copilot([
      started("0", "sub"),
      started("1"),
      line("system.notification", { kind: { type: "shell_detached", shellId: "0" } }),
      ended("0", { exitCode: 3, description: "sleep" }),
      ended("1"),
      ended("1")
    ])
    assert.deepStrictEqual(only(events, "Background"), [
      { _tag: "Background", phase: "started", id: "0", call: "c0", parent: "sub" },
      { _tag: "Background", phase: "started", id: "1", call: "c1" },
      { _tag: "Background", phase: "finished", id: "0", call: "c0", what: "sleep", ok: false, exitCode: 3 },
      { _tag: "Background", phase: "finished", id: "1", call: "c1" },
      { _tag: "Background", phase: "finished", id: "1" }
    ])
  })

  it("sub-agents have a name, and end well or not; what they use is not the agent's", () => {
    const about = { toolCallId: "c", agentName: "looker" }
    const { events, progress } = copilot([
      line("subagent.started", about, "a"),
      line("assistant.usage", { inputTokens: 5 }, "a"),
      line("subagent.completed", about, "a"),
      line("subagent.completed", { ...about, cancelled: true }, "b"),
      line("subagent.failed", about, "c")
    ])
    assert.deepStrictEqual(only(events, "SubAgent"), [
      { _tag: "SubAgent", phase: "started", id: "a", call: "c", name: "looker" },
      ...([["a", true], ["b", false], ["c", false]] as const).map(([id, ok]) => ({
        _tag: "SubAgent" as const,
        phase: "finished" as const,
        id,
        call: "c",
        name: "looker",
        ok
      }))
    ])
    assert.deepStrictEqual([progress.usage, progress.subAgents], [{}, { inputTokens: 5, modelCalls: 1 }])
  })

  it("a message of a sub-agent without words takes nothing from the answer in the making", () => {
    const delta = (deltaContent: string) => line("assistant.message_delta", { messageId: "m", deltaContent })
    const { events, progress } = copilot([
      delta("Hel"),
      line("assistant.message", { messageId: "s", content: "" }, "a"),
      delta("lo")
    ])
    assert.strictEqual(progress.text, "Hello")
    assert.lengthOf(only(events, "Message"), 0)
  })
})

describe("copilot, spoken with", () => {
  const { protocol } = Copilot.driver
  const tell = protocol.tell ?? (() => assert.fail("no dialogue"))
  const first = tell(protocol.initial(ask(), { ...context, dialogue: { approvals: false, keep: true } }), {
    _tag: "Begin"
  })
  const hear = (state: typeof first.state, lines: Lines) => {
    const events: Array<AgentEvent.Unstamped> = []
    let now = state
    for (const line of lines) {
      const step = protocol.step(now, line)
      now = step.state
      events.push(...step.events)
    }
    return { state: now, events }
  }
  const raw = (type: string, data: object, more: object = {}) => ({
    method: "github.com/copilot/sessionEvent",
    params: { sessionId: "s", type, data, ...more }
  })
  const chunk = (text: string) => ({
    method: "session/update",
    params: { sessionId: "s", update: { sessionUpdate: "agent_message_chunk", content: { text } } }
  })
  const going = hear(first.state, [{ id: "initialize", result: { protocolVersion: 1 } }, {
    id: "session/new",
    result: { sessionId: "s" }
  }]).state

  it("asks for the records that tell of them", () =>
    assert.containsAllKeys(
      Object.fromEntries(
        /"events":(\[.*?\])/.exec(JSON.stringify(first.replies))?.slice(1).flatMap((list) =>
          (JSON.parse(list) as ReadonlyArray<string>).map((name) => [name, true])
        ) ?? []
      ),
      [
        "subagent.started",
        "subagent.completed",
        "subagent.failed",
        "system.notification",
        "tool.execution_complete",
        "assistant.usage"
      ]
    ))

  it("what a sub-agent says is not the answer, what it uses not the agent's", () => {
    const { events, state } = hear(going, [
      raw("assistant.usage", { inputTokens: 5 }, { agentId: "a" }),
      raw("assistant.message", { messageId: "1", content: "below", parentToolCallId: "c" }),
      raw("assistant.message", { messageId: "2", content: "as well" }, { agentId: "a" }),
      chunk("al"),
      raw("assistant.message", {}, { agentId: "a", dataOmitted: true }),
      chunk("all"),
      raw("assistant.message", { messageId: "3", content: "all" })
    ])
    assert.deepStrictEqual(only(events, "Message").map(({ parent, text }) => [text, parent]), [
      ["below", "c"],
      ["as well", "a"],
      ["all", undefined]
    ])
    const progress = protocol.progress(state)
    assert.deepStrictEqual([progress.text, progress.usage, progress.subAgents], [
      "all",
      {},
      { inputTokens: 5, modelCalls: 1 }
    ])
  })

  it("a plan's step of which nothing is known is still to do", () => {
    const entries = [{ content: "look", status: "in_progress" }, { content: "mend", status: "news" }]
    const plan = { method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "plan", entries } } }
    assert.deepStrictEqual(plans(hear(going, [plan]).events), [["look: in-progress", "mend: pending"]])
  })

  it("what was left running at the end of a turn ends in a later one, by the call that began it", () => {
    const started = raw("tool.execution_complete", {
      toolCallId: "c",
      success: true,
      result: { content: "<command started in background with shellId: 0>" }
    })
    const over = hear(going, [started, { id: "prompt 1", result: { stopReason: "end_turn" } }])
    const next = tell(over.state, { _tag: "Turn", prompt: "go on" }).state
    const { events } = hear(next, [
      raw("system.notification", { kind: { type: "shell_completed", shellId: "0", exitCode: 0 } })
    ])
    assert.deepStrictEqual(only(events, "Background"), [
      { _tag: "Background", phase: "finished", id: "0", call: "c", ok: true, exitCode: 0 }
    ])
  })
})
