import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Claude from "effect-agents/Claude"
import * as Session from "effect-agents/Session"
import { ask, only, records, replay } from "./replay.js"

const play = (name: string, request = ask()) => replay(Claude.driver, records(name), request)

type Fields = { readonly [key: string]: unknown }

const init = (fields: Fields = {}): Fields => ({
  type: "system",
  subtype: "init",
  session_id: "s1",
  model: "m1",
  ...fields
})
const assistant = (id: string, content: ReadonlyArray<unknown>, fields: Fields = {}): Fields => ({
  type: "assistant",
  session_id: "s1",
  parent_tool_use_id: null,
  message: { id, model: "m1", content, usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } },
  ...fields
})
const text = (value: string): Fields => ({ type: "text", text: value })
const stream = (event: Fields, fields: Fields = {}): Fields => ({
  type: "stream_event",
  event,
  session_id: "s1",
  ...fields
})
const textDelta = (value: string): Fields =>
  stream({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: value } })
const result = (fields: Fields = {}): Fields => ({
  type: "result",
  subtype: "success",
  is_error: false,
  session_id: "s1",
  result: "done",
  usage: { input_tokens: 30, output_tokens: 9 },
  ...fields
})
const feed = (lines: ReadonlyArray<AgentDriver.JsonRecord>, request = ask()) => replay(Claude.driver, lines, request)

describe("claude, as captured", () => {
  it("a text: one answer, one usage, one end", () => {
    const { events, progress } = play("claude-text")
    assert.deepStrictEqual(events.map((event) => event._tag), [
      "Started",
      "Commands",
      "Text",
      "Message",
      "Usage",
      "Finished"
    ])
    assert.strictEqual(progress.session, "418fc5d1-efde-46cc-8125-53722ea617bf")
    assert.deepStrictEqual(events[0], {
      _tag: "Started",
      session: "418fc5d1-efde-46cc-8125-53722ea617bf",
      model: "claude-sonnet-4-5"
    })
    assert.strictEqual(progress.text, "Hello from the fake model.")
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    const { apiDurationMs, costUsd, durationMs, ...usage } = progress.usage
    assert.deepStrictEqual(usage, {
      inputTokens: 100,
      outputTokens: 10,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      modelCalls: 1,
      contextWindow: 200_000,
      maxOutputTokens: 32_000,
      contextTokens: 100
    })
    assert.closeTo(costUsd ?? 0, 0.00045, 1e-9)
    assert.strictEqual(apiDurationMs, 27)
    assert.strictEqual(durationMs, 96)
  })

  it("deltas are not said twice by the finished copy", () => {
    const { events, progress } = play("claude-partial")
    assert.deepStrictEqual(only(events, "Text"), [{ _tag: "Text", text: "Hello from the fake model." }])
    assert.lengthOf(only(events, "Message"), 1)
    assert.strictEqual(progress.text, "Hello from the fake model.")
    assert.deepStrictEqual(only(events, "Usage").map((event) => event.usage.outputTokens), [10])
  })

  it("a tool call and its result", () => {
    const { events, progress } = play("claude-tool")
    assert.deepStrictEqual(only(events, "ToolCall").map(({ id, name }) => ({ id, name })), [
      { id: "toolu_fake_1", name: "Bash" }
    ])
    const [answer] = only(events, "ToolResult")
    assert.strictEqual(answer?.id, "toolu_fake_1")
    assert.isTrue(answer?.ok)
    assert.match(String(answer?.output), /^hello-from-tool\n/)
    assert.deepStrictEqual(progress.openToolCalls, [])
    assert.strictEqual(progress.usage.modelCalls, 2)
    assert.strictEqual(progress.usage.inputTokens, 200)
    assert.strictEqual(progress.usage.contextTokens, 100)
  })

  it("a tool call that was not allowed is one result, denied", () => {
    const { events, progress } = play("claude-permission-denied")
    const results = only(events, "ToolResult")
    assert.lengthOf(results, 1)
    assert.deepInclude(results[0], { id: "toolu_fake_1", ok: false, denied: true })
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
  })

  it.each([
    ["claude-err401-no-retries", "not-authenticated", 401],
    ["claude-err429", "rate-limited", 429]
  ])("%s is %s", (name, kind, status) => {
    const { events, progress } = play(name)
    assert.strictEqual(progress.terminal?.failure?.kind, kind)
    assert.strictEqual(progress.terminal?.failure?.status, status)
    assert.strictEqual(progress.terminal?.stop, "error")
    assert.strictEqual(progress.text, "", "the words of the CLI are not an answer")
    assert.deepStrictEqual(only(events, "Text"), [])
    assert.lengthOf(only(events, "Notice"), 1)
  })

  it("retries are told with their number, their wait and the status", () => {
    const [first, ...rest] = only(play("claude-err429").events, "Retry")
    assert.deepStrictEqual(first, {
      _tag: "Retry",
      reason: "rate_limit",
      attempt: 1,
      maxAttempts: 10,
      delayMs: 1038,
      status: 429
    })
    assert.lengthOf(rest, 9)
  })

  it("the turn limit is a failure that says so", () => {
    const { terminal } = play("claude-max-turns").progress
    assert.strictEqual(terminal?.stop, "max-turns")
    assert.deepStrictEqual(terminal?.failure, { kind: "turn-failed", detail: "Reached maximum number of turns (3)" })
  })

  it("a structured answer", () => {
    const { progress } = play("claude-json-schema", ask({ outputSchema: { type: "object" } }))
    assert.deepStrictEqual(progress.structured, { name: "fake" })
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
  })

  it("an interrupted turn is not a success, although the CLI exits with 0", () => {
    const { terminal } = play("claude-kill-sigint").progress
    assert.strictEqual(terminal?.stop, "interrupted")
    assert.strictEqual(terminal?.failure?.kind, "turn-failed")
  })

  it.each(["claude-kill-sigkill", "claude-kill-sigterm"])(
    "%s leaves no end, and a conversation to continue",
    (name) => {
      const { progress } = play(name)
      assert.isUndefined(progress.terminal)
      assert.isString(progress.session)
    }
  )

  it("a killed run knows which tool was at work", () => {
    assert.deepStrictEqual(play("claude-kill-sigkill").progress.openToolCalls, [{ id: "toolu_fake_1", name: "Bash" }])
  })

  it("work in the background: the first result is not the end, turns are added up", () => {
    const lines = records("claude-run-in-background")
    const { progress } = replay(Claude.driver, lines)
    assert.strictEqual(progress.usage.inputTokens, 400)
    assert.strictEqual(progress.usage.modelCalls, 4)
    assert.closeTo(progress.usage.costUsd ?? 0, 0.0018, 1e-9)
    const second = lines.map((line) => line["subtype"]).lastIndexOf("init")
    assert.isUndefined(replay(Claude.driver, lines.slice(0, second + 1)).progress.terminal)
    assert.isDefined(replay(Claude.driver, lines.slice(0, second)).progress.terminal)
  })
})

describe("claude, line by line", () => {
  it("keeps the answer so far, and forgets it when another message begins", () => {
    const start = (id: string) => stream({ type: "message_start", message: { id, usage: { input_tokens: 7 } } })
    const lines = [init(), start("a"), textDelta("one "), textDelta("two"), start("b"), textDelta("three")]
    assert.strictEqual(feed(lines.slice(0, 4)).progress.text, "one two")
    const { progress } = feed(lines)
    assert.strictEqual(progress.text, "three")
    assert.deepStrictEqual(progress.usage, { inputTokens: 14, modelCalls: 2, contextTokens: 7 })
  })

  it("tells a model call once, however many blocks it has", () => {
    const { events, progress } = feed([
      init(),
      assistant("a", [text("one ")]),
      assistant("a", [text("two")]),
      assistant("a", [{ type: "tool_use", id: "t", name: "Read", input: { file: "x" } }])
    ])
    assert.lengthOf(only(events, "Usage"), 1)
    assert.strictEqual(progress.text, "one two")
    assert.strictEqual(progress.usage.inputTokens, 10)
    assert.isUndefined(progress.usage.outputTokens, "the count of a call in progress is a placeholder")
    assert.strictEqual(progress.usage.contextTokens, 15)
  })

  it("keeps sub-agents apart: their words are not the answer, their calls name their parent", () => {
    const sub = { parent_tool_use_id: "task1" }
    const lines = [
      init(),
      assistant("a", [{ type: "tool_use", id: "task1", name: "Task", input: {} }]),
      { ...assistant("b", [text("from below"), { type: "tool_use", id: "t2", name: "Read", input: {} }]), ...sub },
      { ...stream({ type: "content_block_delta", delta: { type: "text_delta", text: "more" } }), ...sub },
      { type: "user", ...sub, message: { content: [{ type: "tool_result", tool_use_id: "t2", content: "x" }] } },
      { ...assistant("b2", [{ type: "thinking", thinking: "hm" }]), ...sub },
      assistant("c", [text("the answer")])
    ]
    const { events, progress } = feed(lines)
    assert.strictEqual(progress.text, "the answer")
    assert.strictEqual(feed(lines.slice(0, 4)).progress.text, "")
    assert.deepStrictEqual(only(events, "Text").map(({ parent }) => parent), ["task1", "task1", undefined])
    assert.deepStrictEqual(only(events, "ToolCall").map(({ parent }) => parent), [undefined, "task1"])
    assert.strictEqual(only(events, "ToolResult")[0]?.parent, "task1")
    assert.deepStrictEqual(only(events, "Thinking"), [{ _tag: "Thinking", text: "hm", parent: "task1" }])
    assert.deepStrictEqual(progress.openToolCalls, [{ id: "task1", name: "Task" }])
  })

  it("results of tools: what failed, what was rejected, what is more than text", () => {
    const block = (id: string, fields: Fields) => ({ type: "tool_result", tool_use_id: id, ...fields })
    const { events } = feed([{
      type: "user",
      message: {
        content: [
          block("a", { content: "Exit code 1", is_error: true }),
          block("b", { content: [{ type: "text", text: "one" }, { type: "text", text: "two" }] }),
          block("c", { content: [{ type: "image" }], is_error: true })
        ]
      },
      tool_result_meta: [{ id: "c", permission_decision: { decision: "reject" } }]
    }])
    assert.deepStrictEqual(only(events, "ToolResult"), [
      { _tag: "ToolResult", id: "a", ok: false, output: "Exit code 1" },
      { _tag: "ToolResult", id: "b", ok: true, output: "one\ntwo" },
      { _tag: "ToolResult", id: "c", ok: false, denied: true, output: [{ type: "image" }] }
    ])
  })

  it("takes the window of the model that was asked, not of a helper", () => {
    const models = { helper: { contextWindow: 1 }, m1: { contextWindow: 1_000_000, maxOutputTokens: 5 } }
    assert.strictEqual(feed([init(), result({ modelUsage: models })]).progress.usage.contextWindow, 1_000_000)
    const other = feed([init({ model: "m2" }), result({ modelUsage: models })])
    assert.isUndefined(other.progress.usage.contextWindow, "several and none fits: unknown, not guessed")
    const single = feed([init({ model: "alias" }), result({ modelUsage: { m9: { contextWindow: 9 } } })])
    assert.strictEqual(single.progress.usage.contextWindow, 9)
  })

  it("reports the cost of this run, where the CLI tells that of the conversation", () => {
    const line = result({
      total_cost_usd: 0.9,
      duration_api_ms: 900,
      model_usage_since_last_result: { m1: { costUSD: 0.2 }, helper: { costUSD: 0.1 } }
    })
    assert.strictEqual(feed([init(), line]).progress.usage.costUsd, 0.9)
    assert.strictEqual(feed([init(), line]).progress.usage.apiDurationMs, 900)
    for (const session of [Session.resume("s1"), Session.fork("s1")]) {
      const { usage } = feed([init(), line], ask({ session })).progress
      assert.closeTo(usage.costUsd ?? 0, 0.3, 1e-9)
      assert.isUndefined(usage.apiDurationMs)
    }
  })

  it("a warning about the quota is no refusal", () => {
    const event = (status: string) => ({
      type: "rate_limit_event",
      rate_limit_info: {
        status,
        resetsAt: 1_796_050_000,
        rateLimitType: "five_hour",
        overageStatus: "allowed",
        isUsingOverage: false
      }
    })
    const { events, progress } = feed([init(), event("allowed_warning"), result()])
    assert.deepStrictEqual(only(events, "RateLimit"), [
      {
        _tag: "RateLimit",
        status: "allowed_warning",
        resetsAt: 1_796_050_000_000,
        window: "five_hour",
        overageStatus: "allowed",
        isUsingOverage: false
      }
    ])
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    const failed = result({ is_error: true, terminal_reason: "api_error", result: "limit reached" })
    assert.deepStrictEqual(feed([init(), event("rejected"), failed]).progress.terminal?.failure, {
      kind: "rate-limited",
      detail: "limit reached",
      resetsAt: 1_796_050_000_000
    })
    assert.strictEqual(feed([init(), event("allowed_warning"), failed]).progress.terminal?.failure?.kind, "overloaded")
  })

  it.each([
    [{ api_error_status: 500 }, "overloaded"],
    [{ api_error_status: 529 }, "overloaded"],
    [{ api_error_status: 400 }, "turn-failed"],
    [{ api_error_status: null, api_error: "connection_failed" }, "overloaded"],
    [{ api_error_status: null, api_error_type: "authentication_error" }, "not-authenticated"],
    [{ terminal_reason: "api_error" }, "overloaded"],
    [{ subtype: "error_during_execution" }, "turn-failed"]
  ])("%j is %s", (fields, kind) => {
    const line = result({ is_error: true, result: "please log in, 401, rate limit", ...fields })
    assert.strictEqual(feed([init(), line]).progress.terminal?.failure?.kind, kind)
  })

  it("an answer about failures is an answer", () => {
    const words = "API Error: 401 Not logged in. Please run /login. rate limit reached (429)"
    const { progress } = feed([init(), assistant("a", [text(words)]), result({ result: words })])
    assert.deepStrictEqual(progress.terminal, { stop: "completed" })
    assert.strictEqual(progress.text, words)
  })

  it("a schema without a value is no success, whether or not the CLI has tried to have it mended", () => {
    for (
      const line of [
        result(),
        result({
          subtype: "error_max_structured_output_retries",
          is_error: true,
          errors: ["Failed to provide valid structured output after 5 attempts"]
        })
      ]
    ) {
      const { terminal } = feed([init(), line], ask({ outputSchema: {} })).progress
      assert.strictEqual(terminal?.stop, "error")
      assert.strictEqual(terminal?.failure?.kind, "output-invalid")
    }
  })

  it("a conversation that does not exist", () => {
    const line = result({
      subtype: "error_during_execution",
      is_error: true,
      session_id: "asked",
      errors: ["No conversation found with session ID: asked"]
    })
    const { progress } = feed([line], ask({ session: Session.resume("asked") }))
    assert.strictEqual(progress.terminal?.failure?.kind, "session-not-found")
    assert.isUndefined(progress.session)
  })

  it("the newest id wins, and every kind of news about the context is told", () => {
    const { events, progress } = feed([
      init(),
      init({ session_id: "s2" }),
      { type: "system", subtype: "status", status: "compacting", session_id: "s2" },
      { type: "system", subtype: "status", status: null, compact_result: "failed", session_id: "s2" },
      { type: "system", subtype: "compact_boundary", session_id: "s2" }
    ])
    assert.strictEqual(progress.session, "s2")
    assert.deepStrictEqual(only(events, "Started").map(({ session }) => session), ["s1", "s2"])
    assert.deepStrictEqual(only(events, "Compaction"), [
      { _tag: "Compaction", phase: "started" },
      { _tag: "Compaction", phase: "finished", ok: false },
      { _tag: "Compaction", phase: "finished", ok: true }
    ])
  })

  it.each([["max-budget", { subtype: "error_max_budget_usd", is_error: true }], ["refused", {
    stop_reason: "refusal"
  }]])(
    "stops by %s",
    (stop, fields) => {
      assert.strictEqual(feed([init(), result(fields)]).progress.terminal?.stop, stop)
    }
  )
})

describe("claude, without a word", () => {
  const tell = (stderrTail: string, records = 0) => feed([]).diagnose({ stderrTail, records })

  it.each([
    ["error: unknown option '--frobnicate'", "flag-rejected"],
    ["error: option '--permission-mode <mode>' argument 'x' is invalid. Allowed choices are plan.", "flag-rejected"],
    ["Error: Session ID 1 is already in use.", "turn-failed"],
    ["No conversation found with session ID: 1", "session-not-found"],
    ["Error: --resume requires a valid session ID or session title when used with --print.", "session-not-found"],
    ["Invalid API key · Please run /login", "not-authenticated"]
  ])("%s", (line, kind) => {
    const failure = tell(`noise\n${line}\n`)
    assert.strictEqual(failure?.kind, kind)
    assert.strictEqual(failure?.detail, line)
  })

  it("knows nothing of what others printed", () => {
    assert.isUndefined(tell("a server says: something broke"))
    assert.isUndefined(tell("error: unknown option '--x'", 3), "the CLI had begun: this is somebody else's word")
  })
})
