import type * as AgentDriver from "../../AgentDriver.js"
import * as Teardown from "../../Teardown.js"
import { writes } from "./codexItems.js"
import { plan } from "./codexPlan.js"
import * as Exec from "./codexProtocol.js"
import * as Server from "./codexServer.js"
import { probe } from "./codexProbe.js"
import * as Environment from "./environment.js"
import * as NpmPackage from "./npmPackage.js"

/** A run of one turn, or a dialogue: two protocols of one CLI. */
export type State =
  | { readonly _tag: "Exec"; readonly exec: Exec.State }
  | { readonly _tag: "Server"; readonly server: Server.State }

const execStep = (step: AgentDriver.Step<Exec.State>): AgentDriver.Step<State> => ({
  ...step,
  state: { _tag: "Exec", exec: step.state }
})

const serverStep = (step: AgentDriver.Step<Server.State>): AgentDriver.Step<State> => ({
  ...step,
  state: { _tag: "Server", server: step.state }
})

const protocol: AgentDriver.Protocol<State> = {
  initial: (request, context) =>
    context.dialogue === undefined
      ? { _tag: "Exec", exec: Exec.protocol.initial(request, context) }
      : { _tag: "Server", server: Server.protocol.initial(request, context) },
  step: (state, record) =>
    state._tag === "Exec"
      ? execStep(Exec.protocol.step(state.exec, record))
      : serverStep(Server.protocol.step(state.server, record)),
  tell: (state, input) =>
    state._tag === "Exec" ? { state, events: [] } : serverStep(Server.protocol.tell(state.server, input)),
  progress: (state) =>
    state._tag === "Exec" ? Exec.protocol.progress(state.exec) : Server.protocol.progress(state.server),
  diagnose: (state, ending) =>
    state._tag === "Exec"
      ? Exec.protocol.diagnose(state.exec, ending)
      : Server.protocol.diagnose(state.server, ending)
}

const machines: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" }
const systems: Readonly<Record<string, string>> = {
  linux: "unknown-linux-musl",
  darwin: "apple-darwin",
  win32: "pc-windows-msvc"
}

const native = (realPath: string, { arch, platform }: { readonly platform: string; readonly arch: string }) => {
  const [machine, system] = [machines[arch], systems[platform]]
  if (machine === undefined || system === undefined) return []
  const file = `vendor/${machine}-${system}/bin/${platform === "win32" ? "codex.exe" : "codex"}`
  return NpmPackage.nativePlaces(realPath, "@openai/codex", [
    { name: `@openai/codex-${platform}-${arch}`, file },
    { name: "@openai/codex", file }
  ])
}

export const driver: AgentDriver.AgentDriver<State> = {
  name: "codex",
  executable: {
    names: ["codex"],
    directories: [...Environment.directories, "~/.cargo/bin"],
    native,
    installHint: "Install it with: npm install -g @openai/codex",
    loginHint: "Log in with: codex login, or set CODEX_API_KEY or OPENAI_API_KEY"
  },
  environment: [
    "AZURE_OPENAI_API_KEY",
    "CODEX_API_KEY",
    "CODEX_CA_CERTIFICATE",
    "CODEX_HOME",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_ORGANIZATION",
    "OPENAI_PROJECT"
  ],
  nesting: Environment.nesting,
  // Only on SIGINT does it end what it started; on SIGTERM it just leaves.
  teardown: Teardown.make([
    { signal: "SIGINT", to: "leader", wait: "3 seconds" },
    { signal: "SIGTERM", to: "tree", wait: "2 seconds" }
  ]),
  plan,
  protocol,
  probe,
  writes
}
