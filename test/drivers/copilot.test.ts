import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Copilot from "effect-agents/Copilot"
import * as Session from "effect-agents/Session"
import { ask, only, records, replay, uuid } from "./replay.js"

const play = (name: string, request = ask()) => replay(Copilot.driver, records(name), request)
const feed = (lines: ReadonlyArray<AgentDriver.JsonRecord>, request = ask()) => replay(Copilot.driver, lines, request)
const line = (type: string, data: { readonly [key: string]: unknown } = {}) => ({ type, data })
const delta = (messageId: string, deltaContent: string) => line("assistant.message_delta", { messageId, deltaContent })
const result = (exitCode = 0) => ({ type: "result", sessionId: uuid, exitCode, usage: { premiumRequests: 2 } })

describe("copilot, as captured", () => {
  it("a text", () => {
    const { events, progress } = play("copilot-text")
    const known = events.filter(({ _tag }) => _tag !== "Unknown")
    assert.deepStrictEqual(known.map(({ _tag }) => _tag), [
      "Commands",
      "Started",
      "Text",
      "Message",
      // The CLI's own id, told in its last record, is not the one of this test.
      "Started",
      "Finished"
    ])
    assert.deepStrictEqual(known[1], { _tag: "Started", session: uuid, model: "claude-sonnet-4.6" })
    assert.strictEqual(progress.session, "1deab615-07c7-4acc-aa8b-f9c6ea49c99f", "the newest id wins")
    assert.strictEqual(progress.text, "Hello from the fake model.")
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    assert.deepStrictEqual(progress.usage, { premiumRequests: 0, apiDurationMs: 24, durationMs: 268 })
  })

  it("a tool call and its result", () => {
    const { events, progress } = play("copilot-tool")
    assert.deepStrictEqual(only(events, "ToolCall").map(({ id, name }) => `${id} ${name}`), ["toolu_fake_1 bash"])
    const [answer] = only(events, "ToolResult")
    assert.deepInclude(answer, { id: "toolu_fake_1", ok: true, exitCode: 0 })
    assert.match(String(answer?.output), /^hello-from-tool/)
    assert.strictEqual(progress.text, "tool finished")
    assert.deepStrictEqual(progress.openToolCalls, [])
  })

  it("repeats no noise", () => {
    const isNoise = (type: unknown) => type === "session.background_tasks_changed"
    const before = records("copilot-tool")
    const runs = before.filter((entry, index) => isNoise(entry["type"]) && !isNoise(before[index - 1]?.["type"])).length
    const told = only(play("copilot-tool").events, "Unknown").filter(({ type }) => isNoise(type)).length
    assert.strictEqual(told, runs)
    assert.isBelow(told, before.filter((entry) => isNoise(entry["type"])).length)
  })

  it("a tool call that was not allowed", () => {
    const { events, progress } = play("copilot-permission-denied")
    assert.deepInclude(only(events, "ToolResult")[0], { ok: false, denied: true })
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
  })

  it.each([
    ["copilot-err401", "not-authenticated", 401],
    ["copilot-err429", "rate-limited", 429],
    ["copilot-err500", "overloaded", 500],
    ["copilot-truncated-stream", "overloaded", undefined]
  ])("%s is %s", (name, kind, status) => {
    const { progress } = play(name)
    assert.strictEqual(progress.terminal?.failure?.kind, kind)
    assert.strictEqual(progress.terminal?.failure?.status, status)
    assert.strictEqual(progress.terminal?.stop, "error")
  })

  it("each retry is told once, with the status of the call before", () => {
    const retries = only(play("copilot-err429").events, "Retry")
    assert.deepStrictEqual(
      retries.map(({ attempt, reason, status }) => ({ attempt, reason, status })),
      [1, 2, 3, 4, 5].map(
        (attempt) => ({ attempt, reason: "rate_limit", status: 429 })
      )
    )
  })

  it("a retry that helped", () => {
    const { progress } = play("copilot-err429-once")
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    assert.strictEqual(progress.text, "after one 429")
  })

  it("attempts that were cut off are never added up", () => {
    const { events, progress } = play("copilot-truncated-stream")
    assert.lengthOf(only(events, "Text"), 6)
    assert.strictEqual(progress.text, "partial answ")
  })

  it("an interrupted turn is not a success, although the CLI exits with 0", () => {
    const lines = records("copilot-kill-sigterm")
    for (const seen of [lines, lines.filter((entry) => entry["type"] !== "result")]) {
      const { terminal } = replay(Copilot.driver, seen).progress
      assert.strictEqual(terminal?.stop, "interrupted")
      assert.strictEqual(terminal?.failure?.kind, "turn-failed")
    }
  })

  it("a killed run can be continued under the id that it was given", () => {
    const { diagnose, events, progress } = play("copilot-kill-sigkill")
    assert.strictEqual(progress.session, uuid)
    assert.isUndefined(progress.terminal)
    assert.deepStrictEqual(progress.openToolCalls, [{ id: "toolu_fake_1", name: "bash" }])
    assert.strictEqual(only(events, "Started")[0]?.session, uuid)
    assert.isUndefined(diagnose({ exit: { code: null, signal: "SIGKILL" } }))
  })
})

describe("copilot, line by line", () => {
  it("has no conversation before it has said anything", () => {
    assert.isUndefined(feed([]).progress.session)
    assert.strictEqual(feed([line("x")], ask({ session: Session.resume("abc") })).progress.session, "abc")
  })

  it("is announced without a model when none is told", () => {
    const { events } = feed([line("user.message"), line("session.tools_updated", { model: "late" })])
    assert.deepStrictEqual(only(events, "Started"), [{ _tag: "Started", session: uuid }])
  })

  it("the answer is the last complete message; what comes in chunks is one", () => {
    const { progress } = feed([
      line("assistant.message", { messageId: "1", content: "first" }),
      line("assistant.message", { messageId: "2", content: "a", chunkIndex: 0, chunkCount: 2 }),
      line("assistant.message", { messageId: "3", content: "b", chunkIndex: 1, chunkCount: 2 }),
      line("assistant.message", { messageId: "4", content: "", toolRequests: [] })
    ])
    assert.strictEqual(progress.text, "ab")
  })

  it("an answer without deltas is shown as well, one with deltas only once", () => {
    const whole = line("assistant.message", { messageId: "1", content: "hello" })
    assert.lengthOf(only(feed([whole]).events, "Text"), 1)
    assert.lengthOf(only(feed([delta("1", "hel"), delta("1", "lo"), whole]).events, "Text"), 2)
  })

  it("keeps what was said so far, from the newest attempt", () => {
    const lines = [delta("1", "old "), delta("1", "words"), line("assistant.turn_retry"), delta("2", "new")]
    assert.strictEqual(feed(lines.slice(0, 2)).progress.text, "old words")
    assert.strictEqual(feed(lines).progress.text, "new")
    assert.strictEqual(feed([delta("1", "old"), delta("2", "new")]).progress.text, "new")
  })

  it("keeps sub-agents apart", () => {
    const { events, progress } = feed([
      line("assistant.message", { messageId: "1", content: "below", parentToolCallId: "t" }),
      { ...line("tool.execution_start", { toolCallId: "c", toolName: "view" }), agentId: "agent-1" }
    ])
    assert.strictEqual(progress.text, "")
    assert.strictEqual(only(events, "Message")[0]?.parent, "t")
    assert.strictEqual(only(events, "ToolCall")[0]?.parent, "agent-1")
  })

  it("thoughts are not told twice", () => {
    const thought = (type: string, fields: { readonly [key: string]: unknown }) =>
      line(`assistant.${type}`, { reasoningId: "r", ...fields })
    const { events } = feed([
      thought("reasoning_delta", { deltaContent: "h" }),
      thought("reasoning_delta", { deltaContent: "m" }),
      thought("reasoning", { content: "hm" }),
      line("assistant.reasoning", { reasoningId: "r2", content: "other" })
    ])
    assert.deepStrictEqual(only(events, "Thinking").map(({ text }) => text), ["h", "m", "other"])
  })

  it("an error that another turn made good does not count", () => {
    const error = line("session.error", { errorType: "quota", message: "no more" })
    const { terminal } = feed([error, line("assistant.turn_start"), result()]).progress
    assert.deepStrictEqual(terminal, { stop: "completed" })
    assert.strictEqual(feed([error, result(1)]).progress.terminal?.failure?.kind, "rate-limited")
    assert.strictEqual(feed([error]).diagnose({})?.kind, "rate-limited")
  })

  it("an exit code without a reason is a failure", () => {
    assert.strictEqual(feed([result(3)]).progress.terminal?.failure?.kind, "turn-failed")
  })

  it("counts requests and credits", () => {
    const { events, progress } = feed([
      line("session.usage_checkpoint", { totalNanoAiu: 42, totalPremiumRequests: 1 }),
      line("session.usage_info", { currentTokens: 9, tokenLimit: 100 }),
      result()
    ])
    assert.deepStrictEqual(progress.usage, {
      aiCreditsNano: 42,
      premiumRequests: 2,
      contextTokens: 9,
      contextWindow: 100
    })
    assert.lengthOf(only(events, "Usage"), 2)
    const checkpoint = line("session.usage_checkpoint", { totalNanoAiu: 42, totalPremiumRequests: 1 })
    assert.deepStrictEqual(feed([checkpoint, result()], ask({ session: Session.resume(uuid) })).progress.usage, {
      aiCreditsNano: 42
    })
  })

  it("news of other kinds", () => {
    const { events } = feed([
      line("session.compaction_start"),
      line("session.compaction_complete", { success: false }),
      line("session.warning", { message: "careful" }),
      line("session.info", {})
    ])
    assert.deepStrictEqual(events, [
      { _tag: "Compaction", phase: "started" },
      { _tag: "Compaction", phase: "finished", ok: false },
      { _tag: "Notice", level: "warning", text: "careful" },
      { _tag: "Unknown", type: "session.info", raw: { type: "session.info", data: {} } }
    ])
  })
})

describe("copilot, without a word", () => {
  it.each([
    ["error: unexpected argument '--frobnicate' found", "flag-rejected"],
    ["error: invalid value 'bogus' for '--reasoning-effort <level>'", "flag-rejected"],
    ["error: Invalid command format.", "flag-rejected"],
    ["Error: No session, task, or name matched '1'.", "session-not-found"],
    ["Error: No session or task matched 'x'.", "session-not-found"],
    ["Error: No authentication information found.", "not-authenticated"],
    ["BYOK providers require an explicit model. ", "turn-failed"]
  ])("%s", (stderrTail, kind) => {
    assert.strictEqual(feed([]).diagnose({ stderrTail })?.kind, kind)
  })

  it("what is printed beside the protocol counts as well, a clean exit does not", () => {
    const noise = ["Error: No authentication information found."]
    assert.strictEqual(feed([]).diagnose({ noise })?.kind, "not-authenticated")
    assert.isUndefined(feed([]).diagnose({ noise, exit: { code: 0, signal: null } }))
  })
})
