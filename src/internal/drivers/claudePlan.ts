/** The command line of Claude Code, `claude -p`, as of 2.1.332. */
import * as Either from "effect/Either"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentRequest from "../../AgentRequest.js"
import * as Attachments from "./attachments.js"
import * as ClaudeTools from "./claudeTools.js"
import * as CommandLine from "./commandLine.js"

const agent = "claude"

/**
 * What each permission is here. `ReadOnly` names the few tools that only look: everything else, whatever a later version
 * adds, is not offered to the model at all. The refusals beside it beat any rule of the user's settings, MCP servers of
 * the user are not even started, and what is left asks nobody (`dontAsk`).
 */
const permission: Readonly<Record<AgentRequest.Permission, ReadonlyArray<string>>> = {
  ReadOnly: [
    "--permission-mode",
    "dontAsk",
    "--tools=Read,Glob,Grep,WebFetch,WebSearch",
    "--disallowedTools=Bash,PowerShell,Edit,Write,NotebookEdit",
    "--strict-mcp-config"
  ],
  Plan: ["--permission-mode", "plan"],
  Edit: ["--permission-mode", "acceptEdits"],
  Auto: ["--permission-mode", "auto"],
  Bypass: ["--permission-mode", "bypassPermissions"]
}

/** With somebody to ask, reading is all that needs no question; the servers are those of the request alone all the same. */
const asking: ReadonlyArray<string> = ["--permission-mode", "default", "--strict-mcp-config"]

/** These start a session in the background and return: nothing would own it. */
const escaping = ["--bg", "--background"]

const session = (request: AgentDriver.Request, context: AgentDriver.PlanContext): ReadonlyArray<string> => {
  const asked = request.session
  switch (asked._tag) {
    case "New":
      return ["--session-id", asked.id ?? context.uuid]
    case "Resume":
      return ["--resume", asked.id]
    case "Fork":
      return ["--resume", asked.id, "--fork-session", "--session-id", context.uuid]
  }
}

/**
 * What it counts as the run does: turns those of one prompt, money that of one process, which in a conversation has many
 * turns. It takes whole turns, and none of nothing.
 */
const limits = ({ dialogue, limits: { costUsd, turns } = {} }: AgentDriver.PlanContext): ReadonlyArray<string> => [
  ...(turns !== undefined && turns >= 1 && turns < Number.POSITIVE_INFINITY
    ? ["--max-turns", `${Math.floor(turns)}`]
    : []),
  ...(costUsd !== undefined && costUsd > 0 && costUsd < Number.POSITIVE_INFINITY && dialogue?.keep !== true
    ? ["--max-budget-usd", `${costUsd}`]
    : [])
]

const noMcp = "--disallowedTools=mcp__*"

/** What is mentioned so is read and sent with the prompt. */
const mention = ({ path }: AgentRequest.Attachment): string => `@"${path}"`

/** What begins with a slash is taken for a command, which may let tools through: behind a blank it goes to the model. */
export const text = (prompt: string): string => prompt.startsWith("/") ? ` ${prompt}` : prompt

/** The first message: the prompt, and the files that go with it. */
export const message = ({ attachments, command, prompt }: AgentRequest.AgentRequest): string =>
  [command ? prompt : text(prompt), attachments.map(mention).join(" ")].filter((part) => part !== "").join("\n\n")

export const plan: AgentDriver.AgentDriver<unknown>["plan"] = (request, context) => {
  if (request.prompt.trim() === "") return CommandLine.unsupported(agent, "an empty prompt")
  if (request.command && !request.prompt.startsWith("/")) {
    return CommandLine.unsupported(agent, "a command that does not begin with a slash")
  }
  if (request.session._tag === "New" && request.session.id !== undefined && !CommandLine.isUuid(request.session.id)) {
    return CommandLine.unsupported(agent, "a session id that is not a UUID")
  }
  if (request.extraArgs.some((arg) => escaping.includes(arg))) {
    return CommandLine.unsupported(agent, "a run in the background", "A run ends with its scope.")
  }
  const binary = Attachments.otherThan(request, ["text", "pdf", "image"])
  if (binary !== undefined) return CommandLine.unsupported(agent, `the attachment ${binary.path}`)
  if (request.attachments.some(({ path }) => /["\n\r]/.test(path))) {
    return CommandLine.unsupported(agent, "an attachment with a quote or a line break in its name")
  }
  const rules = ClaudeTools.rules(request)
  if (Either.isLeft(rules)) return Either.left(rules.left)
  const servers = ClaudeTools.servers(request)
  if (Either.isLeft(servers)) return Either.left(servers.left)
  const hasSystem = request.system !== undefined && request.system !== ""
  const isDialogue = context.dialogue !== undefined
  const approvals = context.dialogue?.approvals === true
  const schema = request.outputSchema === undefined ? undefined : JSON.stringify(request.outputSchema)
  const pieces = [
    ...CommandLine.flags("-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"),
    ...CommandLine.flags(
      ...(isDialogue ? ["--input-format", "stream-json", "--replay-user-messages"] : ["--input-format", "text"]),
      ...(approvals ? ["--permission-prompt-tool", "stdio"] : []),
      ...(approvals && request.permission === "ReadOnly" ? asking : permission[request.permission])
    ),
    ...CommandLine.option("--model", request.model, "model"),
    ...CommandLine.option("--effort", request.effort, "effort"),
    ...(request.systemReplace === undefined
      ? []
      : CommandLine.fileOption("--system-prompt-file", "system-replace.md", "systemReplace")),
    ...(hasSystem ? CommandLine.fileOption("--append-system-prompt-file", "system.md", "system") : []),
    // A continued conversation replays the system prompt of its beginning and would drop this one.
    ...((hasSystem || request.systemReplace !== undefined) && request.session._tag !== "New"
      ? CommandLine.flags("--system-prompt-snapshot=off")
      : []),
    ...(request.thinking === true ? CommandLine.flags("--thinking=enabled") : []),
    ...(request.permission === "ReadOnly" && !approvals && servers.right.files.length === 0
      ? CommandLine.flags(noMcp)
      : []),
    ...rules.right,
    ...servers.right.pieces,
    ...request.addDirs.flatMap((directory) => CommandLine.option("--add-dir", directory, "addDirs")),
    ...CommandLine.option("--json-schema", schema, "outputSchema"),
    ...CommandLine.flags(...limits(context), ...session(request, context)),
    ...CommandLine.extra(request)
  ]
  return Either.map(CommandLine.fit(agent, pieces, context.platform), (args) => ({
    args,
    env: {
      // A command in the background keeps the CLI alive after its answer and wakes it for further turns.
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
      DISABLE_AUTOUPDATER: "1",
      ...(request.thinking === false ? { MAX_THINKING_TOKENS: "0" } : {})
    },
    stdin: message(request),
    ...(isDialogue ? { dialogue: true } : {}),
    files: [
      ...(hasSystem ? [{ name: "system.md", content: request.system }] : []),
      ...(request.systemReplace === undefined ? [] : [{ name: "system-replace.md", content: request.systemReplace }]),
      ...servers.right.files
    ]
  }))
}
