/** The command line of Codex, `codex exec`, as of 0.171.0. */
import * as Either from "effect/Either"
import * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as Session from "../../Session.js"
import * as Attachments from "./attachments.js"
import * as CodexTools from "./codexTools.js"
import * as CommandLine from "./commandLine.js"
import * as Toml from "./toml.js"

const agent = "codex"

const config = (key: string, value: string | undefined, what: string): ReadonlyArray<CommandLine.Piece> =>
  value === undefined ? [] : [{ what, arg: "-c" }, { what, arg: `${key}=${Toml.text(value)}` }]

/** How far the sandbox lets commands go; none for `Bypass`. */
const sandbox: Readonly<Record<AgentRequest.Permission, "read-only" | "workspace-write" | undefined>> = {
  ReadOnly: "read-only",
  Plan: "read-only",
  Edit: "workspace-write",
  Auto: "workspace-write",
  Bypass: undefined
}

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

/**
 * The sandbox and what it may write. A continued conversation takes neither flag, only the configuration behind them.
 * Only a sandbox that can write needs to be told where else; the other ones read everything anyway.
 */
const reach = (request: AgentRequest.AgentRequest): ReadonlyArray<CommandLine.Piece> => {
  const mode = sandbox[request.permission]
  const directories = mode === "workspace-write" ? request.addDirs : []
  if (mode === undefined) return []
  if (request.session._tag === "New") {
    return [
      ...CommandLine.flags("--sandbox", mode),
      ...directories.flatMap((directory) => CommandLine.option("--add-dir", directory, "addDirs"))
    ]
  }
  const roots = `sandbox_workspace_write.writable_roots=${Toml.list(directories)}`
  return [
    ...config("sandbox_mode", mode, "permission"),
    ...(directories.length === 0 ? [] : [{ what: "addDirs", arg: "-c" }, { what: "addDirs", arg: roots }])
  ]
}

/** Codex takes no longer prompt, in characters. */
const longestPrompt = 1_048_576

/** Longer instructions (quoted, in UTF-16 units, at most three bytes each) travel with the prompt: it has no limit. */
const longestInstructions = 40_000

const continued = (session: Session.Session): ReadonlyArray<string> =>
  session._tag === "New" ? [] : [session._tag === "Resume" ? "resume" : "fork", session.id]

export const plan: AgentDriver.AgentDriver<unknown>["plan"] = (request, context) => {
  if (request.prompt.trim() === "") return CommandLine.unsupported(agent, "an empty prompt")
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
  if (request.attachments.some(({ path }) => path.includes(","))) {
    return CommandLine.unsupported(agent, "an attachment with a comma in its path")
  }
  const rules = CodexTools.rules(request)
  if (Either.isLeft(rules)) return Either.left(rules.left)
  const servers = CodexTools.configure(request, context.platform)
  if (Either.isLeft(servers)) return Either.left(servers.left)
  const system = request.system === undefined || request.system === "" ? undefined : request.system
  // A continued conversation keeps the instructions of its beginning and would drop these.
  const asInstructions = system !== undefined && request.session._tag === "New"
    && Toml.text(system).length <= longestInstructions
  const schema = request.outputSchema
  const pieces = [
    ...CommandLine.flags("exec", ...continued(request.session), "--json"),
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
    ...(asInstructions
      ? [
        ...CommandLine.flags("-c"),
        { what: "system", arg: AgentDriver.secret(`developer_instructions=${Toml.text(system)}`) }
      ]
      : []),
    ...(schema === undefined ? [] : CommandLine.fileOption("--output-schema", "schema.json", "outputSchema")),
    ...request.attachments.map(({ path }) => ({ what: "attachments", arg: `--image=${path}` })),
    ...servers.right.pieces,
    ...rules.right,
    ...CommandLine.flags("-c", "check_for_update_on_startup=false"),
    ...CommandLine.extra(request),
    // Some options take several values; `--` keeps the prompt out of them.
    ...CommandLine.flags(...(request.extraArgs.length === 0 ? ["-"] : ["--", "-"]))
  ]
  const prompt = system === undefined || asInstructions ? request.prompt : `${system}\n\n${request.prompt}`
  // Only what may be too long is counted: a character is one or two UTF-16 units.
  const characters = prompt.length > longestPrompt ? Array.from(prompt).length : 0
  if (characters > longestPrompt) {
    return Either.left(
      new AgentError.AgentInputTooLarge({
        agent,
        what: asInstructions || system === undefined ? "prompt" : "system and prompt",
        size: characters,
        limit: longestPrompt
      })
    )
  }
  return Either.map(CommandLine.fit(agent, pieces, context.platform), (args) => ({
    args,
    env: servers.right.env,
    stdin: prompt,
    files: [
      ...(schema === undefined ? [] : [{ name: "schema.json", content: JSON.stringify(schema) }]),
      ...(request.systemReplace === undefined ? [] : [{ name: "system-replace.md", content: request.systemReplace }]),
      ...servers.right.files
    ]
  }))
}
