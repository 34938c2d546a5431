import type * as AgentDriver from "../../AgentDriver.js"
import * as Teardown from "../../Teardown.js"
import { plan } from "./codexPlan.js"
import { protocol, type State } from "./codexProtocol.js"
import * as Environment from "./environment.js"
import * as NpmPackage from "./npmPackage.js"

export type { State }

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
  protocol
}
