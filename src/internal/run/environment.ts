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

const matches = (pattern: string) => (name: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern

export const select = (options: {
  readonly policy: EnvPolicy
  readonly host: Readonly<Record<string, string>>
  readonly needed: ReadonlyArray<string>
  readonly nesting: ReadonlyArray<string>
}): Record<string, string> => {
  const { host, policy } = options
  const pick = (names: ReadonlyArray<string>) =>
    Object.fromEntries(Object.entries(host).filter(([name]) => names.some((pattern) => matches(pattern)(name))))
  if (policy === "minimal") return pick([...common, ...options.needed])
  if (policy === "inherit") {
    const kept = new Set(options.needed)
    return Object.fromEntries(
      Object.entries(host).filter(([name]) =>
        kept.has(name) || !options.nesting.some((pattern) => matches(pattern)(name))
      )
    )
  }
  return Object.fromEntries(Object.entries(host).filter(([name]) => policy.only.includes(name)))
}
