/** Rules for tools and MCP servers as Copilot takes them. */
import * as Either from "effect/Either"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentError from "../../AgentError.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as ToolRule from "../../ToolRule.js"
import * as CommandLine from "./commandLine.js"
import * as Json from "./json.js"
import * as ToolRules from "./toolRules.js"

const agent = "copilot"

/** It tells commands apart by their first word, those of these programs by the second one too. */
const withSubcommands = /^(?:git|gh|npm|npx|pnpm|yarn|cargo|go|dotnet|pip|gradle|mvn|bundle|poetry)$/

const isKnown = (command: string): boolean => {
  const [program = "", ...more] = command.split(" ")
  return more.length === 0 || (more.length === 1 && withSubcommands.test(program))
}

/** A directory and what is below it. */
const write = (path: string): ReadonlyArray<string> => [`write(${path})`, `write(${path}/**)`]

/** The path without needless parts; a relative one begins at `from`, which may be nothing. */
const normal = (path: string, from: string): string => {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".").join("/")
  return path.startsWith("/") || from === "" ? `${path.startsWith("/") ? "/" : ""}${parts}` : `${from}/${parts}`
}

const special = /[*?[\]{}()!,\\]/

const allowEdit = (path: string, { cwd, platform }: AgentDriver.PlanContext): ToolRules.Mapped => {
  const whole = normal(path, cwd)
  return platform === "win32" || special.test(whole)
    ? { reason: "It has no way to write this path in a rule." }
    : write(whole.replace(/\/$/, ""))
}

/** A relative path is denied in every directory: an absolute one would not hold for its other spellings, by links. */
const denyEdit = (path: string): ToolRules.Mapped => {
  const parts = normal(path, "")
  return parts === "" || parts === "/" ? ["write"] : write(parts)
}

const common = (rule: ToolRules.Of<"Shell" | "Mcp" | "Native">): ReadonlyArray<string> => {
  switch (rule._tag) {
    case "Shell":
      return [rule.command === undefined ? "shell" : `shell(${rule.command}:*)`]
    case "Mcp":
      return [rule.tool === undefined ? rule.server : `${rule.server}(${rule.tool})`]
    case "Native":
      return [rule.rule]
  }
}

const allow = (context: AgentDriver.PlanContext) => (rule: ToolRule.ToolRule): ToolRules.Mapped => {
  switch (rule._tag) {
    case "Shell":
      return rule.command === undefined || isKnown(rule.command)
        ? common(rule)
        : { reason: "It allows commands by their first word only." }
    case "Read":
      return { reason: "It reads under the working directory without asking; addDirs names other places." }
    case "Edit":
      return rule.path === undefined ? ["write"] : allowEdit(rule.path, context)
    case "Fetch":
      return rule.domain === undefined ? ["url"] : [`url(https://${rule.domain})`, `url(http://${rule.domain})`]
    default:
      return common(rule)
  }
}

const deny = (rule: ToolRule.ToolRule): ToolRules.Mapped => {
  switch (rule._tag) {
    case "Read":
      return rule.path === undefined ? ["read"] : { reason: "Its searches read what a rule for one path denies." }
    case "Edit":
      return rule.path === undefined ? ["write"] : denyEdit(rule.path)
    case "Fetch":
      return rule.domain === undefined ? ["url"] : { reason: "Its rule for a host leaves other ports open." }
    default:
      return common(rule)
  }
}

export const rules = (
  request: AgentRequest.AgentRequest,
  context: AgentDriver.PlanContext
): Either.Either<ReadonlyArray<CommandLine.Piece>, AgentError.AgentUnsupported> =>
  Either.map(ToolRules.map(agent, request, { allow: allow(context), deny }), ({ allow, deny }) =>
    [
      // With `ReadOnly` and nobody to ask there are no other tools than those that are named.
      ...(request.permission === "ReadOnly" && context.dialogue?.approvals !== true
        ? Object.keys(request.mcpServers)
        : []).flatMap((server) =>
          ToolRules.ofServer(request.tools.allow, server).tools.map((tool) => `--available-tools=${server}-${tool}`)
        ),
      ...allow.map((rule) => `--allow-tool=${rule}`),
      ...deny.map((rule) => `--deny-tool=${rule}`)
    ].map((arg) => ({ what: "tools", arg })))

/** In a rule, these are no servers. */
const reserved = /^(?:shell|write|read|url|memory|mcp|hook|custom-tool|extension)$/i

const config = (request: AgentRequest.AgentRequest, name: string, server: AgentRequest.McpServer) => ({
  ...("url" in server ? { type: "http" } : { type: "local", args: [] }),
  ...server,
  tools: ToolRules.isLooking(request) ? ToolRules.ofServer(request.tools.allow, name).tools : ["*"]
})

/** A file, so that no secret stands on a command line. */
export const servers = (
  request: AgentRequest.AgentRequest
): Either.Either<
  { readonly pieces: ReadonlyArray<CommandLine.Piece>; readonly files: AgentDriver.Plan["files"] },
  AgentError.AgentUnsupported
> => {
  const servers = Object.entries(request.mcpServers)
  const taken = servers.find(([name]) => reserved.test(name))
  if (taken !== undefined) return CommandLine.unsupported(agent, `an MCP server with the name ${taken[0]}`)
  const content = JSON.stringify({
    mcpServers: Object.fromEntries(servers.map(([name, server]) => [name, config(request, name, server)]))
  })
  if (/\$[A-Za-z_{]/.test(content)) {
    return CommandLine.unsupported(agent, "$ in mcpServers", "It would put a variable of its environment there.")
  }
  return Either.right(
    servers.length === 0 ? { pieces: [], files: [] } : {
      pieces: CommandLine.fileOption("--additional-mcp-config", "mcp.json", "mcpServers", "@"),
      files: [{ name: "mcp.json", content }]
    }
  )
}

const patched = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm

/** Shell commands may write too; that is not told. */
export const writes: AgentDriver.AgentDriver<unknown>["writes"] = ({ input, name }) => {
  if (name === "create" || name === "edit") return Json.strings([Json.record(input)["path"]])
  if (name !== "apply_patch") return []
  const patch = Json.string(input) ?? Json.string(Json.record(input)["input"]) ?? ""
  return Array.from(patch.matchAll(patched), ([, file = ""]) => file)
}
