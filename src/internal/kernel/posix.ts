import * as ChildProcess from "node:child_process"
import * as Crypto from "node:crypto"
import * as fs from "node:fs"
import type * as ProcessTree from "../../ProcessTree.js"
import type * as Teardown from "../../Teardown.js"
import * as mark from "./mark.js"
import type { Platform, Reaper } from "./platform.js"
import * as table from "./processTable.js"
import * as resolve from "./resolve.js"
import { sweep } from "./sweep.js"
import type { Found } from "./tracker.js"
import * as tracker from "./tracker.js"

const shell = "/bin/sh"

/** A name that a POSIX shell keeps in its environment. dash drops all others. */
const isShellName = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)

const environmentProgram = "/usr/bin/env"

const now = (): number => performance.now()

/** What a shell of this machine can do for the mark: tried once, for some have no `/bin/sh`, or no such limit. */
const probeRlimit = (): string | undefined => {
  try {
    const own = mark.hardLocksLimit(fs.readFileSync("/proc/self/limits", "latin1"))
    const wanted = own === undefined ? undefined : mark.rlimitFor(own, process.pid, 0)
    if (own === undefined || wanted === undefined) return undefined
    const seen = ChildProcess.spawnSync(shell, [
      "-c",
      mark.shim,
      wanted.value,
      shell,
      "-c",
      "ulimit -H -w || ulimit -H -x"
    ], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: {}
    })
    return seen.stdout.trim() === wanted.value ? own : undefined
  } catch {
    return undefined
  }
}

/** The exit code 0 of `ps`, or nothing. */
const ps = (args: ReadonlyArray<string>): string | undefined => {
  const done = ChildProcess.spawnSync("/bin/ps", args, {
    encoding: "utf8",
    env: { LC_ALL: "C", TZ: "UTC" },
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"]
  })
  return done.status === 0 ? done.stdout : undefined
}

const fallbackRow = (pid: number): table.Row => ({
  pid,
  parent: process.pid,
  group: pid,
  session: pid,
  startTime: 0,
  state: "R",
  command: "",
  dead: false
})

const toMember = ({ by, row }: Found): ProcessTree.Member => ({
  pid: row.pid,
  parent: row.parent,
  group: row.group,
  session: row.session,
  startTime: row.startTime,
  state: row.state,
  command: row.command,
  by
})

export const make = (isLinux: boolean): Platform => {
  const processes = isLinux ? table.linux() : table.posix(ps)
  const host = processes.row(process.pid) ?? fallbackRow(process.pid)
  const seesAll = isLinux && processes.row(1) !== undefined
  let hostLimit: string | undefined
  let probed = !isLinux
  let count = 0

  return {
    detached: true,
    shell,
    shellArguments: (line) => ["-c", line],
    resolve: resolve.executable,
    start: (file, args, environment) => {
      if (!probed) {
        hostLimit = probeRlimit()
        probed = true
      }
      const rlimit = hostLimit === undefined ? undefined : mark.rlimitFor(hostLimit, process.pid, count++)
      const id = Crypto.randomBytes(16).toString("hex")
      const around = process.env[mark.variable]
      const marked = { ...environment, [mark.variable]: around === undefined ? id : `${around}:${id}` }
      const layers: ReadonlyArray<Teardown.Layer> = rlimit === undefined
        ? ["group", "environment"]
        : ["group", "environment", "rlimit"]
      const lost = rlimit === undefined ? [] : Object.entries(marked).filter(([name]) => !isShellName(name))
      return {
        ...(rlimit === undefined
          ? { file, args }
          : {
            file: shell,
            args: [
              "-c",
              mark.shim,
              rlimit.value,
              ...(lost.length === 0 ? [] : [environmentProgram, ...lost.map(([name, value]) => `${name}=${value}`)]),
              file,
              ...args
            ]
          }),
        environment: marked,
        watch: (pid) => watch(pid, { id, rlimit }, layers)
      }
    }
  }

  function watch(pid: number, mark: mark.Mark, layers: ReadonlyArray<Teardown.Layer>): Reaper {
    const leader = processes.row(pid) ?? fallbackRow(pid)
    const tracked = tracker.make({ table: processes, leader, mark, host, now })
    const members = () => [...tracked.look()].sort((a, b) => a.row.startTime - b.row.startTime || a.row.pid - b.row.pid)
    return {
      pid,
      members: () => members().map(toMember),
      leaderEnded: tracked.leaderEnded,
      signal: (signal, to) => {
        for (const found of to === "leader" ? [{ row: leader, by: "leader" as const }] : members()) {
          if (to === "leader" || !tracked.signalGroup(found, signal)) tracked.signal(found, signal)
        }
      },
      end: (options) => sweep({ ...options, tracker: tracked, layers, seesAll, now })
    }
  }
}
