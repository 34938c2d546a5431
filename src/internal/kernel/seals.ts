/**
 * Which seals this machine has: found out by doing it once, and kept for the life of the process.
 */
import * as Either from "effect/Either"
import { globalValue } from "effect/GlobalValue"
import * as ChildProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as ProcessTree from "../../ProcessTree.js"
import * as cgroup from "./cgroup.js"
import * as namespace from "./namespace.js"
import type { As } from "./platform.js"

/** How a tree is sealed. `wrap` puts the tool that does it in front of a command line, `prologue` in front of a shell's. */
export type Way =
  | {
    readonly layer: "namespace"
    readonly throughShell: boolean
    readonly wrap: (command: namespace.CommandLine, prologue: string) => namespace.CommandLine
  }
  | { readonly layer: "cgroup"; readonly directory: string }

type Try = Either.Either<Way, string>

export const shell = "/bin/sh"

/** A tool that does not answer must not keep a host waiting. */
const boundMs = 5000

const tried = globalValue(Symbol.for("effect-agents/seals"), () => new Map<string, Try>())

/** By the search path of the host, as far as that names places that are the same wherever one is. */
const find = (tool: string): string | undefined =>
  (process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(":")
    .filter((directory) => path.isAbsolute(directory))
    .map((directory) => path.join(directory, tool))
    .find((file) => {
      try {
        fs.accessSync(file, fs.constants.X_OK)
        return fs.statSync(file).isFile()
      } catch {
        return false
      }
    })

/** Why a program that was to say `expected` did not, or nothing when it did. */
const run = ([file = "", ...args]: namespace.CommandLine, as: As, expected: (said: string) => boolean) => {
  const done = ChildProcess.spawnSync(file, args, {
    encoding: "utf8",
    cwd: "/",
    env: {},
    stdio: ["ignore", "pipe", "pipe"],
    timeout: boundMs,
    killSignal: "SIGKILL",
    ...as
  })
  if (done.error !== undefined) {
    return "code" in done.error && done.error.code === "ETIMEDOUT"
      ? `did not answer within ${boundMs} ms`
      : done.error.message
  }
  if (done.status === 0 && expected(done.stdout.trim())) return undefined
  const [said = ""] = done.stderr.trim().split("\n")
  const tool = `${path.basename(file)}: `
  return said === ""
    ? `ended with ${done.status ?? done.signal}`
    : said.startsWith(tool)
    ? said.slice(tool.length)
    : said
}

const tryNamespace = (name: "bwrap" | "unshare", as: As): Try => {
  const tool = find(name)
  const setsid = find("setsid")
  if (tool === undefined) return Either.left("not installed")
  if (setsid === undefined) return Either.left("setsid is not installed")
  const wrap = name === "bwrap"
    ? namespace.bwrap(tool, setsid)
    : namespace.unshare(tool, setsid, shell, (as.uid ?? process.getuid?.()) === 0)
  const why = run(wrap([shell, "-c", namespace.script], ""), as, (said) => said === namespace.scriptSays)
  return why === undefined
    ? Either.right({ layer: "namespace", throughShell: name === "unshare", wrap })
    : Either.left(why)
}

const showPlace = "while read -r line; do echo \"$line\"; done </proc/self/cgroup"

const tryCgroup = (host: string, as: As): Try => {
  const own = cgroup.own()
  if (own === undefined) return Either.left("the second version of cgroups is not mounted, or not where this host is")
  if (as.uid !== undefined && as.uid !== process.getuid?.()) return Either.left("another user may not join it")
  const directory = path.join(own, cgroup.nameOf(host))
  const probe = path.join(directory, "probe")
  const made = cgroup.make(probe)
  const why = made === undefined
    ? run(
      [shell, "-c", `${cgroup.joining} ${showPlace}`, shell, probe],
      as,
      (said) => said.includes(cgroup.nameOf(host))
    )
    : made
  const killed = why ?? (cgroup.kill(probe) ? undefined : "this kernel has no cgroup.kill")
  if (made === undefined) cgroup.removeLater(probe)
  return killed === undefined ? Either.right({ layer: "cgroup", directory }) : Either.left(killed)
}

const names = ["bwrap", "unshare", "cgroup"] as const
type Name = typeof names[number]

const attempt = (name: Name, host: string, as: As): Try => {
  const key = `${name}:${as.uid ?? ""}:${as.gid ?? ""}`
  const known = tried.get(key)
  if (known !== undefined) return known
  const found = name === "cgroup" ? tryCgroup(host, as) : tryNamespace(name, as)
  tried.set(key, found)
  return found
}

const wanted: { readonly [seal in Exclude<ProcessTree.Seal, "none">]: ReadonlyArray<Name> } = {
  auto: names,
  namespace: ["bwrap", "unshare"],
  cgroup: ["cgroup"]
}

export interface Options {
  readonly isLinux: boolean
  /** The id of the host, by which its cgroup is named. */
  readonly host: string
  readonly as: As
  /** Whether a way fits the program that is to be started. */
  readonly suits: (way: Way) => boolean
}

/** The first way that works, or nothing where none has to. */
export const choose = (
  seal: ProcessTree.Seal,
  { as, host, isLinux, suits }: Options
): Either.Either<Way | undefined, ProcessTree.ContainmentUnavailable> => {
  if (seal === "none") return Either.right(undefined)
  const failures: Array<string> = []
  for (const name of wanted[seal]) {
    const found = Either.filterOrLeft(
      isLinux ? attempt(name, host, as) : Either.left("only Linux has it"),
      suits,
      () => "the environment of this program cannot be handed on by a shell"
    )
    if (Either.isRight(found)) return Either.right(found.right)
    failures.push(`${name}: ${found.left}`)
  }
  return seal === "auto"
    ? Either.right(undefined)
    : Either.left(new ProcessTree.ContainmentUnavailable({ layer: seal, why: failures.join("; ") }))
}
