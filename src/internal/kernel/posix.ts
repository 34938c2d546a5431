import * as Either from "effect/Either"
import * as ChildProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type * as ProcessTree from "../../ProcessTree.js"
import * as Teardown from "../../Teardown.js"
import * as cgroup from "./cgroup.js"
import { now } from "./clock.js"
import * as gauge from "./gauge.js"
import * as guards from "./guard.js"
import * as identity from "./identity.js"
import * as ledger from "./ledger.js"
import * as mark from "./mark.js"
import type { Platform, Reaper, Stale } from "./platform.js"
import * as probe from "./probe.js"
import * as table from "./processTable.js"
import * as remains from "./remains.js"
import * as resolve from "./resolve.js"
import * as sampling from "./sampling.js"
import * as scratch from "./scratch.js"
import type { Sealed } from "./sealed.js"
import * as sealed from "./sealed.js"
import { choose, shell, type Way } from "./seals.js"
import * as slots from "./slots.js"
import { sweep } from "./sweep.js"
import type { Found } from "./tracker.js"
import * as tracker from "./tracker.js"
import { key } from "./tracker.js"

const environmentProgram = "/usr/bin/env"

// Variables that shells set to values of their own. PWD is not among them: a shell only corrects it.
const shellsOwn = new Set(["IFS", "LINENO", "OPTIND", "PPID", "PS1", "PS2", "PS4", "RANDOM"])

/** Whether a shell hands a variable on as it is. dash drops those whose names it could not spell itself. */
const passesShell = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !shellsOwn.has(name)

/** How often a signal waits for its program, 5 milliseconds each. */
const triesToDeliver = 200

const ownLimits = (): string => {
  try {
    return fs.readFileSync("/proc/self/limits", "latin1")
  } catch {
    return ""
  }
}

const isAlive = (processes: table.ProcessTable) => ({ pid, startTime }: ledger.Identity): boolean => {
  const row = processes.row(pid)
  return row !== undefined && row.startTime === startTime && !row.dead
}

/** What a shell of this machine can do for the mark: tried once, for some have no `/bin/sh`, or no such limit. */
const probeRlimit = (thread: number): string | undefined => {
  try {
    const own = mark.hardLocksLimit(ownLimits())
    const wanted = own === undefined ? undefined : mark.rlimitFor(own, thread, slots.free() ?? 0)
    if (own === undefined || wanted === undefined) return undefined
    const seen = ChildProcess.spawnSync(shell, [
      "-c",
      `${mark.limiting} ${mark.becoming}`,
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

const fallbackRow = (pid: number): table.Row => ({
  pid,
  parent: process.pid,
  group: pid,
  session: pid,
  startTime: 0,
  state: "R",
  command: "",
  dead: false,
  ticks: 0,
  childTicks: 0,
  pages: 0
})

interface Started {
  readonly pid: number
  /** A moment before it was started. */
  readonly before: number
  readonly command: string
  readonly mark: mark.Mark
  readonly slot: number | undefined
  readonly guard: guards.Guard | undefined
  readonly way: Way | undefined
  /** Of its cgroup. */
  readonly directory: string | undefined
  readonly wanted: gauge.Wanted | undefined
}

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

export const make = (isLinux: boolean, settings: { readonly guard: boolean }): Platform => {
  const processes = table.forSystem(isLinux)
  const host = processes.row(process.pid) ?? fallbackRow(process.pid)
  const seesAll = isLinux && processes.row(1) !== undefined
  let hostLimit: string | undefined
  let probed = !isLinux
  const thread = slots.thread()
  const cgroups = isLinux ? cgroup.directoryOf(identity.host) : undefined
  const canSetVariables = fs.existsSync(environmentProgram)

  const probeLimit = (): void => {
    if (probed) return
    table.rememberAll()
    hostLimit = probeRlimit(thread)
    probed = true
  }

  const guardOf = (): guards.Guard | undefined => {
    if (!settings.guard) return undefined
    const range = hostLimit === undefined ? undefined : mark.rangeFor(hostLimit, thread)
    return guards.get({
      id: identity.host,
      rlimit: range === undefined ? undefined : { from: String(range.from), to: String(range.to), thread },
      host,
      table: processes,
      cgroup: cgroups,
      scratch: scratch.directoryOf(identity.host),
      directory: ledger.directory(process.env)
    })
  }

  /** What a shell must run in front of a program so that it gets all of its environment, or nothing if that cannot be. */
  const handingOn = (file: string, environment: Record<string, string>): ReadonlyArray<string> | undefined => {
    const lost = Object.entries(environment).filter(([name]) => !passesShell(name))
    if (lost.length === 0) return []
    // `env` would take a program with such a name for a variable.
    if (!canSetVariables || file.includes("=")) return undefined
    return [environmentProgram, "--", ...lost.map(([name, value]) => `${name}=${value}`)]
  }

  /** A shell makes a variable of its own of it. */
  const prologue = (environment: Record<string, string>): string => "PWD" in environment ? "" : "unset PWD; "

  const sweepStale = (): ReadonlyArray<Stale> => {
    const directory = ledger.directory(process.env)
    if (directory === undefined || !isLinux) return []
    return ledger.claim(directory, ledger.identityOf(host), isAlive(processes)).map((claimed): Stale => {
      if (claimed._tag === "Corrupt") return claimed
      const { cgroup: directory, id, host: dead, rlimit, scratch: files } = claimed.ledger
      const tracked = remains.track({
        table: processes,
        self: host,
        now,
        id,
        rlimit,
        since: dead.startTime,
        cgroup: directory
      })
      return {
        _tag: "Host",
        pid: dead.pid,
        done: () => {
          if (directory !== undefined) cgroup.removeLater(directory)
          if (files !== undefined) scratch.remove(files)
          claimed.done()
        },
        sweep: sweep({
          tracker: tracked,
          pid: dead.pid,
          command: "host",
          policy: Teardown.immediate,
          reason: "host-died",
          layers: () => rlimit === undefined ? ["environment"] : ["environment", "rlimit"],
          notes: () => [],
          seesAll,
          now,
          urgent: () => false,
          outputHeld: () => false,
          gauge: gauge.none
        })
      }
    })
  }

  return {
    detached: true,
    measures: isLinux,
    scratch: () => scratch.make(identity.host),
    sweepStale,
    probe: () => {
      probeLimit()
      const guard = guardOf()
      const facts = {
        rlimit: hostLimit !== undefined,
        hostLimit: mark.hardLocksLimit(ownLimits()),
        guard: guard === undefined ? "off" : guard.pid() === undefined ? guard.notes().join("; ") : "running",
        hasPs: fs.existsSync("/bin/ps")
      }
      return {
        findings: [
          ...(isLinux ? probe.linux(facts) : probe.posix(facts)),
          ...(["cgroup", "namespace"] as const).map((layer): probe.Finding =>
            Either.match(choose(layer, { isLinux, cgroup: cgroups, as: {}, suits: () => true }), {
              onLeft: ({ why }) => ({ layer, available: false, why }),
              onRight: () => ({ layer, available: true, why: "" })
            })
          )
        ],
        warnings: isLinux ? probe.warnings() : []
      }
    },
    shell,
    shellArguments: (line) => ["-c", line],
    resolve: resolve.executable,
    start: (program, args, environment, wanted, as) => {
      probeLimit()
      const guard = guardOf()
      const id = identity.nextTree()
      const around = process.env[mark.variable]
      const marked = { ...environment, [mark.variable]: around === undefined ? id : `${around}:${id}` }
      const passing = handingOn(program, marked)
      const suits = (way: Way) => passing !== undefined || (way.layer === "namespace" && !way.throughShell)
      return Either.map(choose(wanted, { isLinux, cgroup: cgroups, as, suits }), (way) => {
        const command = way?.layer === "namespace"
          ? way.wrap([...(way.throughShell ? passing ?? [] : []), program, ...args], prologue(marked))
          : [program, ...args]
        const [file = program, ...rest] = command
        const shimPasses = handingOn(file, marked)
        const slot = hostLimit === undefined || shimPasses === undefined ? undefined : slots.free()
        const rlimit = hostLimit === undefined || slot === undefined
          ? undefined
          : mark.rlimitFor(hostLimit, thread, slot)
        const directory = way?.layer === "cgroup" ? path.join(way.directory, id) : undefined
        const shim = (rlimit === undefined && directory === undefined) || shimPasses === undefined
          ? undefined
          : [
            "-c",
            [
              ...(directory === undefined ? [] : [cgroup.joining]),
              ...(rlimit === undefined ? [] : [mark.limiting]),
              prologue(marked) + mark.becoming
            ].join(" "),
            rlimit?.value ?? shell,
            ...(directory === undefined ? [] : [directory]),
            ...shimPasses,
            ...command
          ]
        if (directory !== undefined) cgroup.make(directory)
        const before = now()
        return {
          ...(shim === undefined ? { file, args: rest } : { file: shell, args: shim }),
          environment: marked,
          watch: (pid, wanted) =>
            watch({
              pid,
              before,
              command: path.basename(program),
              mark: { id, rlimit, siblings: hostLimit === undefined ? undefined : mark.rangeFor(hostLimit, thread) },
              slot: rlimit && slot,
              guard,
              way,
              directory,
              wanted
            }),
          discard: () => {
            if (directory !== undefined) cgroup.removeLater(directory, cgroups)
          }
        }
      })
    }
  }

  function watch({ before, command, directory, guard, mark, pid, slot, wanted, way }: Started): Reaper {
    if (slot !== undefined) slots.take(slot)
    const layers = (): ReadonlyArray<Teardown.Layer> => [
      "group",
      "environment",
      ...(slot === undefined ? [] : ["rlimit" as const]),
      ...(guard?.pid() === undefined ? [] : ["guard" as const]),
      ...(way === undefined ? [] : [way.layer])
    ]
    const leader = processes.row(pid) ?? fallbackRow(pid)
    const seal: Sealed | undefined = way?.layer === "namespace"
      ? { layer: "namespace" }
      : directory === undefined
      ? undefined
      : { layer: "cgroup", directory }
    const tracked = tracker.make({
      table: processes,
      leader,
      mark,
      host,
      before,
      now,
      seal: seal === undefined ? undefined : sealed.watch(seal, processes, leader)
    })
    const measured = wanted === undefined ? gauge.none : gauge.make(processes, wanted, seal)
    const stopSampling = wanted === undefined ? () => {} : sampling.get(host).sample({
      id: mark.id,
      rlimit: mark.rlimit === undefined
        ? undefined
        : { value: mark.rlimit.value, from: `${mark.rlimit.from}`, to: `${mark.rlimit.to}` },
      leader,
      before,
      seal,
      limits: wanted.limits,
      endedSeconds: 0
    }, measured.hear)
    const rank = ({ by }: Found) => by === "leader" ? 0 : 1
    const members = () =>
      [...tracked.look()].sort((a, b) =>
        rank(a) - rank(b) || a.row.startTime - b.row.startTime || a.row.pid - b.row.pid
      )
    const deliver = (signal: Teardown.Signal, to: "leader" | "tree", tries: number): void => {
      // Behind a seal the leader is another process than the one that was started, and may be yet to come.
      const seen = to === "tree" || seal !== undefined ? members() : []
      if (tracked.pending() && tries > 0) {
        setTimeout(() => deliver(signal, to, tries - 1), 5)
        return
      }
      for (const found of to === "leader" ? [tracked.leader()] : seen) {
        if (found.seal && signal !== "SIGKILL") continue
        if (to === "leader" || !tracked.signalGroup(found, signal)) tracked.signal(found, signal)
      }
    }
    return {
      pid,
      members: () => members().map(toMember),
      leaderEnded: tracked.leaderEnded,
      signal: (signal, to) => {
        if (typeof to === "string") return deliver(signal, to, triesToDeliver)
        const named = new Set(to.map(({ pid, startTime }) => `${pid}:${startTime}`))
        for (const found of members()) if (named.has(key(found.row))) tracked.signal(found, signal)
      },
      end: function*(options) {
        const report = yield* sweep({
          ...options,
          tracker: tracked,
          // A host that is about to exit reads no report.
          gauge: options.reason === "host-exit" ? gauge.none : measured,
          pid,
          command,
          layers,
          notes: () => guard?.notes() ?? [],
          seesAll,
          now
        })
        stopSampling()
        if (slot !== undefined && report.survivors.length === 0) slots.release(slot)
        if (directory !== undefined) {
          // A host that exits does not come to do it later.
          if (options.reason === "host-exit") cgroup.remove(directory)
          else cgroup.removeLater(directory, cgroups)
        }
        return report
      }
    }
  }
}
