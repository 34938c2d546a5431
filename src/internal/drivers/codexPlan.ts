/** The command line of Codex, `codex exec` or, for a dialogue, `codex app-server`, as of 0.171.0. */
import * as Either from "effect/Either"
import * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import type * as AgentRequest from "../../AgentRequest.js"
import * as Attachments from "./attachments.js"
import { asked, type Said, sandbox } from "./codexServerPlan.js"
import * as CodexTools from "./codexTools.js"
import * as CommandLine from "./commandLine.js"
import * as StrictSchema from "./strictSchema.js"
import * as Toml from "./toml.js"

const agent = "codex"

const config = (key: string, value: string | undefined, what: string): ReadonlyArray<CommandLine.Piece> =>
  value === undefined ? [] : [{ what, arg: "-c" }, { what, arg: `${key}=${Toml.text(value)}` }]

/**
 * Nobody can be asked, and nothing leaves the sandbox. Where nothing may be written, the user's own rules, which can let
 * commands out of the sandbox, are not read, and a directory without git has nothing to lose.
 */
const never = ["-c", "approval_policy=\"never\""]
const anywhere = "--skip-git-repo-check"
const looking = [...never, "--ignore-rules", anywhere]

const permission: Readonly<Record<AgentRequest.Permission, ReadonlyArray<string>>> = {
  ReadOnly: looking,
  Plan: looking,
  Edit: never,
  Auto: ["-c", "sandbox_workspace_write.network_access=true"],
  Bypass: ["--dangerously-bypass-approvals-and-sandbox"]
}

const roots = (request: AgentRequest.AgentRequest): ReadonlyArray<CommandLine.Piece> =>
  request.addDirs.length === 0 || sandbox[request.permission] !== "workspace-write" ? [] : [
    { what: "addDirs", arg: "-c" },
    { what: "addDirs", arg: `sandbox_workspace_write.writable_roots=${Toml.list(request.addDirs)}` }
  ]

/**
 * The sandbox and what it may write. A continued conversation takes neither flag, only the configuration behind them.
 * Only a sandbox that can write needs to be told where else; the other ones read everything anyway.
 */
const reach = (request: AgentRequest.AgentRequest): ReadonlyArray<CommandLine.Piece> => {
  const mode = sandbox[request.permission]
  if (mode === undefined) return []
  if (request.session._tag !== "New") return [...config("sandbox_mode", mode, "permission"), ...roots(request)]
  const directories = mode === "workspace-write" ? request.addDirs : []
  return [
    ...CommandLine.flags("--sandbox", mode),
    ...directories.flatMap((directory) => CommandLine.option("--add-dir", directory, "addDirs"))
  ]
}

/** Codex takes no longer prompt, in characters. */
const longestPrompt = 1_048_576

/** Everything that goes to the model itself is said in the dialogue. */
const server = (request: AgentRequest.AgentRequest): ReadonlyArray<CommandLine.Piece> => [
  ...CommandLine.flags("app-server"),
  ...(request.permission === "Auto" ? CommandLine.flags(...permission.Auto) : []),
  ...roots(request)
]

/** What a request wants of the model, on the command line of a run that takes nothing else. */
const exec = (
  request: AgentDriver.Request,
  instructions: string | undefined
): ReadonlyArray<CommandLine.Piece> => [
  ...CommandLine.flags("exec", ...continued(request), "--json"),
  // A flag that comes twice is refused.
  ...CommandLine.flags(
    ...permission[request.permission].filter((flag) => flag !== anywhere || !request.extraArgs.includes(anywhere))
  ),
  ...reach(request),
  ...CommandLine.option("--model", request.model, "model"),
  ...config("model_reasoning_effort", request.effort, "effort"),
  ...(request.systemReplace === undefined ? [] : [
    ...CommandLine.flags("-c"),
    // What is no TOML is taken as it stands.
    { what: "systemReplace", arg: AgentDriver.file("system-replace.md", "model_instructions_file=") }
  ]),
  ...(instructions === undefined ? [] : [
    ...CommandLine.flags("-c"),
    { what: "system", arg: AgentDriver.secret(`developer_instructions=${Toml.text(instructions)}`) }
  ]),
  ...(schemaOf(request) === undefined
    ? []
    : CommandLine.fileOption("--output-schema", "schema.json", "outputSchema")),
  ...request.attachments.map(({ path }) => ({ what: "attachments", arg: `--image=${path}` }))
]

/** Longer instructions (quoted, in UTF-16 units, at most three bytes each) travel with the prompt: it has no limit. */
const longestInstructions = 40_000

const continued = ({ session }: AgentDriver.Request): ReadonlyArray<string> =>
  session._tag === "New" ? [] : [session._tag === "Resume" ? "resume" : "fork", session.id]

const schemaOf = ({ outputSchema }: AgentRequest.AgentRequest) => outputSchema && StrictSchema.strict(outputSchema)

const files = (request: AgentRequest.AgentRequest): AgentDriver.Plan["files"] => {
  const { systemReplace } = request
  const schema = schemaOf(request)
  return [
    ...(schema === undefined ? [] : [{ name: "schema.json", content: JSON.stringify(schema) }]),
    ...(systemReplace === undefined ? [] : [{ name: "system-replace.md", content: systemReplace }])
  ]
}

/**
 * The instructions in the place for them, or before the prompt. A continued conversation keeps those of its beginning
 * and would drop these.
 */
export const said = (request: AgentRequest.AgentRequest, isServer: boolean): Said => {
  const { system } = request
  const prompt = asked(request.prompt, request.outputSchema)
  if (system === undefined || system === "") return { instructions: undefined, prompt }
  return request.session._tag === "New" && (isServer || Toml.text(system).length <= longestInstructions)
    ? { instructions: system, prompt }
    : { instructions: undefined, prompt: `${system}\n\n${prompt}` }
}

export const plan: AgentDriver.AgentDriver<unknown>["plan"] = (request, context) => {
  if (request.prompt.trim() === "") return CommandLine.unsupported(agent, "an empty prompt")
  if (request.command) return CommandLine.unsupported(agent, "a slash command", "It has them in its terminal alone.")
  if (request.session._tag === "New" && request.session.id !== undefined) {
    return CommandLine.unsupported(
      agent,
      "a session id from the caller",
      "It chooses its own; read it from the outcome."
    )
  }
  if (request.thinking !== undefined) {
    return CommandLine.unsupported(
      agent,
      `thinking: ${request.thinking}`,
      request.thinking ? "Use effort instead." : "Use a low effort instead."
    )
  }
  const other = Attachments.otherThan(request, ["image"])
  if (other !== undefined) {
    return CommandLine.unsupported(
      agent,
      `the attachment ${other.path}`,
      "It takes images; name other files in the prompt."
    )
  }
  const isServer = context.dialogue !== undefined
  if (!isServer && request.attachments.some(({ path }) => path.includes(","))) {
    return CommandLine.unsupported(agent, "an attachment with a comma in its path")
  }
  const rules = CodexTools.rules(request)
  if (Either.isLeft(rules)) return Either.left(rules.left)
  const servers = CodexTools.configure(request, context.platform)
  if (Either.isLeft(servers)) return Either.left(servers.left)
  const { instructions, prompt } = said(request, isServer)
  const pieces = [
    ...(isServer ? server(request) : exec(request, instructions)),
    ...servers.right.pieces,
    ...rules.right,
    ...CommandLine.flags("-c", "check_for_update_on_startup=false"),
    // The other one asks for a repository nowhere, and would refuse the word.
    ...CommandLine.extra(request).filter((_, index) => !isServer || request.extraArgs[index] !== anywhere),
    // Some options take several values; `--` keeps the prompt out of them.
    ...CommandLine.flags(...(isServer ? [] : request.extraArgs.length === 0 ? ["-"] : ["--", "-"]))
  ]
  // Only what may be too long is counted: a character is one or two UTF-16 units.
  const characters = prompt.length > longestPrompt ? Array.from(prompt).length : 0
  if (characters > longestPrompt) {
    return Either.left(
      new AgentError.AgentInputTooLarge({
        agent,
        what: prompt === request.prompt ? "prompt" : "system and prompt",
        size: characters,
        limit: longestPrompt
      })
    )
  }
  return Either.map(CommandLine.fit(agent, pieces, context.platform), (args) => ({
    args,
    env: servers.right.env,
    stdin: prompt,
    ...(isServer ? { dialogue: true } : {}),
    files: [...(isServer ? [] : files(request)), ...servers.right.files]
  }))
}
