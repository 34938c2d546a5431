/**
 * A private copy of an agent's configuration.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import type { PlatformError } from "@effect/platform/Error"
import * as Effect from "effect/Effect"
import * as Agent from "../../Agent.js"
import * as AgentError from "../../AgentError.js"
import * as AgentRequest from "../../AgentRequest.js"
import * as ProcessTree from "../../ProcessTree.js"

interface Home {
  readonly variable: string
  /** Below the home of the user. */
  readonly folder: string
  /** What is configuration and not state, in the folder. */
  readonly entries: ReadonlyArray<string>
  /** What stands beside the folder unless the variable is set. */
  readonly beside: ReadonlyArray<string>
  readonly account: string
  /** Each of them is an account that needs no file. */
  readonly accountVariables: ReadonlyArray<string>
}

const homes: Readonly<Record<string, Home>> = {
  claude: {
    variable: "CLAUDE_CONFIG_DIR",
    folder: ".claude",
    entries: ["settings.json", "CLAUDE.md", "agents", "commands", "skills", ".claude.json"],
    beside: [".claude.json"],
    account: ".credentials.json",
    accountVariables: [
      "ANTHROPIC_API_KEY",
      "ANTHROPIC_AUTH_TOKEN",
      "CLAUDE_CODE_OAUTH_TOKEN",
      "CLAUDE_CODE_USE_BEDROCK",
      "CLAUDE_CODE_USE_FOUNDRY",
      "CLAUDE_CODE_USE_VERTEX"
    ]
  },
  codex: {
    variable: "CODEX_HOME",
    folder: ".codex",
    entries: ["config.toml", "AGENTS.md", "prompts", "rules", "skills"],
    beside: [],
    account: "auth.json",
    accountVariables: ["CODEX_API_KEY"]
  },
  copilot: {
    variable: "COPILOT_HOME",
    folder: ".copilot",
    entries: ["mcp-config.json", "copilot-instructions.md", "agents", "skills"],
    beside: [],
    account: "config.json",
    accountVariables: ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"]
  }
}

/** An account whose token is renewed: whoever does it with a copy logs out the original. */
const isRenewed = (text: string): boolean => /refresh_?token"\s*:\s*"/i.test(text)

export const isolated = Effect.fnUntraced(function*(request: AgentRequest.AgentRequest) {
  const { name: agent } = yield* Agent.Agent
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const host = yield* Effect.flatMap(ProcessTree.Spawner, (spawner) => spawner.host)
  const home = homes[agent]
  if (home === undefined) {
    return yield* new AgentError.AgentUnsupported({ agent, what: "a private config home" })
  }
  if (request.session._tag !== "New") {
    return yield* new AgentError.AgentUnsupported({
      agent,
      what: "a private config home for a conversation that exists",
      hint: "Its conversations are in the shared one: run the request without Fleet.isolated"
    })
  }
  const failed = (cause: PlatformError) =>
    new AgentError.AgentSpawnError({
      agent,
      program: agent,
      cwd: request.cwd ?? host.cwd,
      reason: "files",
      detail: "its private config home could not be made",
      cause
    })

  const variables = { ...host.environment, ...request.env }
  const user = variables[host.platform === "win32" ? "USERPROFILE" : "HOME"]
  const set = variables[home.variable]
  const source = set ?? (user === undefined ? undefined : path.join(user, home.folder))
  const directory = yield* Effect.mapError(fs.makeTempDirectoryScoped({ prefix: "ea-home-" }), failed)

  const copy = (from: string, to: string) =>
    Effect.whenEffect(fs.copy(from, path.join(directory, to)), fs.exists(from)).pipe(Effect.mapError(failed))
  const places = source === undefined ? [] : [
    ...home.entries.map((name) => ({ name, from: path.join(source, name) })),
    ...(set === undefined ? home.beside : []).map((name) => ({ name, from: path.join(source, "..", name) }))
  ]
  yield* Effect.forEach(places, ({ from, name }) => copy(from, name), { discard: true })

  const account = source === undefined ? undefined : path.join(source, home.account)
  const stored = account === undefined ? "" : yield* Effect.orElseSucceed(fs.readFileString(account), () => "")
  if (account !== undefined && stored !== "") {
    if (!isRenewed(stored)) {
      yield* copy(account, home.account)
    } else if (!home.accountVariables.some((name) => (variables[name] ?? "") !== "")) {
      return yield* new AgentError.AgentUnsupported({
        agent,
        what: `a private config home with the login in ${account}, whose token is renewed and cannot be in two places`,
        hint: `Set ${home.accountVariables.slice(0, 3).join(", or ")} in the request's env`
      })
    }
  }
  return AgentRequest.make({ ...request, env: { ...request.env, [home.variable]: directory } })
})
