/** What the drivers share of the rules for tools: how far a rule may go, and how rules become those of a CLI. */
import * as Either from "effect/Either"
import * as AgentError from "../../AgentError.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as ToolRule from "../../ToolRule.js"

/** The rules of the CLI that say the same together, or why it has none. */
export type Mapped = ReadonlyArray<string> | { readonly reason: string }

export type Of<Tag extends ToolRule.ToolRule["_tag"]> = Extract<ToolRule.ToolRule, { readonly _tag: Tag }>

/** Whether the permission is one of those that change nothing. */
export const isLooking = ({ permission }: AgentRequest.AgentRequest): boolean =>
  permission === "ReadOnly" || permission === "Plan"

/** The tools that a request names of a server in one of its lists; `true` where it names the server as a whole. */
export const ofServer = (rules: ReadonlyArray<ToolRule.ToolRule> | undefined, server: string) => {
  const named = (rules ?? []).filter((rule): rule is Of<"Mcp"> => rule._tag === "Mcp" && rule.server === server)
  return {
    all: named.some(({ tool }) => tool === undefined),
    tools: named.flatMap(({ tool }) => tool === undefined ? [] : [tool])
  }
}

const show = ({ _tag, ...fields }: ToolRule.ToolRule): string =>
  `${_tag.toLowerCase()}(${Object.values(fields).map((value) => JSON.stringify(value)).join(", ")})`

/** A rule must not allow what the permission rules out. Of a tool of MCP only the request can know that it just looks. */
const goesBeyond = (request: AgentRequest.AgentRequest, rule: ToolRule.ToolRule): boolean =>
  isLooking(request) && (rule._tag === "Mcp"
    ? rule.tool === undefined || !Object.hasOwn(request.mcpServers, rule.server)
    : rule._tag !== "Read" && rule._tag !== "Fetch")

const beyond = "A rule goes no further than the permission; of MCP tools it may name single ones of the mcpServers."

/** The rules of a request as the CLI spells them. */
export const map = (
  agent: string,
  request: AgentRequest.AgentRequest,
  to: Readonly<Record<"allow" | "deny", (rule: ToolRule.ToolRule) => Mapped>>
): Either.Either<Readonly<Record<"allow" | "deny", ReadonlyArray<string>>>, AgentError.AgentUnsupported> => {
  const one = (list: "allow" | "deny") => (rule: ToolRule.ToolRule) => {
    const widens = list === "allow" && goesBeyond(request, rule)
    const mapped = widens ? { reason: beyond } : to[list](rule)
    return "reason" in mapped
      ? Either.left(
        new AgentError.AgentUnsupported({
          agent,
          what: `${list}: ${show(rule)}${widens ? ` with ${request.permission}` : ""}`,
          hint: mapped.reason
        })
      )
      : Either.right(mapped)
  }
  const each = (list: "allow" | "deny") =>
    Either.map(Either.all((request.tools[list] ?? []).map(one(list))), (lists) => lists.flat())
  return Either.all({ allow: each("allow"), deny: each("deny") })
}
