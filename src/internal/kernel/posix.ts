import * as ChildProcess from "node:child_process"
import * as Crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import type * as ProcessTree from "../../ProcessTree.js"
import type * as Teardown from "../../Teardown.js"
import * as mark from "./mark.js"
import type { Platform, Reaper } from "./platform.js"
import * as table from "./processTable.js"
import * as resolve from "./resolve.js"
import * as slots from "./slots.js"
import { sweep } from "./sweep.js"
import type { Found } from "./tracker.js"
import * as tracker from "./tracker.js"

const shell = "/bin/sh"

const environmentProgram = "/usr/bin/env"

// Variables that shells set to values of their own. PWD is not among them: a shell only corrects it.
const shellsOwn = new Set(["IFS", "LINENO", "OPTIND", "PPID", "PS1", "PS2", "PS4", "RANDOM"])

/** Whether a shell hands a variable on as it is. dash drops those whose names it could not spell itself. */
const passesShell = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !shellsOwn.has(name)

const now = (): number => performance.now()

/** What a shell of this machine can do for the mark: tried once, for some have no `/bin/sh`, or no such limit. */
const probeRlimit = (thread: number): string | undefined => {
  try {
    const own = mark.hardLocksLimit(fs.readFileSync("/proc/self/limits", "latin1"))
    const wanted = own === undefined ? undefined : mark.rlimitFor(own, thread, slots.free() ?? 0)
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
  const thread = slots.thread()
  const canSetVariables = fs.existsSync(environmentProgram)

  /** The shim in front of a program. None when it could not be started through it as it was asked for. */
  const shimmed = (
    rlimit: mark.Rlimit,
    file: string,
    args: ReadonlyArray<string>,
    environment: Record<string, string>
  ): ReadonlyArray<string> | undefined => {
    const lost = Object.entries(environment).filter(([name]) => !passesShell(name))
    // `env` would take a program with such a name for a variable.
    if (lost.length > 0 && (!canSetVariables || file.includes("="))) return undefined
    return [
      "-c",
      "PWD" in environment ? mark.shim : `unset PWD; ${mark.shim}`,
      rlimit.value,
      ...(lost.length === 0 ? [] : [environmentProgram, "--", ...lost.map(([name, value]) => `${name}=${value}`)]),
      file,
      ...args
    ]
  }

  return {
    detached: true,
    shell,
    shellArguments: (line) => ["-c", line],
    resolve: resolve.executable,
    start: (file, args, environment) => {
      if (!probed) {
        hostLimit = probeRlimit(thread)
        probed = true
      }
      const slot = hostLimit === undefined ? undefined : slots.free()
      const own = hostLimit === undefined || slot === undefined ? undefined : mark.rlimitFor(hostLimit, thread, slot)
      const id = Crypto.randomBytes(16).toString("hex")
      const around = process.env[mark.variable]
      const marked = { ...environment, [mark.variable]: around === undefined ? id : `${around}:${id}` }
      const shimArgs = own === undefined ? undefined : shimmed(own, file, args, marked)
      const rlimit = shimArgs === undefined ? undefined : own
      return {
        ...(shimArgs === undefined ? { file, args } : { file: shell, args: shimArgs }),
        environment: marked,
        watch: (pid) => watch(pid, path.basename(file), { id, rlimit }, rlimit === undefined ? undefined : slot)
      }
    }
  }

  function watch(pid: number, command: string, mark: mark.Mark, slot: number | undefined): Reaper {
    if (slot !== undefined) slots.take(slot)
    const layers: ReadonlyArray<Teardown.Layer> = slot === undefined
      ? ["group", "environment"]
      : ["group", "environment", "rlimit"]
    const leader = processes.row(pid) ?? fallbackRow(pid)
    const tracked = tracker.make({ table: processes, leader, mark, host, now })
    const rank = ({ by }: Found) => by === "leader" ? 0 : 1
    const members = () =>
      [...tracked.look()].sort((a, b) =>
        rank(a) - rank(b) || a.row.startTime - b.row.startTime || a.row.pid - b.row.pid
      )
    return {
      pid,
      members: () => members().map(toMember),
      leaderEnded: tracked.leaderEnded,
      signal: (signal, to) => {
        for (const found of to === "leader" ? [{ row: leader, by: "leader" as const }] : members()) {
          if (to === "leader" || !tracked.signalGroup(found, signal)) tracked.signal(found, signal)
        }
      },
      end: function*(options) {
        const report = yield* sweep({ ...options, tracker: tracked, command, layers, seesAll, now })
        if (slot !== undefined && report.survivors.length === 0) slots.release(slot)
        return report
      }
    }
  }
}
