/**
 * Rules for the tools of an agent, in one form for all of them: what it may use without asking, what it may not use.
 *
 * A request carries them in `tools`, as `allow` and `deny`. A denial beats every permission, `Bypass` too. What is
 * allowed never goes beyond the permission of the request: with `ReadOnly` and `Plan` the shell, edits and rules in the
 * CLI's own spelling cannot be allowed, and of MCP tools only single ones of the servers in `mcpServers`, which are
 * taken to change nothing because the request says so. That, and a rule that an agent has no equal of, is refused with
 * `AgentUnsupported` before anything is started.
 *
 * | rule | Claude Code | Codex | Copilot |
 * | --- | --- | --- | --- |
 * | `shell()` | yes | | yes |
 * | `shell("git add")` | yes | | deny; allow: one word, two for git, npm and their like |
 * | `read()` | yes | | deny |
 * | `read("secrets")` | yes | | |
 * | `edit()`, `edit("src")` | yes | | yes |
 * | `fetch()` | yes | | yes |
 * | `fetch("example.com")` | yes | | allow |
 * | `mcp("docs")`, `mcp("docs", "search")` | yes, in plan mode only to deny | yes | yes |
 * | `native(…)` | yes | | yes |
 *
 * Agents read these rules as text. A denied command, file or address is a fence, not a wall: another command may have
 * the same effect, and a shell can read and write what `read` and `edit` deny. What must not happen is kept off by the
 * permission, or by denying the whole `shell()`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const words = Schema.String.pipe(
  Schema.pattern(/^[\w./@+=:%-]+(?: [\w./@+=:%-]+)*$/, {
    description: "the first words of a command, without quotes and wildcards, one space between them"
  }),
  Schema.filter((text) => !text.endsWith(":") || "words that do not end with ':'")
)

// What would be a pattern, the end of a rule or the begin of the next one in the rules of some agent.
const path = Schema.String.pipe(
  Schema.pattern(/^(?![~\s])(?!\/[./]*$)(?!(?:.*\/)?\.\.(?:\/|$))[^*?[\]{}()!,\\"\p{Cc}]+(?<!\s)$/u, {
    description: "a path without wildcards, brackets, commas, quotes and '..'"
  })
)

const domain = Schema.String.pipe(
  Schema.pattern(/^[a-z\d]+(?:[.-][a-z\d]+)*$/i, { description: "the name of a host, without protocol and port" })
)

const toolName = Schema.String.pipe(
  Schema.pattern(/^[\w-]+$/, { description: "letters, digits, '-' and '_'" })
)

/**
 * The name of an MCP server: letters, digits, `-` and single `_`.
 *
 * **Example**
 *
 * ```ts
 * import { Schema } from "effect"
 * import { ToolRule } from "effect-agents"
 *
 * const isServerName = Schema.is(ToolRule.ServerName)
 *
 * isServerName("issue-tracker") // true
 * isServerName("my server") // false
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const ServerName = Schema.String.pipe(
  // Two `_` stand between a server and its tool.
  Schema.pattern(/^[a-z\d](?:_?[a-z\d-])*$/i, { description: "letters, digits, '-' and single '_'" })
)

const Shell = Schema.TaggedStruct("Shell", { command: Schema.optional(words) })
const Read = Schema.TaggedStruct("Read", { path: Schema.optional(path) })
const Edit = Schema.TaggedStruct("Edit", { path: Schema.optional(path) })
const Fetch = Schema.TaggedStruct("Fetch", { domain: Schema.optional(domain) })
const Mcp = Schema.TaggedStruct("Mcp", { server: ServerName, tool: Schema.optional(toolName) })
const Native = Schema.TaggedStruct("Native", { rule: Schema.NonEmptyString })

/**
 * One rule, as data.
 *
 * **Example**
 *
 * ```ts
 * import { Schema } from "effect"
 * import { ToolRule } from "effect-agents"
 *
 * const decode = Schema.decodeUnknown(ToolRule.ToolRule)
 *
 * const rule = decode({ _tag: "Shell", command: "git diff" })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const ToolRule = Schema.Union(Shell, Read, Edit, Fetch, Mcp, Native)

/**
 * A value of the schema `ToolRule`.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolRule = typeof ToolRule.Type

/**
 * What a request says about tools: without asking (`allow`), not at all (`deny`).
 *
 * **Example**
 *
 * ```ts
 * import { Schema } from "effect"
 * import { ToolRule } from "effect-agents"
 *
 * const decode = Schema.decodeUnknown(Schema.parseJson(ToolRule.ToolRules))
 *
 * const rules = decode(`{"deny":[{"_tag":"Fetch"}]}`)
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const ToolRules = Schema.Struct({
  allow: Schema.optional(Schema.Array(ToolRule)),
  deny: Schema.optional(Schema.Array(ToolRule))
})

/**
 * A value of the schema `ToolRules`.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolRules = typeof ToolRules.Type

/**
 * Shell commands: all of them, or those that begin with these words. `shell("git diff")` is `git diff` and
 * `git diff --stat`, not `git difftool`. Throws a `ParseError` where the words hold quotes or wildcards.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, ToolRule } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Fix the failing test",
 *   permission: "Edit",
 *   tools: { allow: [ToolRule.shell("npm test")], deny: [ToolRule.shell("git push")] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const shell = (command?: string | undefined): ToolRule => Shell.make(command === undefined ? {} : { command })

/**
 * Reading files: everywhere, or this file or directory and all below it. A relative path begins at the working
 * directory. Throws a `ParseError` where the path holds wildcards.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, ToolRule } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Explain the build",
 *   tools: { deny: [ToolRule.read("secrets")] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const read = (path?: string | undefined): ToolRule => Read.make(path === undefined ? {} : { path })

/**
 * Writing files: everywhere, or this file or directory and all below it. A relative path begins at the working
 * directory. Throws a `ParseError` where the path holds wildcards.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, ToolRule } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Make the parser faster",
 *   permission: "Edit",
 *   tools: { deny: [ToolRule.edit("test")] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const edit = (path?: string | undefined): ToolRule => Edit.make(path === undefined ? {} : { path })

/**
 * Fetching from the web: everything, or from this host. Throws a `ParseError` where `domain` is more than a host's name.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, ToolRule } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Which of our dependencies are deprecated?",
 *   tools: { allow: [ToolRule.fetch("registry.npmjs.org")] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fetch = (domain?: string | undefined): ToolRule => Fetch.make(domain === undefined ? {} : { domain })

/**
 * Tools of an MCP server: all of them, or this one. Throws a `ParseError` where a name is not of the right form.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, ToolRule } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "What do the docs say about retries?",
 *   mcpServers: { docs: { command: "docs-server", args: ["--stdio"] } },
 *   tools: { allow: [ToolRule.mcp("docs", "search")] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const mcp = (server: string, tool?: string | undefined): ToolRule =>
  Mcp.make(tool === undefined ? { server } : { server, tool })

/**
 * A rule in the CLI's own spelling, passed on as it is: what it means is yours. Claude Code and Copilot only.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, ToolRule } from "effect-agents"
 *
 * // For Claude Code alone.
 * const request = AgentRequest.make({
 *   prompt: "Review the open pull requests",
 *   permission: "Edit",
 *   tools: { deny: [ToolRule.native("Agent")] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const native = (rule: string): ToolRule => Native.make({ rule })
