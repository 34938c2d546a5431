/** What the words of a failure mean: its fields first, then words where they stand in their context. */
import { assert, describe, it } from "@effect/vitest"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import { replay } from "./replay.js"

const codex = (message: string) =>
  replay(Codex.driver, [{ type: "turn.failed", error: { message } }]).progress.terminal?.failure

const copilot = (data: object) =>
  replay(Copilot.driver, [{ type: "session.error", data }, { type: "result", sessionId: "s", exitCode: 1 }]).progress
    .terminal?.failure

const claude = (fields: object) =>
  replay(Claude.driver, [{
    type: "result",
    subtype: "success",
    is_error: true,
    terminal_reason: "api_error",
    ...fields
  }])
    .progress.terminal?.failure

describe("words of a failure", () => {
  it.each([
    ["unexpected status 529: overloaded", "overloaded", 529],
    ["503 Service Unavailable", "overloaded", 503],
    // However it is called, the status is that of a provider that failed.
    ["auth error: 503", "overloaded", 503],
    ["Unauthorized (HTTP 503)", "overloaded", 503],
    ["exceeded retry limit, last status: 429 Too Many Requests", "rate-limited", 429],
    ["You've hit your usage limit. Upgrade or try again in 2 hours.", "rate-limited", undefined],
    // Numbers and words that mean something else here.
    ["line 529 of the patch does not apply", "turn-failed", undefined],
    ["error: 503 tests failed", "turn-failed", undefined],
    ["the id 401 is taken", "turn-failed", undefined],
    ["write failed: disk quota exceeded", "turn-failed", undefined]
  ])("%s", (message, kind, status) => {
    const failure = codex(message)
    assert.deepStrictEqual([failure?.kind, failure?.status], [kind, status])
  })

  it("what the fields say comes before the words", () => {
    const words = "Not logged in: your quota is used up"
    for (const [status, kind] of [[503, "overloaded"], [429, "rate-limited"], [403, "turn-failed"]] as const) {
      assert.strictEqual(claude({ api_error_status: status, result: words })?.kind, kind)
    }
    assert.strictEqual(copilot({ errorType: "query", statusCode: 503, message: words })?.kind, "overloaded")
    assert.strictEqual(copilot({ errorType: "rate_limit", message: "Not logged in" })?.kind, "rate-limited")
  })

  it("says how long it takes, also where the provider was overloaded", () => {
    const wait = "try again in 1 minute 30 seconds"
    assert.strictEqual(codex(`We're currently experiencing high demand, ${wait}`)?.retryAfterMs, 90_000)
    assert.strictEqual(codex(`You've hit your usage limit, ${wait}`)?.retryAfterMs, 90_000)
    assert.strictEqual(copilot({ errorType: "query", statusCode: 529, message: wait })?.retryAfterMs, 90_000)
    assert.isUndefined(codex(`bad request, ${wait}`)?.retryAfterMs)
  })
})

describe("files that a tool call writes", () => {
  it.each([
    ["claude", Claude.driver.writes, { name: "Write", input: { file_path: "/a/b.ts" } }, ["/a/b.ts"]],
    ["claude", Claude.driver.writes, { name: "NotebookEdit", input: { notebook_path: "n.ipynb" } }, ["n.ipynb"]],
    ["claude", Claude.driver.writes, { name: "Read", input: { file_path: "a" } }, []],
    ["claude", Claude.driver.writes, { name: "Edit", input: { file_path: 7 } }, []],
    ["codex", Codex.driver.writes, { name: "file_change", input: { changes: [{ path: "a" }, { path: "b" }, 7] } }, [
      "a",
      "b"
    ]],
    ["codex", Codex.driver.writes, { name: "command_execution", input: { command: "touch a" } }, []],
    ["copilot", Copilot.driver.writes, { name: "create", input: { path: "a" } }, ["a"]],
    ["copilot", Copilot.driver.writes, { name: "view", input: { path: "a" } }, []],
    ["copilot", Copilot.driver.writes, {
      name: "apply_patch",
      input: "*** Begin Patch\n*** Update File: src/a b.ts\n@@\n-*** Add File: no\n*** Delete File: c\n*** End Patch"
    }, ["src/a b.ts", "c"]],
    ["copilot", Copilot.driver.writes, { name: "edit", input: null }, []]
  ])("%s, %#", (_, writes, call, files) => assert.deepStrictEqual(writes?.(call), files))
})
