import { assert, describe, it } from "@effect/vitest"
import { lookup, select } from "../../src/internal/run/environment.js"

const windows = {
  Path: "C:\\bin",
  SystemRoot: "C:\\Windows",
  Anthropic_Api_Key: "key",
  ClaudeCode: "1",
  EDITOR: "vi"
}

const selected = (policy: Parameters<typeof select>[0]["policy"], platform: string) =>
  Object.keys(select({ policy, host: windows, platform, needed: ["ANTHROPIC_API_KEY"], nesting: ["CLAUDECODE"] }))

describe("environment", () => {
  it("Windows spells its variables as it likes", () => {
    assert.deepStrictEqual(selected("minimal", "win32"), ["Path", "SystemRoot", "Anthropic_Api_Key"])
    assert.deepStrictEqual(selected("inherit", "win32"), ["Path", "SystemRoot", "Anthropic_Api_Key", "EDITOR"])
    assert.deepStrictEqual(selected({ only: ["PATH"] }, "win32"), ["Path"])
    assert.strictEqual(lookup(windows, "PATH", "win32"), "C:\\bin")
  })

  it("elsewhere another case is another variable", () => {
    assert.deepStrictEqual(selected("minimal", "linux"), ["SystemRoot"])
    assert.deepStrictEqual(selected({ only: ["PATH"] }, "linux"), [])
    assert.strictEqual(lookup(windows, "PATH", "linux"), undefined)
  })
})
