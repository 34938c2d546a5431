/** Rules for tools, MCP servers and attachments: what each driver makes of them. */
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as AgentDriver from "effect-agents/AgentDriver"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as Session from "effect-agents/Session"
import * as ToolRule from "effect-agents/ToolRule"
import { ask, context, words } from "./replay.js"

type Fields = Parameters<typeof ask>[0]

const at = <S>(driver: AgentDriver.AgentDriver<S>) => {
  const plan = (fields: Fields): AgentDriver.Plan =>
    Either.getOrThrowWith(driver.plan(ask(fields), context), (error) => new Error(error.message))
  return {
    plan,
    args: (fields: Fields) => words(plan(fields)),
    refused: (fields: Fields, where: Partial<AgentDriver.PlanContext> = {}) => {
      const error = Either.getOrUndefined(Either.flip(driver.plan(ask(fields), { ...context, ...where })))
      assert.strictEqual(error?._tag, "AgentUnsupported", JSON.stringify(fields))
      return error?.message ?? ""
    }
  }
}

const claude = at(Claude.driver)
const codex = at(Codex.driver)
const copilot = at(Copilot.driver)
const everyone = [["claude", claude], ["codex", codex], ["copilot", copilot]] as const

const rulesOf = (flag: string, args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((arg) => arg.startsWith(`${flag}=`) ? [arg.slice(flag.length + 1)] : [])

const settings = (args: ReadonlyArray<string>, server: string): ReadonlyArray<string> =>
  args.flatMap((arg) => arg.startsWith(`mcp_servers.${server}.`) ? [arg.slice(`mcp_servers.${server}.`.length)] : [])

const secret = "s3cret-value"

describe("rules", () => {
  it("are plain data, and hold no patterns", () => {
    const rules = {
      allow: [ToolRule.shell("git diff")],
      deny: [ToolRule.mcp("docs", "drop"), ToolRule.edit("src/a b")]
    }
    const json = JSON.stringify(Schema.encodeSync(AgentRequest.AgentRequest)(ask({ tools: rules })))
    assert.deepStrictEqual(Schema.decodeSync(Schema.parseJson(AgentRequest.AgentRequest))(json).tools, rules)
    for (
      const make of [
        () => ToolRule.shell("git *"),
        () => ToolRule.shell("rm a)"),
        () => ToolRule.shell("git:"),
        () => ToolRule.shell(""),
        () => ToolRule.edit("src/**"),
        () => ToolRule.edit("../x"),
        () => ToolRule.read("a/.."),
        () => ToolRule.read("~/x"),
        () => ToolRule.read("/"),
        () => ToolRule.read("a,b"),
        () => ToolRule.fetch("https://example.com"),
        () => ToolRule.fetch("*.example.com"),
        () => ToolRule.mcp("a__b"),
        () => ToolRule.mcp("a", "b)"),
        () => ToolRule.native("")
      ]
    ) assert.throws(make)
  })

  it.each(everyone)("%s: never widen a permission that changes nothing", (_, { refused }) => {
    for (const permission of ["ReadOnly", "Plan"] as const) {
      for (
        const rule of [
          ToolRule.shell(),
          ToolRule.shell("git diff"),
          ToolRule.edit(),
          ToolRule.edit("src"),
          ToolRule.native("Bash"),
          ToolRule.mcp("docs"),
          ToolRule.mcp("theirs", "write")
        ]
      ) {
        const message = refused({ permission, tools: { allow: [rule] }, mcpServers: { docs: { command: "x" } } })
        assert.include(message, permission)
      }
    }
  })

  it("claude", () => {
    const args = claude.args({
      permission: "Edit",
      tools: {
        allow: [ToolRule.shell("git diff"), ToolRule.edit("src/"), ToolRule.edit("."), ToolRule.mcp("docs")],
        deny: [
          ToolRule.shell(),
          ToolRule.read("/etc/x"),
          ToolRule.read(),
          ToolRule.fetch("example.com"),
          ToolRule.mcp("docs", "drop"),
          ToolRule.native("Skill(a, b)")
        ]
      }
    })
    assert.deepStrictEqual(rulesOf("--allowedTools", args), [
      "Bash(git diff *)",
      "PowerShell(git diff *)",
      "Edit(/src)",
      "Edit(/**)",
      "mcp__docs"
    ])
    assert.deepStrictEqual(rulesOf("--disallowedTools", args), [
      "Bash",
      "PowerShell",
      "Read(//etc/x)",
      "Read",
      "Glob",
      "Grep",
      "WebFetch(domain:example.com)",
      "mcp__docs__drop",
      "Skill(a, b)"
    ])
    claude.refused({ permission: "Edit", tools: { deny: [ToolRule.read("C:/x")] } })
    claude.refused({
      permission: "Plan",
      tools: { allow: [ToolRule.mcp("docs", "search")] },
      mcpServers: { docs: { command: "x" } }
    })
  })

  it("copilot", () => {
    const args = copilot.args({
      permission: "Edit",
      tools: {
        allow: [
          ToolRule.shell("make"),
          ToolRule.shell("git add"),
          ToolRule.edit("./src//a"),
          ToolRule.edit("."),
          ToolRule.fetch("example.com"),
          ToolRule.mcp("docs", "search")
        ],
        deny: [ToolRule.shell("make me rich"), ToolRule.read(), ToolRule.edit("src/"), ToolRule.fetch()]
      }
    })
    assert.deepStrictEqual(rulesOf("--allow-tool", args), [
      "write",
      "shell(make:*)",
      "shell(git add:*)",
      "write(/project/src/a)",
      "write(/project/src/a/**)",
      "write(/project)",
      "write(/project/**)",
      "url(https://example.com)",
      "url(http://example.com)",
      "docs(search)"
    ])
    assert.deepStrictEqual(rulesOf("--deny-tool", args), [
      "shell(make me rich:*)",
      "read",
      "write(src)",
      "write(src/**)",
      "url"
    ])
    for (
      const tools of [
        { allow: [ToolRule.shell("make test")] },
        { allow: [ToolRule.shell("git add x")] },
        { allow: [ToolRule.read()] },
        { deny: [ToolRule.read("src")] },
        { deny: [ToolRule.fetch("example.com")] }
      ]
    ) copilot.refused({ permission: "Edit", tools })
    // The directory would be read as a pattern.
    copilot.refused({ permission: "Edit", tools: { allow: [ToolRule.edit("src")] } }, { cwd: "/project [2]" })
  })

  it("codex: those of MCP, as configuration", () => {
    const args = codex.args({
      permission: "Edit",
      tools: {
        allow: [ToolRule.mcp("docs", "search"), ToolRule.mcp("docs", "find"), ToolRule.mcp("theirs")],
        deny: [ToolRule.mcp("docs", "drop"), ToolRule.mcp("evil")]
      },
      mcpServers: { docs: { command: "x" } }
    })
    assert.deepStrictEqual(settings(args, "docs").slice(-2), [
      "tools={\"search\"={approval_mode=\"approve\"}, \"find\"={approval_mode=\"approve\"}}",
      "disabled_tools=[\"drop\"]"
    ])
    assert.deepStrictEqual(settings(args, "theirs"), ["default_tools_approval_mode=\"approve\""])
    assert.deepStrictEqual(settings(args, "evil"), ["enabled=false"])
    codex.refused({ permission: "Edit", tools: { deny: [ToolRule.mcp("theirs", "drop")] } })
    for (const rule of [ToolRule.shell(), ToolRule.read(), ToolRule.edit(), ToolRule.fetch(), ToolRule.native("x")]) {
      codex.refused({ permission: "Bypass", tools: { allow: [rule] } })
      codex.refused({ permission: "Bypass", tools: { deny: [rule] } })
    }
  })
})

describe("MCP servers", () => {
  const mcpServers = {
    "my-docs": { command: "docs", args: ["it's", "$(x)"], env: { TOKEN: `${secret} 'q'` } },
    plain: { command: "plain" },
    web: { url: "https://example.com/mcp", headers: { Authorization: secret } }
  }

  it.each(everyone)("%s: no secret on the command line or where a plan is shown", (_, { plan }) => {
    const planned = plan({ permission: "Edit", mcpServers })
    assert.notInclude(words(planned).join(" "), secret)
    assert.notInclude(AgentDriver.redacted(planned).join(" "), secret)
    assert.include(JSON.stringify([planned.files, planned.env]), secret)
  })

  it("claude: a file", () => {
    const planned = claude.plan({ permission: "Edit", mcpServers })
    assert.include(words(planned), "--mcp-config=<mcp.json>")
    assert.deepStrictEqual(JSON.parse(planned.files[0]?.content ?? ""), {
      mcpServers: {
        "my-docs": { type: "stdio", ...mcpServers["my-docs"] },
        plain: { type: "stdio", ...mcpServers.plain },
        web: { type: "http", ...mcpServers.web }
      }
    })
    claude.refused({ mcpServers: { a: { command: "x", env: { A: "${HOME}" } } } })
  })

  it("copilot: a file", () => {
    const { "my-docs": docs, web } = mcpServers
    const planned = copilot.plan({ permission: "Edit", mcpServers: { docs: { ...docs, args: [] }, web } })
    assert.include(words(planned), "--additional-mcp-config=@<mcp.json>")
    assert.deepStrictEqual(JSON.parse(planned.files[0]?.content ?? ""), {
      mcpServers: {
        docs: { type: "local", ...docs, args: [], tools: ["*"] },
        web: { type: "http", ...web, tools: ["*"] }
      }
    })
    copilot.refused({ mcpServers: { a: { command: "x", args: ["$HOME"] } } })
    // It would be the name of a tool in a rule.
    copilot.refused({ mcpServers: { shell: { command: "x" } } })
  })

  it("codex: configuration, a script where a server has variables, and the mark", () => {
    const planned = codex.plan({ permission: "Edit", mcpServers })
    const args = words(planned)
    assert.deepStrictEqual(settings(args, "my-docs"), [
      "command=\"/bin/sh\"",
      "args=['<mcp-my-docs.sh>']",
      "env_vars=[\"EFFECT_AGENTS_TREE\"]"
    ])
    assert.deepStrictEqual(planned.files, [{
      name: "mcp-my-docs.sh",
      content: `export TOKEN='${secret} '\\''q'\\'''\nexec 'docs' 'it'\\''s' '$(x)'\n`
    }])
    assert.deepStrictEqual(settings(args, "plain"), [
      "command=\"plain\"",
      "args=[]",
      "env_vars=[\"EFFECT_AGENTS_TREE\"]"
    ])
    assert.deepStrictEqual(settings(args, "web"), [
      "url=\"https://example.com/mcp\"",
      "env_http_headers={\"Authorization\"=\"EFFECT_AGENTS_HEADER_2_0\"}"
    ])
    assert.deepStrictEqual(planned.env, { EFFECT_AGENTS_HEADER_2_0: secret })
    codex.refused({ mcpServers }, { platform: "win32" })
  })

  it("where nothing may change, only the tools that are named", () => {
    const fields = {
      mcpServers: { docs: { command: "x" } },
      tools: { allow: [ToolRule.mcp("docs", "search")] }
    }
    const looking = claude.args(fields)
    assert.include(looking, "--strict-mcp-config")
    assert.notInclude(looking, "--disallowedTools=mcp__*")
    assert.deepStrictEqual(rulesOf("--allowedTools", looking), ["mcp__docs__search"])
    assert.include(codex.args(fields), "mcp_servers.docs.enabled_tools=[\"search\"]")
    assert.include(codex.args({ mcpServers: fields.mcpServers }), "mcp_servers.docs.enabled_tools=[]")
    assert.deepStrictEqual(rulesOf("--available-tools", copilot.args(fields)), [
      "view,grep,glob,web_fetch",
      "docs-search"
    ])
    for (const permission of ["ReadOnly", "Plan"] as const) {
      assert.include(copilot.plan({ ...fields, permission }).files[0]?.content, "\"tools\":[\"search\"]")
    }
  })

  it("have names that no rule can be taken for", () => {
    for (const name of ["a.b", "a b", "a__b", "", "a=b"]) {
      assert.throws(() => ask({ mcpServers: { [name]: { command: "x" } } }), JSON.stringify(name))
    }
    assert.throws(() => ask({ mcpServers: { a: { command: "x", env: { "A;B": "" } } } }), "A;B")
    assert.throws(() => ask({ mcpServers: { a: { url: "x", headers: { "A B": "" } } } }), "A B")
  })
})

describe("attachments", () => {
  const attachments = [{ path: "a b.png" }, { path: "/x/-c.JPG" }]

  it("claude: mentioned behind the prompt", () => {
    const planned = claude.plan({ attachments: [...attachments, { path: "notes.md" }] })
    assert.strictEqual(planned.stdin, "do it\n\n@\"a b.png\" @\"/x/-c.JPG\" @\"notes.md\"")
    claude.refused({ attachments: [{ path: "a.zip" }] })
    claude.refused({ attachments: [{ path: "a\".png" }] })
  })

  it("codex: images, also when it continues", () => {
    for (const session of [Session.fresh(), Session.resume("abc")]) {
      const args = codex.args({ attachments, session })
      assert.includeMembers([...args], ["--image=a b.png", "--image=/x/-c.JPG"])
    }
    codex.refused({ attachments: [{ path: "a.pdf" }] })
    // It would be two.
    codex.refused({ attachments: [{ path: "a,b.png" }] })
  })

  it("copilot: images and PDF", () => {
    const args = copilot.args({ attachments: [...attachments, { path: "a.pdf" }] })
    assert.deepStrictEqual(rulesOf("--attachment", args), ["a b.png", "/x/-c.JPG", "a.pdf"])
    copilot.refused({ attachments: [{ path: "notes.md" }] })
  })
})

describe("another system prompt", () => {
  const fields = { systemReplace: "You are a parrot", system: "Be brief" }

  it("claude: beside the one that is added, and again when it continues", () => {
    const planned = claude.plan({ ...fields, session: Session.resume("abc") })
    assert.includeMembers([...words(planned)], [
      "--system-prompt-file=<system-replace.md>",
      "--append-system-prompt-file=<system.md>",
      "--system-prompt-snapshot=off"
    ])
    assert.deepStrictEqual(planned.files.map(({ content }) => content), ["Be brief", "You are a parrot"])
  })

  it("codex: a file of instructions", () => {
    for (const session of [Session.fresh(), Session.fork("abc")]) {
      const planned = codex.plan({ ...fields, session })
      assert.include(words(planned), "model_instructions_file=<system-replace.md>")
      assert.deepStrictEqual(planned.files, [{ name: "system-replace.md", content: "You are a parrot" }])
    }
  })

  it("copilot: refused", () => {
    assert.include(copilot.refused({ systemReplace: "x" }), "system")
  })
})
