/**
 * What is asked of an agent: plain data, the same for all of them, encodable to JSON.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Session from "./Session.js"
import * as ToolRule from "./ToolRule.js"

/**
 * What the agent may do without asking. The rest it may not do, or asks for where the run has an `approve` handler.
 *
 * - `ReadOnly` (default): look, never change anything. Of MCP only tools that the request names (see `ToolRule`).
 * - `Plan`: look and propose; the agent's own plan mode.
 * - `Edit`: change files under the working directory; shell commands as far as the agent gates them itself.
 * - `Auto`: work on its own inside the agent's own sandbox or classifier.
 * - `Bypass`: no checks at all. Only for machines that may be lost.
 *
 * What each agent makes of it is told by its module: `Claude`, `Codex`, `Copilot`.
 *
 * **Example**
 *
 * ```ts
 * import { Config, Schema } from "effect"
 * import { AgentRequest } from "effect-agents"
 *
 * // The variable PERMISSION of the program, ReadOnly where there is none.
 * const permission = Schema.Config("PERMISSION", AgentRequest.Permission).pipe(Config.withDefault("ReadOnly"))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Permission = Schema.Literal("ReadOnly", "Plan", "Edit", "Auto", "Bypass")

/**
 * A value of the schema `Permission`.
 *
 * @since 0.1.0
 * @category models
 */
export type Permission = typeof Permission.Type

/**
 * Which variables of the host's environment the agent sees.
 *
 * - `"minimal"` (default): what a program needs to run at all (PATH, HOME, locale, …) and the variables by which the
 *   agent finds its configuration and its account.
 * - `"inherit"`: everything, except the markers by which an agent knows that it runs inside another one.
 * - `{ only: [...] }`: these and nothing else.
 *
 * Variables that the host does not have are skipped; `env` of the request beats them all. `TMPDIR` (on Windows `TEMP`
 * and `TMP`) is a directory of the run, removed with it, unless `env` sets another.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Run the tests",
 *   permission: "Auto",
 *   envPolicy: { only: ["PATH", "HOME", "ANTHROPIC_API_KEY"] },
 *   env: { CI: "true" }
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const EnvPolicy = Schema.Union(
  Schema.Literal("minimal", "inherit"),
  Schema.Struct({ only: Schema.Array(Schema.String) })
)

/**
 * A value of the schema `EnvPolicy`.
 *
 * @since 0.1.0
 * @category models
 */
export type EnvPolicy = typeof EnvPolicy.Type

const isVariableName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name)

const isHeaderName = (name: string): boolean => /^[\w-]+$/.test(name)

/** A refinement of the keys themselves would drop those that do not fit, without a word. */
const keys = (isKey: (key: string) => boolean) => (record: { readonly [key: string]: unknown }) => {
  const wrong = Object.keys(record).find((key) => !isKey(key))
  return wrong === undefined || `other names than ${JSON.stringify(wrong)}`
}

/**
 * An MCP server that runs with the agent, beside those of the user's own configuration: a program that is spoken with
 * over its standard input and output, or an address. `env` and `headers` reach nothing but the server and the files of
 * the run: no command line, no report. (Codex takes `headers` from its environment, which its shell sees too.)
 *
 * Each CLI replaces variables in the way of a shell in some of these values; where it would, the request is refused with
 * `AgentUnsupported`: Claude Code does for `${`, Copilot for `$` before a name or a brace.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest, ToolRule } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Which issues does the last release close?",
 *   mcpServers: {
 *     issues: { command: "npx", args: ["-y", "issue-tracker-mcp"], env: { ISSUES_TOKEN: "…" } },
 *     docs: { url: "https://docs.example.com/mcp", headers: { Authorization: "Bearer …" } }
 *   },
 *   tools: { allow: [ToolRule.mcp("issues", "list"), ToolRule.mcp("docs", "search")] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const McpServer = Schema.Union(
  Schema.Struct({
    command: Schema.NonEmptyString,
    args: Schema.optional(Schema.Array(Schema.String)),
    env: Schema.optional(
      Schema.Record({ key: Schema.String, value: Schema.String }).pipe(Schema.filter(keys(isVariableName)))
    )
  }),
  Schema.Struct({
    url: Schema.NonEmptyString,
    headers: Schema.optional(
      Schema.Record({ key: Schema.String, value: Schema.String }).pipe(Schema.filter(keys(isHeaderName)))
    )
  })
)

/**
 * A value of the schema `McpServer`.
 *
 * @since 0.1.0
 * @category models
 */
export type McpServer = typeof McpServer.Type

/**
 * A file that the agent is given with the prompt: an image, or what else it takes. A relative path begins at the working
 * directory. A file that is not there fails the run before it starts.
 *
 * Claude Code takes text, PDF, PNG, JPEG, GIF and WebP, Copilot these without text, Codex the images.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const explain = Agent.run(AgentRequest.make({
 *   prompt: "What is wrong with this page?",
 *   attachments: [{ path: "screenshot.png" }]
 * }))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Attachment = Schema.Struct({ path: Schema.NonEmptyString })

/**
 * A value of the schema `Attachment`.
 *
 * @since 0.1.0
 * @category models
 */
export type Attachment = typeof Attachment.Type

/**
 * One request. Only `prompt` is required.
 *
 * | field | meaning | default |
 * | --- | --- | --- |
 * | `prompt` | what to do; any length, may begin with `-` or `/` | |
 * | `command` | whether the prompt is a slash command of the agent: `/compact`, or one of the project's own | `false` |
 * | `model`, `effort` | passed on as they are, never checked here | the agent's own |
 * | `thinking` | switches the model's thinking on or off, where the model can do both | the agent's own |
 * | `system` | added to the agent's own system prompt | none |
 * | `systemReplace` | stands in place of the agent's own system prompt | none |
 * | `attachments` | files that it is given with the prompt | none |
 * | `permission` | what the agent may do without asking | `ReadOnly` |
 * | `tools` | what it may use beyond that without asking, and what it may not: see `ToolRule` | none |
 * | `mcpServers` | MCP servers by name; their tools need a rule unless `permission` covers them | none |
 * | `cwd` | working directory | the host's; of a named session the last one |
 * | `addDirs` | further directories that it may use | none |
 * | `env` | variables of the agent and all it starts | none |
 * | `envPolicy` | which of the host's variables it sees | `minimal` |
 * | `session` | new, resume, fork, or the one of a name | new |
 * | `outputSchema` | a JSON schema for the answer, of an object; the value is in `structured`. See `Agent.object` | none |
 * | `interactive` | whether the run takes messages and interrupts while it goes on (`AgentRun.send`) | `false` |
 * | `extraArgs` | added to the command line unchecked: what they do is yours | none |
 *
 * What an agent cannot do is refused with `AgentUnsupported` before anything is started, never left out silently.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const decode = Schema.decodeUnknown(Schema.parseJson(AgentRequest.AgentRequest))
 *
 * // A job of a queue: JSON such as {"prompt":"Find the bug","cwd":"packages/core"}
 * const work = (job: string) => Effect.flatMap(decode(job), (request) => Agent.run(request))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class AgentRequest extends Schema.Class<AgentRequest>("effect-agents/AgentRequest")({
  prompt: Schema.String,
  command: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  model: Schema.optional(Schema.NonEmptyString),
  effort: Schema.optional(Schema.NonEmptyString),
  thinking: Schema.optional(Schema.Boolean),
  system: Schema.optional(Schema.String),
  systemReplace: Schema.optional(Schema.NonEmptyString),
  attachments: Schema.optionalWith(Schema.Array(Attachment), { default: () => [] }),
  permission: Schema.optionalWith(Permission, { default: () => "ReadOnly" }),
  tools: Schema.optionalWith(ToolRule.ToolRules, { default: () => ({}) }),
  mcpServers: Schema.optionalWith(
    Schema.Record({ key: Schema.String, value: McpServer }).pipe(Schema.filter(keys(Schema.is(ToolRule.ServerName)))),
    { default: () => ({}) }
  ),
  cwd: Schema.optional(Schema.NonEmptyString),
  addDirs: Schema.optionalWith(Schema.Array(Schema.NonEmptyString), { default: () => [] }),
  env: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), { default: () => ({}) }),
  envPolicy: Schema.optionalWith(EnvPolicy, { default: () => "minimal" }),
  session: Schema.optionalWith(Session.Session, { default: () => Session.fresh() }),
  outputSchema: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  interactive: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  extraArgs: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] })
}) {}

/**
 * Makes a request. Throws a `ParseError` when a value is not of the right form; decode with
 * `Schema.decodeUnknown(AgentRequest.AgentRequest)` what comes from outside.
 *
 * **Example**
 *
 * ```ts
 * import { AgentRequest } from "effect-agents"
 *
 * const request = AgentRequest.make({
 *   prompt: "Fix the failing test",
 *   permission: "Edit",
 *   cwd: "packages/core"
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (fields: ConstructorParameters<typeof AgentRequest>[0]): AgentRequest => AgentRequest.make(fields)
