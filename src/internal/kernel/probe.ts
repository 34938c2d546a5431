/** What this machine offers, found out by looking and trying. */
import * as fs from "node:fs"
import type { Layer } from "../../Teardown.js"

export interface Finding {
  readonly layer: Layer
  readonly available: boolean
  readonly why: string
}

export interface Facts {
  readonly rlimit: boolean
  readonly hostLimit: string | undefined
  readonly guard: "running" | "off" | string
  readonly hasPs: boolean
}

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

const whyNoRlimit = ({ hostLimit }: Facts): string =>
  hostLimit === undefined
    ? "this system has no limit on file locks, or does not show it"
    : hostLimit === "unlimited"
    ? "/bin/sh is missing, or cannot set the limit"
    : "this host runs inside two trees already, or its limit on file locks was set by somebody else"

export const linux = (facts: Facts): ReadonlyArray<Finding> => [
  { layer: "group", available: true, why: "" },
  { layer: "environment", available: true, why: "" },
  { layer: "rlimit", available: facts.rlimit, why: facts.rlimit ? "" : whyNoRlimit(facts) },
  guard(facts)
]

export const posix = (facts: Facts): ReadonlyArray<Finding> => [
  { layer: "group", available: facts.hasPs, why: facts.hasPs ? "" : "there is no /bin/ps to see the members with" },
  {
    layer: "environment",
    available: facts.hasPs,
    why: facts.hasPs ? "" : "there is no /bin/ps to read environments with"
  },
  { layer: "rlimit", available: false, why: "only Linux shows the limits of other processes" },
  guard(facts)
]

const guard = (facts: Facts): Finding => ({
  layer: "guard",
  available: facts.guard === "running",
  why: facts.guard === "running" ? "" : facts.guard === "off" ? "switched off by the option of the layer" : facts.guard
})

/** Of either version of cgroups, as a container sees its own. */
const pidsFiles = ["/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"]

/** What makes the promises of the layers weaker here, or the machine less safe to work on. */
export const warnings = (): ReadonlyArray<string> => {
  const found: Array<string> = []
  if (!fs.existsSync("/proc/self/stat")) {
    return ["no /proc: the process table cannot be read, and nothing is claimed about what is left"]
  }
  if (process.pid === 1) {
    found.push("this host is PID 1 and does not reap orphans: they stay as zombies; start the container with an init")
  }
  const hidden = /^proc \/proc proc \S*hidepid=(?:[1-9]|invisible|noaccess|ptraceable)/m.test(read("/proc/self/mounts"))
  if (hidden) found.push("/proc hides other users' processes (hidepid): those that change their user are not seen")
  const pids = Number(read("/proc/sys/kernel/pid_max"))
  if (pids > 0 && pids < 32768) found.push(`only ${pids} pids: they come round fast, and every look takes longer`)
  const limit = Math.min(...pidsFiles.map((file) => Number.parseInt(read(file))).filter((most) => most > 0))
  if (limit < 512) found.push(`this container may have ${limit} processes at most (pids.max)`)
  const yama = Number(read("/proc/sys/kernel/yama/ptrace_scope"))
  if (yama > 1) found.push("yama restricts ptrace: debuggers inside a tree do not work")
  return found
}
