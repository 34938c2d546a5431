import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as AgentDriver from "effect-agents/AgentDriver"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as Session from "effect-agents/Session"
import { ask, context, uuid, words } from "./replay.js"

const planOf = <S>(driver: AgentDriver.AgentDriver<S>, request: AgentDriver.Request): AgentDriver.Plan =>
  Either.getOrThrowWith(driver.plan(request, context), (error) => new Error(error.message))

const refusal = <S>(driver: AgentDriver.AgentDriver<S>, request: AgentDriver.Request, platform = "linux") =>
  Either.match(driver.plan(request, { ...context, platform }), {
    onLeft: (error) => error,
    onRight: (plan) => new Error(`planned: ${words(plan).join(" ")}`)
  })

const claude = (fields: Parameters<typeof ask>[0] = {}) => words(planOf(Claude.driver, ask(fields)))
const codex = (fields: Parameters<typeof ask>[0] = {}) => words(planOf(Codex.driver, ask(fields)))
const copilot = (fields: Parameters<typeof ask>[0] = {}) => words(planOf(Copilot.driver, ask(fields)))

const strict = {
  type: "object",
  properties: { a: { type: "number" } },
  required: ["a"],
  additionalProperties: false
}

const after = (args: ReadonlyArray<string>, flag: string): string | undefined => args[args.indexOf(flag) + 1]

const has = (args: ReadonlyArray<string>, ...wanted: ReadonlyArray<string>): void =>
  wanted.forEach((arg) => assert.include(args, arg))

const lacks = (args: ReadonlyArray<string>, ...unwanted: ReadonlyArray<string>): void =>
  unwanted.forEach((arg) => assert.notInclude(args, arg))

const everyone = [
  ["claude", (request: AgentDriver.Request) => planOf(Claude.driver, request)],
  ["codex", (request: AgentDriver.Request) => planOf(Codex.driver, request)],
  ["copilot", (request: AgentDriver.Request) => planOf(Copilot.driver, request)]
] as const

describe.each(everyone)("%s", (_, plan) => {
  it.each(["-do it", "--dangerously-skip-permissions", "-", "-- x", "a\nb", "x".repeat(300_000)])(
    "gives a prompt to the standard input, never to the command line (%#)",
    (prompt) => {
      const planned = plan(ask({ prompt }))
      assert.strictEqual(planned.stdin, prompt)
      assert.deepStrictEqual(words(planned), words(plan(ask({ prompt: "another" }))))
    }
  )

  it("binds values that begin like a flag", () => {
    const args = words(plan(ask({ model: "--yolo", permission: "Edit", addDirs: ["-dir", "dir"] })))
    has(args, "--model=--yolo", "--add-dir=-dir", "dir")
    lacks(args, "--yolo", "-dir")
  })

  it("hides the caller's own arguments where a plan is shown, and puts them on the command line", () => {
    const planned = plan(ask({ extraArgs: ["--config", "token=very-secret"] }))
    has(words(planned), "--config", "token=very-secret")
    assert.notInclude(AgentDriver.redacted(planned).join(" "), "very-secret")
  })
})

describe("claude", () => {
  it("asks for the stream, without work in the background", () => {
    const planned = planOf(Claude.driver, ask())
    assert.deepStrictEqual(words(planned).slice(0, 7), [
      "-p",
      "--output-format",
      "stream-json",
      "--verbose",
      "--include-partial-messages",
      "--input-format",
      "text"
    ])
    assert.strictEqual(planned.env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"], "1")
    assert.isUndefined(planned.env["MAX_THINKING_TOKENS"])
    assert.deepStrictEqual(planned.files, [])
  })

  it("offers only tools that look when it may only look", () => {
    const args = claude()
    assert.strictEqual(after(args, "--permission-mode"), "dontAsk")
    has(args, "--tools=Read,Glob,Grep,WebFetch,WebSearch", "--strict-mcp-config")
    has(args, "--disallowedTools=Bash,PowerShell,Edit,Write,NotebookEdit", "--disallowedTools=mcp__*")
  })

  it.each(
    [["Plan", "plan"], ["Edit", "acceptEdits"], ["Auto", "auto"], ["Bypass", "bypassPermissions"]] as const
  )("%s is %s", (permission, mode) => {
    const args = claude({ permission })
    assert.strictEqual(after(args, "--permission-mode"), mode)
    lacks(args, "--strict-mcp-config", "dontAsk")
  })

  it("names the conversation itself", () => {
    assert.strictEqual(after(claude(), "--session-id"), uuid)
    const own = "11111111-2222-4333-8444-555555555555"
    assert.strictEqual(after(claude({ session: Session.fresh(own) }), "--session-id"), own)
    const resumed = claude({ session: Session.resume("abc") })
    assert.strictEqual(after(resumed, "--resume"), "abc")
    lacks(resumed, "--session-id", "--fork-session")
    const forked = claude({ session: Session.fork("abc") })
    assert.strictEqual(after(forked, "--resume"), "abc")
    has(forked, "--fork-session")
    assert.strictEqual(after(forked, "--session-id"), uuid)
  })

  it("takes a system prompt of any length from a file, also when it continues", () => {
    const system = `"quoted"\n${"s".repeat(300_000)}`
    const planned = planOf(Claude.driver, ask({ system }))
    has(words(planned), "--append-system-prompt-file=<system.md>")
    lacks(words(planned), "--system-prompt-snapshot=off")
    assert.deepStrictEqual(planned.files, [{ name: "system.md", content: system }])
    has(claude({ system: "x", session: Session.resume("abc") }), "--system-prompt-snapshot=off")
  })

  it("passes model, effort, directories and schema on", () => {
    const args = claude({ model: "opus", effort: "max", addDirs: ["/a", "/b"], outputSchema: { type: "object" } })
    assert.strictEqual(after(args, "--model"), "opus")
    assert.strictEqual(after(args, "--effort"), "max")
    assert.strictEqual(after(args, "--json-schema"), "{\"type\":\"object\"}")
    assert.deepStrictEqual(args.filter((_, index) => args[index - 1] === "--add-dir"), ["/a", "/b"])
    assert.strictEqual(planOf(Claude.driver, ask({ thinking: false })).env["MAX_THINKING_TOKENS"], "0")
  })

  it("is told of the limits that it counts as the run does", () => {
    const limited = (limits: AgentDriver.PlanContext["limits"], keep = false) => {
      const dialogue = keep ? { dialogue: { approvals: false, keep } } : {}
      const args = words(Either.getOrThrow(Claude.driver.plan(ask(), { ...context, ...dialogue, limits })))
      return ["--max-turns", "--max-budget-usd"].map((flag) => args.includes(flag) ? after(args, flag) : undefined)
    }
    assert.deepStrictEqual(limited({ turns: 3, costUsd: 0.25 }), ["3", "0.25"])
    assert.deepStrictEqual(limited({ turns: 2.5 }), ["2", undefined])
    for (const nothing of [0, 0.5, -1, Number.POSITIVE_INFINITY, Number.NaN]) {
      assert.deepStrictEqual(limited({ turns: nothing }), [undefined, undefined])
    }
    for (const nothing of [0, -1, Number.POSITIVE_INFINITY, Number.NaN]) {
      assert.deepStrictEqual(limited({ costUsd: nothing }), [undefined, undefined])
    }
    // The budget is that of the process, the limit that of each turn.
    assert.deepStrictEqual(limited({ turns: 3, costUsd: 0.25 }, true), ["3", undefined])
  })

  it("refuses what it cannot do", () => {
    for (
      const request of [
        ask({ prompt: " \n" }),
        ask({ session: Session.fresh("not-a-uuid") }),
        ask({ extraArgs: ["--bg"] }),
        ask({ prompt: "go on", command: true })
      ]
    ) assert.propertyVal(refusal(Claude.driver, request), "_tag", "AgentUnsupported")
  })

  it("takes a prompt for a command only where it was called one", () => {
    const stdin = (fields: Parameters<typeof ask>[0]) => planOf(Claude.driver, ask(fields)).stdin
    assert.strictEqual(stdin({ prompt: "/compact" }), " /compact")
    assert.strictEqual(stdin({ prompt: "/compact now", command: true }), "/compact now")
    assert.strictEqual(stdin({ prompt: "look into /etc" }), "look into /etc")
  })

  it("names what is too large for a command line", () => {
    const schema = { description: "d".repeat(140_000) }
    const error = refusal(Claude.driver, ask({ outputSchema: schema }))
    assert.propertyVal(error, "_tag", "AgentInputTooLarge")
    assert.propertyVal(error, "what", "outputSchema")
    const many = refusal(Claude.driver, ask({ addDirs: Array.from({ length: 6 }, () => `/${"d".repeat(100_000)}`) }))
    assert.propertyVal(many, "what", "addDirs")
    assert.propertyVal(many, "limit", 524_288)
    // Bytes, not characters.
    assert.propertyVal(refusal(Claude.driver, ask({ model: "é".repeat(66_000) })), "what", "model")
    assert.propertyVal(refusal(Claude.driver, ask({ model: "m".repeat(40_000) }), "win32"), "limit", 32_000)
    assert.isTrue(Either.isRight(Claude.driver.plan(ask({ model: "m".repeat(131_071) }), context)))
    assert.propertyVal(refusal(Claude.driver, ask({ model: "m".repeat(131_072) })), "limit", 131_071)
  })
})

describe("codex", () => {
  it("gives a prompt that begins with a slash to the model as it stands", () => {
    assert.strictEqual(planOf(Codex.driver, ask({ prompt: "/compact" })).stdin, "/compact")
  })

  it("refuses a prompt longer than Codex takes, counted in characters", () => {
    const longest = "😀".repeat(1_048_576)
    assert.strictEqual(planOf(Codex.driver, ask({ prompt: longest })).stdin, longest)
    const error = refusal(Codex.driver, ask({ prompt: `${longest}x` }))
    assert.propertyVal(error, "_tag", "AgentInputTooLarge")
    assert.propertyVal(error, "what", "prompt")
    assert.propertyVal(error, "size", 1_048_577)
    assert.propertyVal(
      refusal(Codex.driver, ask({ prompt: longest, system: "Be brief", session: Session.resume("abc") })),
      "what",
      "system and prompt"
    )
  })

  it("never says a flag twice that the caller has said", () => {
    const args = codex({ extraArgs: ["--skip-git-repo-check"] })
    assert.strictEqual(args.filter((arg) => arg === "--skip-git-repo-check").length, 1)
  })

  it("cannot write, ask or leave its sandbox when it may only look", () => {
    for (const permission of ["ReadOnly", "Plan"] as const) {
      const args = codex({ permission })
      assert.strictEqual(after(args, "--sandbox"), "read-only")
      has(args, "approval_policy=\"never\"", "--ignore-rules", "--skip-git-repo-check")
    }
  })

  it("keeps its git guard where it can write", () => {
    const edit = codex({ permission: "Edit" })
    assert.strictEqual(after(edit, "--sandbox"), "workspace-write")
    has(edit, "approval_policy=\"never\"")
    lacks(edit, "--skip-git-repo-check", "sandbox_workspace_write.network_access=true")
    const auto = codex({ permission: "Auto" })
    assert.strictEqual(after(auto, "--sandbox"), "workspace-write")
    has(auto, "sandbox_workspace_write.network_access=true")
    lacks(auto, "--skip-git-repo-check")
    const bypass = codex({ permission: "Bypass" })
    has(bypass, "--dangerously-bypass-approvals-and-sandbox")
    lacks(bypass, "--sandbox")
  })

  it("takes the sandbox of a continued conversation from the configuration", () => {
    for (const [verb, session] of [["resume", Session.resume("abc")], ["fork", Session.fork("abc")]] as const) {
      const args = codex({ session, permission: "Edit", addDirs: ["/a \"b\"", "/c"] })
      assert.deepStrictEqual(args.slice(0, 4), ["exec", verb, "abc", "--json"])
      has(args, "sandbox_mode=\"workspace-write\"")
      has(args, "sandbox_workspace_write.writable_roots=[\"/a \\\"b\\\"\", \"/c\"]")
      lacks(args, "--sandbox", "--add-dir")
      assert.strictEqual(args.at(-1), "-")
      has(codex({ session }), "sandbox_mode=\"read-only\"")
    }
  })

  it("names further directories only to a sandbox that can write", () => {
    assert.strictEqual(after(codex({ permission: "Edit", addDirs: ["/a"] }), "--add-dir"), "/a")
    lacks(codex({ addDirs: ["/a"] }), "--add-dir")
  })

  it("quotes the system prompt as TOML, and puts it before the prompt where it would be dropped", () => {
    const system = "say \"hi\" \\ \n\t\u007f é 😀"
    const planned = planOf(Codex.driver, ask({ system }))
    has(words(planned), "developer_instructions=\"say \\\"hi\\\" \\\\ \\u000a\\u0009\\u007f é 😀\"")
    assert.strictEqual(planned.stdin, "do it")
    assert.notInclude(AgentDriver.redacted(planned).join(" "), "say")
    for (const fields of [{ session: Session.resume("abc"), system }, { system: "é".repeat(150_000) }]) {
      const prepended = planOf(Codex.driver, ask(fields))
      assert.strictEqual(prepended.stdin, `${fields.system}\n\ndo it`)
      assert.isFalse(words(prepended).some((word) => word.startsWith("developer_instructions")))
    }
  })

  it("passes model, effort and schema on, and keeps the prompt out of greedy options", () => {
    const args = codex({ model: "gpt", effort: "lo\"w", extraArgs: ["-i", "a.png"], outputSchema: strict })
    assert.strictEqual(after(args, "--model"), "gpt")
    has(args, "model_reasoning_effort=\"lo\\\"w\"", "--output-schema=<schema.json>")
    assert.deepStrictEqual(args.slice(-4), ["-i", "a.png", "--", "-"])
    assert.deepStrictEqual(planOf(Codex.driver, ask({ outputSchema: strict })).files, [
      { name: "schema.json", content: JSON.stringify(strict) }
    ])
  })

  it("refuses what it cannot do", () => {
    for (
      const request of [
        ask({ session: Session.fresh(uuid) }),
        ask({ thinking: false }),
        ask({ prompt: "" }),
        ask({ prompt: "/compact", command: true })
      ]
    ) {
      assert.propertyVal(refusal(Codex.driver, request), "_tag", "AgentUnsupported")
    }
  })
})

describe("copilot", () => {
  it("takes no prompt for a command", () => {
    for (const prompt of ["/compact", "\n /compact"]) {
      const { stdin = "" } = planOf(Copilot.driver, ask({ prompt }))
      assert.strictEqual(stdin, `\u200b${prompt}`)
      assert.strictEqual(stdin.trimStart(), stdin)
    }
    assert.strictEqual(
      planOf(Copilot.driver, ask({ prompt: "/compact", system: "Be brief" })).stdin,
      "Be brief\n\n/compact"
    )
  })

  it("asks for records, and for no person", () => {
    const planned = planOf(Copilot.driver, ask())
    has(words(planned), "--no-ask-user", "--no-auto-update", "--no-color", "--no-remote")
    assert.strictEqual(after(words(planned), "--output-format"), "json")
    lacks(words(planned), "-p", "--prompt")
    assert.strictEqual(planned.env["COPILOT_TASK_WAIT_TIMEOUT_SECONDS"], "30")
  })

  it("offers only tools that look when it may only look", () => {
    const args = copilot()
    has(args, "--available-tools=view,grep,glob,web_fetch", "--deny-tool=shell", "--deny-tool=write")
    assert.isFalse(args.some((arg) => arg.startsWith("--allow")))
  })

  it.each(
    [
      ["Plan", ["--mode", "plan"]],
      ["Edit", ["--allow-tool=write"]],
      ["Auto", ["--allow-all-tools", "--allow-all-urls"]],
      ["Bypass", ["--allow-all"]]
    ] as const
  )("%s allows no more than %s", (permission, flags) => {
    const args = copilot({ permission })
    has(args, ...flags)
    assert.deepStrictEqual(
      args.filter((arg) => arg.startsWith("--allow")),
      flags.filter((f) => f.startsWith("--allow"))
    )
  })

  it("names the conversation itself, and continues only one that exists", () => {
    assert.strictEqual(after(copilot(), "--session-id"), uuid)
    const resumed = copilot({ session: Session.resume("abc") })
    has(resumed, "--resume=abc")
    lacks(resumed, "--session-id")
  })

  it("never drops a system prompt", () => {
    const planned = planOf(Copilot.driver, ask({ system: "be brief", addDirs: ["/a"], effort: "low" }))
    assert.strictEqual(planned.stdin, "be brief\n\ndo it")
    assert.strictEqual(after(words(planned), "--add-dir"), "/a")
    assert.strictEqual(after(words(planned), "--reasoning-effort"), "low")
  })

  it("refuses what it cannot do", () => {
    for (
      const request of [
        ask({ session: Session.fork("abc") }),
        ask({ session: Session.fresh("nope") }),
        ask({ thinking: false }),
        ask({ prompt: "" }),
        ask({ prompt: "/compact", command: true })
      ]
    ) assert.propertyVal(refusal(Copilot.driver, request), "_tag", "AgentUnsupported")
  })
})

describe("places of the native binary", () => {
  const native = <S>(driver: AgentDriver.AgentDriver<S>, path: string, platform: string, arch: string) =>
    driver.executable.native(path, { platform, arch })

  it("looks in the package, beside it and above, as Node does", () => {
    const found = native(Claude.driver, "/p/node_modules/@anthropic-ai/claude-code/bin/claude.exe", "linux", "x64")
    has(
      found,
      "/p/node_modules/@anthropic-ai/claude-code/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
      "/p/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
      "/p/node_modules/@anthropic-ai/claude-code-linux-x64-musl/claude",
      "/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    )
  })

  it.each([
    ["codex", "linux", "x64", "codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"],
    ["codex", "darwin", "arm64", "codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex"],
    ["codex", "win32", "x64", "codex-win32-x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe"]
  ])("%s on %s %s", (_, platform, arch, place) => {
    has(
      native(Codex.driver, "/p/node_modules/@openai/codex/bin/codex.js", platform, arch),
      `/p/node_modules/@openai/${place}`
    )
  })

  it("follows pnpm's layout and Windows' separators", () => {
    const path = "C:\\p\\node_modules\\.pnpm\\@github+copilot@1\\node_modules\\@github\\copilot\\npm-loader.js"
    has(
      native(Copilot.driver, path, "win32", "x64"),
      "C:/p/node_modules/.pnpm/@github+copilot@1/node_modules/@github/copilot-win32-x64/copilot.exe"
    )
    const places = native(Copilot.driver, "/p/node_modules/@github/copilot/npm-loader.js", "linux", "arm64")
    has(
      places,
      "/p/node_modules/@github/copilot-linux-arm64/copilot",
      "/p/node_modules/@github/copilot-linuxmusl-arm64/copilot"
    )
  })

  it("knows nothing better for a program that is not of the package", () => {
    for (const driver of [Claude.driver, Codex.driver, Copilot.driver]) {
      assert.deepStrictEqual(driver.executable.native("/usr/local/bin/program", { platform: "linux", arch: "x64" }), [])
    }
    assert.deepStrictEqual(native(Codex.driver, "/p/node_modules/@openai/codex/bin/codex.js", "sunos", "x64"), [])
  })
})

describe("environment", () => {
  it.each([["claude", Claude.driver], ["codex", Codex.driver], ["copilot", Copilot.driver]])(
    "%s is never given more than the request says by the host",
    (_, driver) => {
      assert.notInclude(driver.environment, "COPILOT_ALLOW_ALL")
      has(driver.nesting, "COPILOT_ALLOW_ALL", "CLAUDECODE", "CODEX_THREAD_ID", "COPILOT_CLI")
      const marked = (name: string) =>
        driver.nesting.some((mark) => mark.endsWith("*") ? name.startsWith(mark.slice(0, -1)) : mark === name)
      assert.deepStrictEqual(driver.environment.filter(marked), [])
    }
  )

  it("lets credentials through", () => {
    has(Claude.driver.environment, "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK")
    has(Codex.driver.environment, "CODEX_HOME", "OPENAI_API_KEY", "CODEX_API_KEY")
    has(Copilot.driver.environment, "GH_TOKEN", "COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY")
  })
})
