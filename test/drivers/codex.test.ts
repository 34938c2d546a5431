import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Codex from "effect-agents/Codex"
import * as Session from "effect-agents/Session"
import { ask, only, records, replay } from "./replay.js"

const play = (name: string, request = ask()) => replay(Codex.driver, records(name), request)
const feed = (lines: ReadonlyArray<AgentDriver.JsonRecord>, request = ask()) => replay(Codex.driver, lines, request)
const item = (phase: string, fields: { readonly [key: string]: unknown }) => ({ type: `item.${phase}`, item: fields })
const message = (text: string) => item("completed", { id: "m", type: "agent_message", text })
const failed = (text: string) => ({ type: "turn.failed", error: { message: text } })

describe("codex, as captured", () => {
  it("a text", () => {
    const { events, progress } = play("codex-text")
    assert.deepStrictEqual(events.map((event) => event._tag), [
      "Started",
      "Notice",
      "Unknown",
      "Thinking",
      "Text",
      "Message",
      "Usage",
      "Finished"
    ])
    assert.strictEqual(progress.session, "01a22cca-a248-78c2-adf8-e58e6e5d8c5c")
    assert.strictEqual(progress.text, "Hello from the fake model.")
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    // 11 with the 3 that a cache served.
    assert.deepStrictEqual(progress.usage, {
      inputTokens: 8,
      outputTokens: 7,
      cacheReadTokens: 3,
      cacheWriteTokens: 0,
      reasoningTokens: 2
    })
  })

  it("a warning is not a failure", () => {
    assert.deepInclude(only(play("codex-text").events, "Notice")[0], { level: "warning" })
  })

  it("a command that fails", () => {
    const { events, progress } = play("codex-tool")
    assert.deepStrictEqual(only(events, "ToolCall"), [{
      _tag: "ToolCall",
      id: "item_2",
      name: "command_execution",
      input: { command: "/bin/bash -lc 'echo out; echo err >&2; exit 3'" }
    }])
    assert.deepStrictEqual(only(events, "ToolResult"), [
      { _tag: "ToolResult", id: "item_2", ok: false, exitCode: 3, output: "out\nerr\n" }
    ])
    assert.strictEqual(progress.text, "done", "the last message, not the sum")
    assert.deepStrictEqual(progress.openToolCalls, [])
  })

  it("a command that never ended stays open", () => {
    assert.deepStrictEqual(play("codex-fg").progress.openToolCalls, [{ id: "item_1", name: "command_execution" }])
  })

  it.each([
    ["codex-e401", "not-authenticated", 401],
    ["codex-e429", "rate-limited", 429],
    ["codex-e500", "overloaded", undefined],
    ["codex-trunc", "overloaded", undefined],
    ["codex-stall", "overloaded", undefined],
    ["codex-e400", "turn-failed", undefined]
  ])("%s is %s", (name, kind, status) => {
    const { events, progress } = play(name)
    assert.strictEqual(progress.terminal?.failure?.kind, kind)
    assert.strictEqual(progress.terminal?.failure?.status, status)
    assert.deepStrictEqual(only(events, "Finished"), [{ _tag: "Finished", ok: false, stop: "error" }])
  })

  it("unwraps what the provider said", () => {
    assert.strictEqual(play("codex-e400").progress.terminal?.failure?.detail, "bad request")
  })

  it("a retry that helped", () => {
    const { events, progress } = play("codex-e429once")
    assert.deepStrictEqual(only(events, "Retry"), [{
      _tag: "Retry",
      reason: "exceeded retry limit, last status: 429 Too Many Requests",
      attempt: 1,
      maxAttempts: 1,
      status: 429
    }])
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    assert.strictEqual(progress.text, "recovered")
  })
})

describe("codex, line by line", () => {
  it("tools that come without a beginning", () => {
    const { events, progress } = feed([
      item("completed", {
        id: "1",
        type: "mcp_tool_call",
        server: "s",
        tool: "t",
        arguments: { a: 1 },
        status: "failed",
        result: null,
        error: { message: "needs approval" }
      }),
      item("completed", {
        id: "2",
        type: "mcp_tool_call",
        server: "s",
        tool: "t",
        status: "completed",
        result: { content: [{ type: "text", text: "one" }, { type: "text", text: "two" }] }
      }),
      item("completed", { id: "3", type: "file_change", changes: [{ path: "a", kind: "add" }], status: "completed" }),
      item("completed", { id: "4", type: "web_search", query: "q" }),
      item("completed", { id: "5", type: "command_execution", command: "rm", status: "declined", exit_code: null })
    ])
    assert.deepStrictEqual(only(events, "ToolCall").map(({ id, name }) => `${id} ${name}`), [
      "1 mcp__s__t",
      "2 mcp__s__t",
      "3 file_change",
      "4 web_search",
      "5 command_execution"
    ])
    const results = only(events, "ToolResult")
    assert.deepStrictEqual(results.map(({ ok }) => ok), [false, true, true, undefined, false])
    assert.deepStrictEqual(results.map(({ output }) => output).slice(0, 3), [
      "needs approval",
      "one\ntwo",
      [{ path: "a", kind: "add" }]
    ])
    assert.isTrue(results[4]?.denied)
    assert.deepStrictEqual(progress.openToolCalls, [])
  })

  it("a plan and its updates are told, what is not known is kept as it is", () => {
    const list = (done: boolean) => ({ id: "1", type: "todo_list", items: [{ text: "look", completed: done }] })
    const { events } = feed([item("started", list(false)), item("updated", list(true)), { type: "news" }])
    assert.deepStrictEqual(only(events, "Plan").map(({ steps }) => steps), [
      [{ text: "look", status: "pending" }],
      [{ text: "look", status: "completed" }]
    ])
    assert.deepStrictEqual(only(events, "Unknown").map(({ type }) => type), ["news"])
  })

  it("figures of a continued conversation are not those of the run", () => {
    const lines = [{ type: "turn.completed", usage: { input_tokens: 300, output_tokens: 30 } }]
    for (const session of [Session.resume("x"), Session.fork("x")]) {
      assert.deepStrictEqual(feed(lines, ask({ session })).progress.usage, {})
    }
  })

  it("the value that a schema asks for is the answer, read", () => {
    const request = ask({ outputSchema: { type: "object" } })
    const { progress } = feed([message("{\"a\":1}"), { type: "turn.completed" }], request)
    assert.deepStrictEqual(progress.structured, { a: 1 })
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    const words = feed([message("sorry"), { type: "turn.completed" }], request).progress
    assert.strictEqual(words.terminal?.failure?.kind, "output-invalid")
    assert.isUndefined(feed([message("{\"a\":1}"), { type: "turn.completed" }]).progress.structured)
  })

  it.each([
    [
      "{\"type\":\"error\",\"status\":400,\"error\":{\"message\":\"{\\\"detail\\\":\\\"no such model\\\"}\"}}",
      "turn-failed",
      "no such model"
    ],
    [
      "unexpected status 503 Service Unavailable: {\"error\":{\"message\":\"busy\"}}, url: http://h/",
      "overloaded",
      "busy"
    ],
    [
      "{\"status\":500,\"error\":{\"message\":\"{\\\"status\\\":401,\\\"message\\\":\\\"who?\\\"}\"}}",
      "not-authenticated",
      "who?"
    ],
    ["Missing environment variable: `KEY`.", "not-authenticated", "Missing environment variable: `KEY`."],
    ["the id is 4f2e-401-429-503", "turn-failed", "the id is 4f2e-401-429-503"],
    ["error sending request for url (http://h/v1)", "overloaded", "error sending request for url (http://h/v1)"]
  ])("%s", (text, kind, detail) => {
    const failure = feed([failed(text)]).progress.terminal?.failure
    assert.strictEqual(failure?.kind, kind)
    assert.strictEqual(failure?.detail, detail)
  })

  it("tells when to come back", () => {
    const { failure } =
      feed([failed("You've hit your usage limit. Try again in 1 hour 30 minutes.")]).progress.terminal ?? {}
    assert.deepInclude({ ...failure }, { kind: "rate-limited", retryAfterMs: 5_400_000 })
  })

  it("a network that is away is a retry without a number", () => {
    const { events } = feed([{ type: "error", message: "Reconnecting... waiting for network (Connection failed: x)" }])
    assert.deepStrictEqual(events, [{ _tag: "Retry", reason: "Connection failed: x" }])
  })

  it("a turn after the end takes the end back, and another thread is seen", () => {
    const { progress } = feed([
      { type: "thread.started", thread_id: "a" },
      { type: "turn.completed" },
      { type: "thread.started", thread_id: "b" },
      { type: "turn.started" }
    ])
    assert.isUndefined(progress.terminal)
    assert.strictEqual(progress.session, "b")
  })
})

describe("codex, without a word", () => {
  it.each([
    ["error: unexpected argument '--frobnicate' found", "flag-rejected"],
    ["error: invalid value 'bogus' for '--sandbox <SANDBOX_MODE>'", "flag-rejected"],
    ["Error: thread/resume: thread/resume failed: no rollout found for thread id 1 (code -32600)", "session-not-found"],
    ["Error: Session not found: nope", "session-not-found"],
    ["Not inside a trusted directory and --skip-git-repo-check was not specified.", "turn-failed"],
    ["Error loading config.toml: unknown variant `nope`", "turn-failed"]
  ])("%s", (stderrTail, kind) => {
    assert.strictEqual(feed([]).diagnose({ stderrTail })?.kind, kind)
  })

  it("says how to work outside of git", () => {
    const failure = feed([]).diagnose({
      stderrTail: "Not inside a trusted directory and --skip-git-repo-check was not"
    })
    assert.include(failure?.detail, "extraArgs")
  })

  it("gives up with what it complained of last, unless work went on or somebody killed it", () => {
    const complaint = { type: "error", message: "Reconnecting... 1/5 (unexpected status 401 Unauthorized: x, url: y)" }
    assert.strictEqual(feed([complaint]).diagnose({})?.kind, "not-authenticated")
    assert.isUndefined(feed([complaint, message("x")]).diagnose({}))
    assert.isUndefined(feed([complaint]).diagnose({ exit: { code: null, signal: "SIGKILL" } }))
  })
})
