/**
 * Which seals this machine has: found out by doing it once, and kept for the life of the process. A tool that is not
 * there is looked for again.
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

/** How a tree is sealed. `throughShell` tells that a shell is the first in the namespace to have the environment. */
export type Way =
  | {
    readonly layer: "namespace"
    readonly throughShell: boolean
    readonly wrap: namespace.Wrap
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
  if (done.status === 0) return expected(done.stdout.trim()) ? undefined : "what it starts is not sealed"
  const [said = ""] = done.stderr.trim().split("\n")
  const tool = `${path.basename(file)}: `
  return said === ""
    ? `ended with ${done.status ?? done.signal}`
    : said.startsWith(tool)
    ? said.slice(tool.length)
    : said
}

const tryNamespace = (name: "bwrap" | "unshare", tool: string, setsid: string, as: As): Try => {
  const isRoot = (as.uid ?? process.getuid?.()) === 0
  const wrap = namespace[name](tool, setsid, shell, isRoot)
  const why = run(wrap([shell, "-c", namespace.script], ""), as, (said) => said === namespace.scriptSays)
  return why === undefined
    ? Either.right({ layer: "namespace", throughShell: isRoot || name === "unshare", wrap })
    : Either.left(why)
}

const showPlace = "while read -r line; do echo \"$line\"; done </proc/self/cgroup"

const tryCgroup = (directory: string | undefined, as: As): Try => {
  if (directory === undefined) {
    return Either.left("the second version of cgroups is not mounted, or not where this host is")
  }
  if (as.uid !== undefined && as.uid !== process.getuid?.()) return Either.left("another user may not join it")
  const probe = path.join(directory, "probe")
  const made = cgroup.make(probe)
  const why = made === undefined
    ? run(
      [shell, "-c", `${cgroup.joining} ${showPlace}`, shell, probe],
      as,
      (said) => said.includes(path.basename(directory))
    )
    : made
  const killed = why ?? (cgroup.kill(probe) ? undefined : "this kernel has no cgroup.kill")
  if (made === undefined) cgroup.removeLater(probe, directory)
  return killed === undefined ? Either.right({ layer: "cgroup", directory }) : Either.left(killed)
}

const names = ["bwrap", "unshare", "cgroup"] as const
type Name = typeof names[number]

const once = (key: ReadonlyArray<string | number | undefined>, attempt: () => Try): Try => {
  const known = tried.get(key.join(":"))
  if (known !== undefined) return known
  const found = attempt()
  tried.set(key.join(":"), found)
  return found
}

const attempt = (name: Name, directory: string | undefined, as: As): Try => {
  if (name === "cgroup") return once([name, as.uid], () => tryCgroup(directory, as))
  const tool = find(name)
  const setsid = find("setsid")
  return tool === undefined
    ? Either.left("not installed")
    : setsid === undefined
    ? Either.left("setsid is not installed")
    : once([name, tool, setsid, as.uid, as.gid], () => tryNamespace(name, tool, setsid, as))
}

const wanted: { readonly [seal in Exclude<ProcessTree.Seal, "none">]: ReadonlyArray<Name> } = {
  auto: names,
  namespace: ["bwrap", "unshare"],
  cgroup: ["cgroup"]
}

export interface Options {
  readonly isLinux: boolean
  /** The directory for the cgroups of the host's trees. */
  readonly cgroup: string | undefined
  readonly as: As
  /** Whether a way fits the program that is to be started. */
  readonly suits: (way: Way) => boolean
}

/** The first way that works, or nothing where none has to. */
export const choose = (
  seal: ProcessTree.Seal,
  { as, cgroup, isLinux, suits }: Options
): Either.Either<Way | undefined, ProcessTree.ContainmentUnavailable> => {
  if (seal === "none") return Either.right(undefined)
  const failures: Array<string> = []
  for (const name of wanted[seal]) {
    const found = Either.filterOrLeft(
      isLinux ? attempt(name, cgroup, as) : Either.left("only Linux has it"),
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
