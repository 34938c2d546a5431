/** Rules for tools and MCP servers as Codex takes them: both are configuration. */
import * as Either from "effect/Either"
import * as AgentDriver from "../../AgentDriver.js"
import type * as AgentError from "../../AgentError.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as ToolRule from "../../ToolRule.js"
import * as Mark from "../kernel/mark.js"
import * as CommandLine from "./commandLine.js"
import * as Toml from "./toml.js"
import * as ToolRules from "./toolRules.js"

const agent = "codex"

const set = (arg: AgentDriver.Arg, what: string): ReadonlyArray<CommandLine.Piece> => [{ what, arg: "-c" }, {
  what,
  arg
}]

const servers = (request: AgentRequest.AgentRequest): ReadonlyArray<string> => {
  const named = [...request.tools.allow ?? [], ...request.tools.deny ?? []].flatMap((rule) =>
    rule._tag === "Mcp" ? [rule.server] : []
  )
  return Array.from(new Set([...Object.keys(request.mcpServers), ...named]))
}

/**
 * What nobody approved is not called, as nobody can be asked, unless the tool says of itself that it only looks. A
 * permission that changes nothing cannot rely on that: of the servers of the request it offers only what a rule names.
 */
const serverRules = (request: AgentRequest.AgentRequest, server: string): ReadonlyArray<string> => {
  const allow = ToolRules.ofServer(request.tools.allow, server)
  const deny = ToolRules.ofServer(request.tools.deny, server)
  const approved = allow.tools.map((tool) => `${Toml.text(tool)}={approval_mode="approve"}`)
  return [
    ...(deny.all ? ["enabled=false"] : []),
    ...(allow.all ? ["default_tools_approval_mode=\"approve\""] : []),
    ...(approved.length > 0 ? [`tools={${approved.join(", ")}}`] : []),
    ...(ToolRules.isLooking(request) && Object.hasOwn(request.mcpServers, server)
      ? [`enabled_tools=${Toml.list(allow.tools)}`]
      : []),
    ...(deny.tools.length > 0 ? [`disabled_tools=${Toml.list(deny.tools)}`] : [])
  ].map((setting) => `mcp_servers.${server}.${setting}`)
}

const map = (rule: ToolRule.ToolRule): ToolRules.Mapped =>
  rule._tag === "Mcp" ? [] : { reason: "It has rules for MCP tools only; its sandbox follows the permission." }

/** A list that is said here would replace that of the user's configuration, and with it what is denied there. */
const deny = (request: AgentRequest.AgentRequest) => (rule: ToolRule.ToolRule): ToolRules.Mapped =>
  rule._tag === "Mcp" && rule.tool !== undefined && !Object.hasOwn(request.mcpServers, rule.server)
    ? { reason: "Of a server that is not in mcpServers it can be denied all tools or none." }
    : map(rule)

export const rules = (
  request: AgentRequest.AgentRequest
): Either.Either<ReadonlyArray<CommandLine.Piece>, AgentError.AgentUnsupported> =>
  Either.map(
    ToolRules.map(agent, request, { allow: map, deny: deny(request) }),
    () => servers(request).flatMap((server) => serverRules(request, server)).flatMap((arg) => set(arg, "tools"))
  )

type Stdio = Extract<AgentRequest.McpServer, { readonly command: string }>

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A script that is the server with its environment, which so stands on no command line. */
const script = ({ args, command, env }: Stdio): string =>
  [
    ...Object.entries(env ?? {}).map(([name, value]) => `export ${name}=${quote(value)}`),
    `exec ${[command, ...args ?? []].map(quote).join(" ")}\n`
  ].join("\n")

const stdio = (name: string, server: Stdio) => {
  const key = `mcp_servers.${name}`
  // It hands its servers a few variables of its own only; the mark must be one of them.
  const marked = set(`${key}.env_vars=${Toml.list([Mark.variable])}`, "mcpServers")
  if (Object.keys(server.env ?? {}).length === 0) {
    return {
      pieces: [
        ...set(AgentDriver.secret(`${key}.command=${Toml.text(server.command)}`), "mcpServers"),
        ...set(AgentDriver.secret(`${key}.args=${Toml.list(server.args ?? [])}`), "mcpServers"),
        ...marked
      ],
      files: [],
      env: {}
    }
  }
  const file = `mcp-${name}.sh`
  return {
    pieces: [
      ...set(`${key}.command="/bin/sh"`, "mcpServers"),
      ...set(AgentDriver.file(file, `${key}.args=['`, "']"), "mcpServers"),
      ...marked
    ],
    files: [{ name: file, content: script(server) }],
    env: {}
  }
}

type Http = Extract<AgentRequest.McpServer, { readonly url: string }>

/** It takes headers from its environment. */
const http = (name: string, serial: number, { headers, url }: Http) => {
  const named = Object.entries(headers ?? {}).map(([header, value], index) => ({
    header,
    value,
    variable: `EFFECT_AGENTS_HEADER_${serial}_${index}`
  }))
  const table = named.map(({ header, variable }) => `${Toml.text(header)}=${Toml.text(variable)}`).join(", ")
  return {
    pieces: [
      ...set(AgentDriver.secret(`mcp_servers.${name}.url=${Toml.text(url)}`), "mcpServers"),
      ...(named.length === 0 ? [] : set(`mcp_servers.${name}.env_http_headers={${table}}`, "mcpServers"))
    ],
    files: [],
    env: Object.fromEntries(named.map(({ value, variable }) => [variable, value]))
  }
}

interface Configured {
  readonly pieces: ReadonlyArray<CommandLine.Piece>
  readonly files: AgentDriver.Plan["files"]
  readonly env: Readonly<Record<string, string>>
}

export const configure = (
  { mcpServers }: AgentRequest.AgentRequest,
  platform: string
): Either.Either<Configured, AgentError.AgentUnsupported> => {
  const servers = Object.entries(mcpServers)
  if (platform === "win32" && servers.some(([, server]) => "command" in server && server.env !== undefined)) {
    return CommandLine.unsupported(agent, "an MCP server with variables of its own on Windows")
  }
  const configured = servers.map(([name, server], serial) =>
    "url" in server ? http(name, serial, server) : stdio(name, server)
  )
  return Either.right({
    pieces: configured.flatMap(({ pieces }) => pieces),
    files: configured.flatMap(({ files }) => files),
    env: Object.assign({}, ...configured.map(({ env }) => env))
  })
}
