import type * as AgentDriver from "../../AgentDriver.js"
import * as Teardown from "../../Teardown.js"
import { plan } from "./claudePlan.js"
import { probe } from "./claudeProbe.js"
import { protocol, type State } from "./claudeProtocol.js"
import { writes } from "./claudeTools.js"
import * as Environment from "./environment.js"
import * as NpmPackage from "./npmPackage.js"

export type { State }

const scope = "@anthropic-ai/claude-code"

/** The first that exists is taken: npm installs the one that fits the C library of the machine. */
const variants = (platform: string, arch: string): ReadonlyArray<string> => {
  const name = `${platform}-${arch}`
  if (platform === "linux") return [name, `${name}-musl`]
  // Under Rosetta, Node says x64 on a machine that has the other one.
  return name === "darwin-x64" ? [name, "darwin-arm64"] : [name]
}

export const driver: AgentDriver.AgentDriver<State> = {
  name: "claude",
  executable: {
    names: ["claude"],
    directories: ["~/.claude/local", ...Environment.directories],
    native: (realPath, { arch, platform }) =>
      NpmPackage.nativePlaces(
        realPath,
        scope,
        variants(platform, arch).map((variant) => ({
          name: `${scope}-${variant}`,
          file: platform === "win32" ? "claude.exe" : "claude"
        }))
      ),
    installHint: "Install it with: npm install -g @anthropic-ai/claude-code",
    loginHint: "Log in with: claude auth login, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN"
  },
  environment: [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_FOUNDRY_RESOURCE",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONFIG_FILE",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CONFIG_DIR",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT"
  ],
  nesting: Environment.nesting,
  // It reaps its shells itself, in 1 to 2.5 seconds; then come those that it does not know.
  teardown: Teardown.make([
    { signal: "SIGTERM", to: "leader", wait: "4 seconds" },
    { signal: "SIGTERM", to: "tree", wait: "1 second" }
  ]),
  plan,
  protocol,
  probe,
  writes
}
