/**
 * What a test on the real CLIs stands on: the installed CLIs, the model server, and per run a home of its own in which
 * nothing of the machine's user is seen and nothing is left.
 */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeMark } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import * as Install from "./install.js"
import * as ModelServer from "./ModelServer.js"

export class Rig extends Context.Tag("effect-agents/test/real/Rig")<Rig, {
  readonly installed: Install.Installed
  readonly server: ModelServer.ModelServer
}>() {}

export const layer = Layer.scoped(
  Rig,
  Effect.all({ installed: Install.install, server: ModelServer.make })
).pipe(
  Layer.provide(NodeContext.layer),
  Layer.provideMerge(NodeProcessTree.layer)
)

/** Long and unlike any word: Copilot masks its key wherever it comes up in the output. */
const apiKey = "scripted-key-5d1f7c0e9b3a48628c4e"

/** A place of its own for one conversation: home, working directory and mark. */
export interface Place {
  readonly mark: string
  readonly home: string
  readonly cwd: string
}

export const makePlace: Effect.Effect<Place, never, Scope.Scope> = Effect.gen(function*() {
  const root = yield* TempDir.make
  // After the folder, so that whoever is left has ended when the folder goes.
  const mark = yield* makeMark
  const place = { mark, home: join(root, "home"), cwd: join(root, "work") }
  mkdirSync(place.home)
  mkdirSync(place.cwd)
  return place
})

const writeCodexConfig = (folder: string, url: string): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, "config.toml"),
    `model = "scripted"
model_provider = "scripted"

[analytics]
enabled = false

[features]
plugins = false

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
`
  )
}

export interface Cli {
  readonly name: "claude" | "codex" | "copilot"
  readonly layer: (options?: Agent.Options) => ReturnType<typeof Claude.layer>
  /** What makes this CLI speak with the model at `url`, and how it takes a stdio MCP server. */
  readonly configure: (options: {
    readonly installed: Install.Installed
    readonly place: Place
    readonly url: string
    readonly permission: AgentRequest.Permission
    readonly mcp: ReadonlyArray<string> | undefined
  }) => { readonly env: Readonly<Record<string, string>>; readonly extraArgs: ReadonlyArray<string> }
}

export const claude: Cli = {
  name: "claude",
  layer: Claude.layer,
  configure: ({ mcp, place, url }) => ({
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: apiKey,
      CLAUDE_CONFIG_DIR: join(place.home, ".claude"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
      // It would hide the tools of MCP behind a search.
      ENABLE_TOOL_SEARCH: "false",
      // It refuses to bypass permissions as root otherwise.
      IS_SANDBOX: "1"
    },
    extraArgs: mcp === undefined
      ? []
      : [`--mcp-config=${JSON.stringify({ mcpServers: { left: { command: mcp[0], args: mcp.slice(1) } } })}`]
  })
}

export const codex: Cli = {
  name: "codex",
  layer: Codex.layer,
  configure: ({ mcp, permission, place, url }) => {
    const folder = join(place.home, ".codex")
    writeCodexConfig(folder, url)
    return {
      env: { CODEX_HOME: folder, SCRIPTED_KEY: apiKey },
      extraArgs: [
        // The working directory is not a repository. Where nothing can be written the driver says so itself.
        ...(permission === "ReadOnly" || permission === "Plan" ? [] : ["--skip-git-repo-check"]),
        ...(mcp === undefined ? [] : [
          "-c",
          `mcp_servers.left.command=${JSON.stringify(mcp[0])}`,
          "-c",
          `mcp_servers.left.args=${JSON.stringify(mcp.slice(1))}`
        ])
      ]
    }
  }
}

export const copilot: Cli = {
  name: "copilot",
  layer: Copilot.layer,
  configure: ({ installed, mcp, place, url }) => ({
    env: {
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_TYPE: "anthropic",
      COPILOT_PROVIDER_API_KEY: apiKey,
      COPILOT_MODEL: "scripted",
      COPILOT_HOME: join(place.home, ".copilot"),
      COPILOT_CACHE_HOME: installed.copilotCache,
      COPILOT_AUTO_UPDATE: "false"
    },
    extraArgs: mcp === undefined ? [] : [
      `--additional-mcp-config=${
        JSON.stringify({ mcpServers: { left: { type: "local", command: mcp[0], args: mcp.slice(1), tools: ["*"] } } })
      }`
    ]
  })
}

export const all: ReadonlyArray<Cli> = [claude, codex, copilot]

/** The driver of a CLI, on the installed native binary. */
export const agent = (cli: Cli, options?: Agent.Options) =>
  Layer.unwrapEffect(
    Effect.map(Rig, ({ installed }) => cli.layer({ program: installed[cli.name].native, ...options }))
  )

export type Fields = Omit<ConstructorParameters<typeof AgentRequest.AgentRequest>[0], "cwd" | "env" | "envPolicy">

/** A request to a CLI in its place, whose model answers at `url`. */
export const request = (
  cli: Cli,
  place: Place,
  url: string,
  fields: Fields,
  mcp?: ReadonlyArray<string> | undefined
): Effect.Effect<AgentRequest.AgentRequest, never, Rig> =>
  Effect.map(Rig, ({ installed, server }) => {
    const permission = fields.permission ?? "ReadOnly"
    const { env, extraArgs } = cli.configure({ installed, place, url, permission, mcp })
    return AgentRequest.make({
      ...fields,
      cwd: place.cwd,
      envPolicy: { only: ["PATH"] },
      env: {
        HOME: place.home,
        LANG: "C.UTF-8",
        // By this whoever judges from outside knows what belongs to the test.
        TEST_MARK: place.mark,
        HTTP_PROXY: server.proxy,
        HTTPS_PROXY: server.proxy,
        NO_PROXY: "127.0.0.1",
        ...env
      },
      extraArgs: [...extraArgs, ...(fields.extraArgs ?? [])]
    })
  })

/** Opens a script at the model server. */
export const open = (name: string, script: ModelServer.Script): Effect.Effect<ModelServer.Route, never, Rig> =>
  Effect.flatMap(Rig, ({ server }) => server.open(name, script))

/** No CLI has tried to send anything off the machine so far. */
export const expectNothingOutside: Effect.Effect<void, never, Rig> = Effect.gen(function*() {
  const { server } = yield* Rig
  assert.deepStrictEqual(yield* server.outside, [], "a request tried to leave the machine")
})

/** One run from start to end, with the driver of the CLI. */
export const run = (
  cli: Cli,
  place: Place,
  url: string,
  fields: Fields,
  options?: Agent.Options
) =>
  request(cli, place, url, fields).pipe(
    Effect.flatMap((request) => Agent.run(request)),
    Effect.provide(agent(cli, options))
  )
