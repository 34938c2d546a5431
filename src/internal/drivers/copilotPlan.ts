/** The command line of GitHub Copilot, `copilot` with the prompt on its standard input, as of 1.0.102. */
import * as Either from "effect/Either"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentRequest from "../../AgentRequest.js"
import * as Answer from "./answer.js"
import * as Attachments from "./attachments.js"
import * as CommandLine from "./commandLine.js"
import * as CopilotTools from "./copilotTools.js"

const agent = "copilot"

/**
 * What is not allowed by a flag is denied, as nobody can be asked, so that nothing more than named here is ever allowed.
 * `ReadOnly` also names the tools that exist at all, MCP servers' included: permission to write would not cover a
 * redirection in a shell command, nor what a server does. Filters are bound by `=`; behind a space they are lost.
 */
const permission: Readonly<Record<AgentRequest.Permission, ReadonlyArray<string>>> = {
  ReadOnly: [
    "--available-tools=view,grep,glob,web_fetch",
    "--deny-tool=shell",
    "--deny-tool=write",
    "--disable-builtin-mcps"
  ],
  Plan: ["--mode", "plan"],
  Edit: ["--allow-tool=write"],
  Auto: ["--allow-all-tools", "--allow-all-urls"],
  Bypass: ["--allow-all"]
}

/** In a dialogue its mode is set there. With somebody to ask, reading is all that needs no question. */
const spoken = (request: AgentDriver.Request, { dialogue }: AgentDriver.PlanContext): ReadonlyArray<string> =>
  request.permission === "Plan" || (request.permission === "ReadOnly" && dialogue?.approvals === true)
    ? []
    : permission[request.permission]

const session = (request: AgentDriver.Request, context: AgentDriver.PlanContext): ReadonlyArray<string> =>
  request.session._tag === "New"
    ? ["--session-id", request.session.id ?? context.uuid]
    // Unlike `--session-id`, it does not begin a new one when there is none.
    : [`--resume=${request.session.id}`]

/** It has no option for a system prompt, and none for a schema. */
export const said = (
  { outputSchema, prompt, system }: Pick<AgentRequest.AgentRequest, "outputSchema" | "prompt" | "system">
): string => {
  const asked = outputSchema === undefined ? prompt : Answer.inWords(prompt, outputSchema)
  return system === undefined || system === "" ? asked : `${system}\n\n${asked}`
}

/** What begins with a slash, or with blanks before it, is taken for a command: not so behind what nobody sees. */
const text = (prompt: string): string => prompt.trimStart().startsWith("/") ? `\u200b${prompt}` : prompt

/** What it does not take in a dialogue. */
const refusedInDialogue = (request: AgentDriver.Request): readonly [what: string, hint: string] | undefined =>
  request.session._tag === "New" && request.session.id !== undefined
    ? ["a session id from the caller in a dialogue", "It chooses its own there; read it from the outcome."]
    : request.attachments.length > 0
    ? ["attachments in a dialogue", "Name the files in the prompt, or begin with a run of one turn and continue it."]
    : request.addDirs.some((directory) => /[\n\r]/.test(directory))
    ? ["a directory with a line break in its name", "It is named in a line of the dialogue."]
    : undefined

export const plan: AgentDriver.AgentDriver<unknown>["plan"] = (request, context) => {
  if (request.prompt.trim() === "") return CommandLine.unsupported(agent, "an empty prompt")
  if (request.command) return CommandLine.unsupported(agent, "a slash command", "It may widen what is permitted.")
  if (request.session._tag === "Fork") return CommandLine.unsupported(agent, "forking a session")
  if (request.session._tag === "New" && request.session.id !== undefined && !CommandLine.isUuid(request.session.id)) {
    return CommandLine.unsupported(agent, "a session id that is not a UUID")
  }
  if (request.thinking !== undefined) {
    return CommandLine.unsupported(
      agent,
      `thinking: ${request.thinking}`,
      request.thinking ? "Use effort instead." : "Use effort: \"none\" instead."
    )
  }
  if (request.systemReplace !== undefined) {
    return CommandLine.unsupported(agent, "another system prompt", "Use system: it stands before the prompt.")
  }
  const other = Attachments.otherThan(request, ["image", "pdf"])
  if (other !== undefined) {
    return CommandLine.unsupported(
      agent,
      `the attachment ${other.path}`,
      "It takes images and PDF; name other files in the prompt."
    )
  }
  const isDialogue = context.dialogue !== undefined
  const refused = isDialogue ? refusedInDialogue(request) : undefined
  if (refused !== undefined) return CommandLine.unsupported(agent, ...refused)
  const rules = CopilotTools.rules(request, context)
  if (Either.isLeft(rules)) return Either.left(rules.left)
  const servers = CopilotTools.servers(request)
  if (Either.isLeft(servers)) return Either.left(servers.left)
  const pieces = [
    ...CommandLine.flags(...(isDialogue ? ["--acp"] : ["--output-format", "json"])),
    ...CommandLine.flags("--no-ask-user", "--no-auto-update", "--no-color", "--no-remote"),
    ...CommandLine.flags(...(isDialogue ? spoken(request, context) : permission[request.permission])),
    ...CommandLine.option("--model", request.model, "model"),
    ...CommandLine.option("--reasoning-effort", request.effort, "effort"),
    ...(isDialogue ? [] : request.addDirs).flatMap((directory) =>
      CommandLine.option("--add-dir", directory, "addDirs")
    ),
    ...request.attachments.map(({ path }) => ({ what: "attachments", arg: `--attachment=${path}` })),
    ...rules.right,
    ...servers.right.pieces,
    ...CommandLine.flags(...(isDialogue ? [] : session(request, context))),
    ...CommandLine.extra(request)
  ]
  return Either.map(CommandLine.fit(agent, pieces, context.platform), (args) => ({
    args,
    // How long it waits, after its answer, for commands that it left running; its own default is 10 minutes.
    env: { COPILOT_TASK_WAIT_TIMEOUT_SECONDS: "30" },
    stdin: isDialogue ? said(request) : text(said(request)),
    ...(isDialogue ? { dialogue: true } : {}),
    files: servers.right.files
  }))
}
