/** Files, plans, sub-agents and work in the background, as the real CLIs tell them. */
import { assert, describe, it } from "@effect/vitest"
import type * as AgentEvent from "effect-agents/AgentEvent"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import { only, records, type Replay, replay, replayDialogue } from "./replay.js"

const claude = (name: string) => replay(Claude.driver, records(name))
const copilot = (name: string) => replay(Copilot.driver, records(name))
const codex = (name: string) => replay(Codex.driver, records(name))

const server = (name: string) => replayDialogue(records(name))

const changes = ({ events }: Replay) =>
  only(events, "FileChange").map(({ call, kind, movedTo, path }) => [kind, path, call, movedTo])

const phases = (events: ReadonlyArray<AgentEvent.Unstamped>, tag: "SubAgent" | "Background") =>
  only(events, tag).map(({ call, ok, phase }) => [phase, call, ok])

/** What was said and done, by whom. */
const by = (parent: string | undefined, { events }: Replay) =>
  events.flatMap((event) =>
    event._tag === "Message" && event.parent === parent
      ? [event.text]
      : event._tag === "ToolCall" && event.parent === parent
      ? [event.name]
      : []
  )

const hunk = "@@ -1,2 +1,2 @@\n one\n-two\n+three\n"

describe("files that change", () => {
  it("claude", () => {
    const edits = claude("claude-edits")
    assert.deepStrictEqual(changes(edits), [
      ["add", "/project/new.txt", "toolu_1", undefined],
      ["update", "/project/a.txt", "toolu_3", undefined]
    ])
    assert.deepStrictEqual(only(edits.events, "FileChange").map(({ diff }) => diff), [undefined, hunk])
  })

  it("claude: what did not succeed changed nothing, what is written over is an update", () =>
    assert.deepStrictEqual(changes(claude("claude-edits-refused")), [[
      "update",
      "/project/a.txt",
      "toolu_2",
      undefined
    ]]))

  it("claude: of a sub-agent, of which only the text is told", () => {
    const use = (id: string, path: string) => ({
      type: "assistant",
      parent_tool_use_id: "sub",
      message: { id, content: [{ type: "tool_use", id, name: "Write", input: { file_path: path } }] }
    })
    const result = (id: string, content: string) => ({
      type: "user",
      parent_tool_use_id: "sub",
      message: { content: [{ type: "tool_result", tool_use_id: id, content }] }
    })
    const { events } = replay(Claude.driver, [
      use("1", "a"),
      result("1", "File created successfully at: a"),
      use("2", "b"),
      result("2", "The file b has been updated successfully.")
    ])
    assert.deepStrictEqual(only(events, "FileChange").map(({ kind, parent, path }) => [kind, path, parent]), [
      ["add", "a", "sub"],
      ["update", "b", "sub"]
    ])
  })

  it("codex", () =>
    assert.deepStrictEqual(changes(codex("codex-edits")), [
      ["update", "/project/a.txt", "item_1", undefined],
      ["add", "/project/new.txt", "item_1", undefined],
      ["update", "/project/a.txt", "item_2", undefined],
      ["delete", "/project/new.txt", "item_2", undefined]
    ]))

  it("codex, spoken with", () => {
    const edits = server("codex-server-edits")
    assert.deepStrictEqual(changes(edits), [
      ["update", "/project/a.txt", "call_1", undefined],
      ["add", "/project/new.txt", "call_1", undefined],
      ["update", "/project/a.txt", "call_2", "/project/b.txt"],
      ["delete", "/project/new.txt", "call_2", undefined]
    ])
    assert.deepStrictEqual(only(edits.events, "FileChange").map(({ diff }) => diff), [
      hunk,
      undefined,
      hunk.replace("three", "four").replace("two", "three"),
      undefined
    ])
  })

  it("codex: a change that was declined is none", () =>
    assert.deepStrictEqual(
      changes(replay(Codex.driver, [{
        type: "item.completed",
        item: { id: "1", type: "file_change", status: "declined", changes: [{ path: "a", kind: "add" }] }
      }])),
      []
    ))

  it("copilot", () => {
    const edits = copilot("copilot-edits")
    assert.deepStrictEqual(changes(edits), [
      ["add", "/project/new.txt", "toolu_1", undefined],
      ["update", "/project/a.txt", "toolu_2", undefined]
    ])
    assert.match(only(edits.events, "FileChange")[1]?.diff ?? "", /^@@ .*-two\n\+three/s)
  })
})

describe("plans", () => {
  it("claude, step by step", () =>
    assert.deepStrictEqual(only(claude("claude-plan").events, "Plan").map(({ steps }) => steps), [
      [{ text: "first", status: "pending" }],
      [{ text: "first", status: "pending" }, { text: "second", status: "pending" }],
      [{ text: "first", status: "completed" }, { text: "second", status: "pending" }],
      [{ text: "first", status: "completed" }, { text: "second", status: "pending" }]
    ]))

  it("codex, spoken with", () => {
    const told = replayDialogue([...records("codex-server-text").slice(0, 6), {
      method: "turn/plan/updated",
      params: {
        threadId: only(server("codex-server-text").events, "Started")[0]?.session,
        explanation: "so far",
        plan: [{ step: "look", status: "completed" }, { step: "mend", status: "inProgress" }]
      }
    }])
    assert.deepStrictEqual(only(told.events, "Plan"), [{
      _tag: "Plan",
      note: "so far",
      steps: [{ text: "look", status: "completed" }, { text: "mend", status: "in-progress" }]
    }])
  })
})

describe("sub-agents", () => {
  it("claude: what it says is not the answer, what it uses not the agent's", () => {
    const run = claude("claude-sub-agent")
    assert.deepStrictEqual(phases(run.events, "SubAgent"), [
      ["started", "toolu_1", undefined],
      ["finished", "toolu_1", true]
    ])
    assert.deepStrictEqual(by("toolu_1", run), ["Bash"])
    assert.deepStrictEqual(by(undefined, run), ["Agent", "all done"])
    assert.strictEqual(run.progress.text, "all done")
    // Two model calls of its own: the result counts only those.
    assert.deepStrictEqual([run.progress.usage.inputTokens, run.progress.usage.modelCalls], [200, 2])
    assert.strictEqual(run.progress.subAgents?.inputTokens, 100)
    assert.deepStrictEqual([...new Set(only(run.events, "Usage").map(({ parent }) => parent))], [undefined, "toolu_1"])
  })

  it("claude: one that outlives the turn is counted over its end", () => {
    const run = claude("claude-sub-agent-background")
    assert.deepStrictEqual(phases(run.events, "SubAgent"), [
      ["started", "toolu_1", undefined],
      ["finished", "toolu_1", true]
    ])
    assert.deepStrictEqual(by("toolu_1", run), ["Bash", "sub says hi"])
    assert.deepStrictEqual([run.progress.usage.inputTokens, run.progress.subAgents?.inputTokens], [300, 200])
  })

  it("codex", () =>
    assert.deepStrictEqual(phases(codex("codex-sub-agent").events, "SubAgent"), [
      ["started", "item_1", undefined],
      ["finished", "item_1", true]
    ]))

  it("codex, spoken with: what it says is not the answer, what it uses not the agent's", () => {
    const run = server("codex-server-sub-agent")
    assert.deepStrictEqual(phases(run.events, "SubAgent"), [
      ["started", "call_1", undefined],
      ["finished", "call_1", true]
    ])
    assert.deepStrictEqual(by("call_1", run), ["command_execution", "sub says hi"])
    assert.strictEqual(run.progress.text, "all done")
    assert.deepStrictEqual([run.progress.usage.inputTokens, run.progress.subAgents?.inputTokens], [300, 200])
    assert.isUndefined(replay(Codex.driver, records("codex-text")).progress.subAgents)
  })

  it("copilot", () => {
    const run = copilot("copilot-sub-agent")
    assert.deepStrictEqual(phases(run.events, "SubAgent"), [
      ["started", "toolu_1", undefined],
      ["finished", "toolu_1", true]
    ])
    assert.strictEqual(only(run.events, "SubAgent")[1]?.tokens, 220)
    assert.deepStrictEqual(by("toolu_1", run), ["bash", "sub says hi"])
    assert.strictEqual(run.progress.text, "all done")
  })
})

describe("work in the background", () => {
  it("claude: begun, and stopped for its time", () =>
    assert.deepStrictEqual(phases(claude("claude-run-in-background").events, "Background").slice(0, 2), [
      ["started", "toolu_fake_1", undefined],
      ["finished", "toolu_fake_1", false]
    ]))

  it("copilot", () => {
    const { events } = copilot("copilot-background")
    assert.deepStrictEqual(phases(events, "Background"), [
      ["started", "toolu_1", undefined],
      ["finished", "toolu_1", true]
    ])
    assert.strictEqual(only(events, "Background")[1]?.exitCode, 0)
  })
})
