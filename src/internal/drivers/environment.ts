/** Variables that matter to more than one agent. */

/**
 * Markers by which an agent's children know that they run inside it. A run is nobody's child but ours: an inherited
 * session, socket or sandbox marker would tie it to an agent that has nothing to do with it.
 */
export const nesting: ReadonlyArray<string> = [
  "AI_AGENT",
  "CLAUDECODE",
  "CLAUDE_CODE_CHILD_*",
  "CLAUDE_CODE_ENTRYPOINT",
  "CLAUDE_CODE_EXECPATH",
  "CLAUDE_CODE_MESSAGING_*",
  "CLAUDE_CODE_SESSION_*",
  "CLAUDE_CODE_SSE_PORT",
  "CLAUDE_EFFORT",
  "CLAUDE_PID",
  "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
  "CODEX_CI",
  "CODEX_MANAGED_*",
  "CODEX_SANDBOX",
  "CODEX_SANDBOX_NETWORK_DISABLED",
  "CODEX_SESSION_ID",
  "CODEX_THREAD_ID",
  "CODEX_TOOL_CALL_ID",
  "CODEX_VERSION",
  "COPILOT_AGENT_SESSION_ID",
  "COPILOT_CLI",
  "COPILOT_CLI_BINARY_VERSION",
  "COPILOT_CLI_RESOLVED_DIST_DIR",
  "COPILOT_LOADER_PID",
  // Not a marker, but it would widen the permissions of a run from outside the request.
  "COPILOT_ALLOW_ALL"
]

/** Where people's installers put programs; searched after PATH. */
export const directories: ReadonlyArray<string> = [
  "~/.local/bin",
  "~/.npm-global/bin",
  "~/.bun/bin",
  "~/.volta/bin",
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "~/AppData/Roaming/npm"
]
