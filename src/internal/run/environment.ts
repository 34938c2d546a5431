/** Which variables an agent sees. */
import type { EnvPolicy } from "../../AgentRequest.js"

const common = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "TZ",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TMPDIR",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "XDG_RUNTIME_DIR",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  // Windows cannot start a program without these.
  "SystemRoot",
  "SYSTEMROOT",
  "ComSpec",
  "PATHEXT",
  "TEMP",
  "TMP",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
  "HOMEDRIVE",
  "HOMEPATH",
  "USERNAME",
  "ProgramData",
  "ProgramFiles"
]

/** Windows tells variables apart whatever the case, and spells its own as it likes: `Path`, `windir`. */
const spelling = (platform: string) => (name: string): string => platform === "win32" ? name.toUpperCase() : name

/** The value of one variable. */
export const lookup = (
  variables: Readonly<Record<string, string>>,
  name: string,
  platform: string
): string | undefined => {
  const spelled = spelling(platform)
  return Object.entries(variables).find(([candidate]) => spelled(candidate) === spelled(name))?.[1]
}

export const select = (options: {
  readonly policy: EnvPolicy
  readonly host: Readonly<Record<string, string>>
  readonly platform: string
  readonly needed: ReadonlyArray<string>
  readonly nesting: ReadonlyArray<string>
}): Record<string, string> => {
  const { host, platform, policy } = options
  const spelled = spelling(platform)
  const matches = (pattern: string) => (name: string): boolean =>
    pattern.endsWith("*") ? spelled(name).startsWith(spelled(pattern.slice(0, -1))) : spelled(name) === spelled(pattern)
  const pick = (names: ReadonlyArray<string>) =>
    Object.fromEntries(Object.entries(host).filter(([name]) => names.some((pattern) => matches(pattern)(name))))
  if (policy === "minimal") return pick([...common, ...options.needed])
  if (policy === "inherit") {
    const kept = new Set(options.needed.map(spelled))
    return Object.fromEntries(
      Object.entries(host).filter(([name]) =>
        kept.has(spelled(name)) || !options.nesting.some((pattern) => matches(pattern)(name))
      )
    )
  }
  const only = new Set(policy.only.map(spelled))
  return Object.fromEntries(Object.entries(host).filter(([name]) => only.has(spelled(name))))
}
