/** Rules for tools and MCP servers as Claude Code takes them. */
import * as Either from "effect/Either"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentError from "../../AgentError.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as ToolRule from "../../ToolRule.js"
import * as CommandLine from "./commandLine.js"
import * as Json from "./json.js"
import * as ToolRules from "./toolRules.js"

const agent = "claude"

/** `/` begins at the working directory, `//` at the root; what is below a directory goes with it. */
const place = (path: string): string => {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".")
  return `${path.startsWith("/") ? "//" : "/"}${parts.length === 0 ? "**" : parts.join("/")}`
}

const ofPath = (path: string | undefined, tool: string, all: ReadonlyArray<string>): ToolRules.Mapped =>
  path === undefined
    ? all
    : /^[a-z]:/i.test(path)
    ? { reason: "On Windows it takes paths relative to the working directory only." }
    : [`${tool}(${place(path)})`]

const map = (rule: ToolRule.ToolRule): ToolRules.Mapped => {
  switch (rule._tag) {
    case "Shell":
      return ["Bash", "PowerShell"].map((tool) => rule.command === undefined ? tool : `${tool}(${rule.command} *)`)
    case "Read":
      return ofPath(rule.path, "Read", ["Read", "Glob", "Grep"])
    case "Edit":
      return ofPath(rule.path, "Edit", ["Edit", "Write", "NotebookEdit"])
    case "Fetch":
      return [rule.domain === undefined ? "WebFetch" : `WebFetch(domain:${rule.domain})`]
    case "Mcp":
      return [rule.tool === undefined ? `mcp__${rule.server}` : `mcp__${rule.server}__${rule.tool}`]
    case "Native":
      return [rule.rule]
  }
}

/** Its plan mode calls no tool of MCP but those that say of themselves that they only look. */
const allow = (request: AgentRequest.AgentRequest) => (rule: ToolRule.ToolRule): ToolRules.Mapped =>
  rule._tag === "Mcp" && request.permission === "Plan"
    ? { reason: "Its plan mode decides itself which tools of MCP it calls." }
    : map(rule)

export const rules = (
  request: AgentRequest.AgentRequest
): Either.Either<ReadonlyArray<CommandLine.Piece>, AgentError.AgentUnsupported> =>
  Either.map(ToolRules.map(agent, request, { allow: allow(request), deny: map }), ({ allow, deny }) =>
    [
      ...allow.map((rule) => `--allowedTools=${rule}`),
      ...deny.map((rule) => `--disallowedTools=${rule}`)
    ].map((arg) => ({ what: "tools", arg })))

const config = (server: AgentRequest.McpServer) =>
  "url" in server ? { type: "http", ...server } : { type: "stdio", ...server }

/** A file, so that no secret stands on a command line. */
export const servers = (
  { mcpServers }: AgentRequest.AgentRequest
): Either.Either<
  { readonly pieces: ReadonlyArray<CommandLine.Piece>; readonly files: AgentDriver.Plan["files"] },
  AgentError.AgentUnsupported
> => {
  const content = JSON.stringify({
    mcpServers: Object.fromEntries(Object.entries(mcpServers).map(([name, server]) => [name, config(server)]))
  })
  if (content.includes("${")) {
    return CommandLine.unsupported(agent, "${ in mcpServers", "It would put a variable of its environment there.")
  }
  return Either.right(
    Object.keys(mcpServers).length === 0
      ? { pieces: [], files: [] }
      : {
        pieces: CommandLine.fileOption("--mcp-config", "mcp.json", "mcpServers"),
        files: [{ name: "mcp.json", content }]
      }
  )
}

const writing = /^(?:Edit|MultiEdit|Write|NotebookEdit)$/

/** Shell commands may write too; that is not told. */
export const writes: NonNullable<AgentDriver.AgentDriver<unknown>["writes"]> = ({ input, name }) => {
  const { file_path, notebook_path } = Json.record(input)
  return writing.test(name) ? Json.strings([file_path, notebook_path]) : []
}
