import type * as AgentDriver from "../../AgentDriver.js"
import * as Teardown from "../../Teardown.js"
import * as Acp from "./copilotAcp.js"
import { plan } from "./copilotPlan.js"
import * as Exec from "./copilotProtocol.js"
import { writes } from "./copilotTools.js"
import { probe } from "./copilotProbe.js"
import * as Environment from "./environment.js"
import * as NpmPackage from "./npmPackage.js"

/** A run of one turn, or a dialogue: two protocols of one CLI. */
export type State =
  | { readonly _tag: "Exec"; readonly exec: Exec.State }
  | { readonly _tag: "Acp"; readonly acp: Acp.State }

const execStep = (step: AgentDriver.Step<Exec.State>): AgentDriver.Step<State> => ({
  ...step,
  state: { _tag: "Exec", exec: step.state }
})

const acpStep = (step: AgentDriver.Step<Acp.State>): AgentDriver.Step<State> => ({
  ...step,
  state: { _tag: "Acp", acp: step.state }
})

const protocol: AgentDriver.Protocol<State> = {
  initial: (request, context) =>
    context.dialogue === undefined
      ? { _tag: "Exec", exec: Exec.protocol.initial(request, context) }
      : { _tag: "Acp", acp: Acp.protocol.initial(request, context) },
  step: (state, record) =>
    state._tag === "Exec"
      ? execStep(Exec.protocol.step(state.exec, record))
      : acpStep(Acp.protocol.step(state.acp, record)),
  tell: (state, input) => state._tag === "Exec" ? { state, events: [] } : acpStep(Acp.protocol.tell(state.acp, input)),
  progress: (state) => state._tag === "Exec" ? Exec.protocol.progress(state.exec) : Acp.protocol.progress(state.acp),
  diagnose: (state, ending) =>
    state._tag === "Exec"
      ? Exec.protocol.diagnose(state.exec, ending)
      : Acp.protocol.diagnose(state.acp, ending)
}

export const driver: AgentDriver.AgentDriver<State> = {
  name: "copilot",
  executable: {
    names: ["copilot"],
    directories: Environment.directories,
    native: (realPath, { arch, platform }) =>
      NpmPackage.nativePlaces(
        realPath,
        "@github/copilot",
        (platform === "linux" ? ["linux", "linuxmusl"] : [platform]).map((system) => ({
          name: `@github/copilot-${system}-${arch}`,
          file: platform === "win32" ? "copilot.exe" : "copilot"
        }))
      ),
    installHint: "Install it with: npm install -g @github/copilot",
    loginHint: "Log in with: copilot login, or set COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN"
  },
  environment: [
    "COPILOT_CACHE_HOME",
    "COPILOT_GH_HOST",
    "COPILOT_GITHUB_TOKEN",
    "COPILOT_HOME",
    "COPILOT_MODEL",
    "COPILOT_OFFLINE",
    "COPILOT_PROVIDER_API_KEY",
    "COPILOT_PROVIDER_API_KEY_COMMAND",
    "COPILOT_PROVIDER_AZURE_API_VERSION",
    "COPILOT_PROVIDER_BASE_URL",
    "COPILOT_PROVIDER_BEARER_TOKEN",
    "COPILOT_PROVIDER_HEADERS",
    "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS",
    "COPILOT_PROVIDER_MAX_PROMPT_TOKENS",
    "COPILOT_PROVIDER_MODEL_ID",
    "COPILOT_PROVIDER_TRANSPORT",
    "COPILOT_PROVIDER_TYPE",
    "COPILOT_PROVIDER_WIRE_API",
    "COPILOT_PROVIDER_WIRE_MODEL",
    "GH_CONFIG_DIR",
    "GH_HOST",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "XDG_CONFIG_HOME"
  ],
  nesting: Environment.nesting,
  // It ends the group of its shell in well under a second and leaves everything else.
  teardown: Teardown.make([
    { signal: "SIGTERM", to: "leader", wait: "4 seconds" },
    { signal: "SIGTERM", to: "tree", wait: "1 second" }
  ]),
  plan,
  protocol,
  probe,
  writes
}
