import * as Either from "effect/Either"
import * as ChildProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Readable } from "node:stream"
import * as ProcessTree from "../../ProcessTree.js"
import * as Teardown from "../../Teardown.js"
import * as cgroup from "./cgroup.js"
import { now } from "./clock.js"
import * as detached from "./detached.js"
import * as gauge from "./gauge.js"
import * as guards from "./guard.js"
import * as identity from "./identity.js"
import * as ledger from "./ledger.js"
import * as mark from "./mark.js"
import * as owner from "./owner.js"
import type { HandedOver, Platform, Reaper, Stale } from "./platform.js"
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
import { type Options as SweepOptions, type Sweep, sweep } from "./sweep.js"
import type { Found } from "./tracker.js"
import * as tracker from "./tracker.js"
import { key } from "./tracker.js"

const environmentProgram = "/usr/bin/env"

// Variables that shells set to values of their own. PWD is not among them: a shell only corrects it.
const shellsOwn = new Set(["IFS", "LINENO", "OPTIND", "PPID", "PS1", "PS2", "PS4", "RANDOM"])

/** Whether a shell hands a variable on as it is. dash drops those whose names it could not spell itself. */
const passesShell = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !shellsOwn.has(name)

/** The mark of a tree, behind those of the trees around this host. */
const markedAs = (id: string): string => {
  const around = process.env[mark.variable]
  return around === undefined ? id : `${around}:${id}`
}

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

const handedOverIn = (environment: { readonly [name: string]: string | undefined }): string | undefined => {
  const ledgers = ledger.directory(environment)
  return ledgers === undefined ? undefined : detached.directoryOf(ledgers)
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

/**
 * A program whose output nobody reads any more ends with it, or waits for ever. The reader belongs to the tree, and ends
 * when nobody is left to write.
 */
const readOn = (output: Readable, id: string): boolean => {
  try {
    const reader = ChildProcess.spawn("cat", [], {
      env: { PATH: process.env["PATH"], [mark.variable]: markedAs(id) },
      cwd: "/",
      detached: true,
      stdio: [output, "ignore", "ignore"]
    })
    reader.on("error", () => {})
    reader.unref()
    return reader.pid !== undefined
  } catch {
    return false
  }
}

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

const rank = ({ by }: Found) => by === "leader" ? 0 : 1
const sorted = (found: ReadonlyArray<Found>): ReadonlyArray<Found> =>
  [...found].sort((a, b) => rank(a) - rank(b) || a.row.startTime - b.row.startTime || a.row.pid - b.row.pid)

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
    // An earlier host of this thread id may have handed trees over that are still there.
    const directory = handedOverIn(process.env)
    for (const { rlimit } of directory === undefined ? [] : detached.read(directory)) {
      if (rlimit?.thread === thread) slots.take(rlimit.slot)
    }
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

  /** Of what another host has left: its outputs are nobody's here, and its usage was not measured. */
  const sweepOf = (
    what: Pick<SweepOptions, "tracker" | "pid" | "command" | "policy" | "reason">,
    byRlimit: boolean
  ): Sweep =>
    sweep({
      ...what,
      layers: () => byRlimit ? ["environment", "rlimit"] : ["environment"],
      notes: () => [],
      seesAll,
      now,
      urgent: () => false,
      outputHeld: () => false,
      gauge: gauge.none
    })

  const sweepStale = (): ReadonlyArray<Stale> => {
    const directory = ledger.directory(process.env)
    if (directory === undefined || !isLinux) return []
    // What is left of those that have ended by themselves.
    handedOver()
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
        cgroup: directory,
        spares: detached.sparing(handedOverIn(process.env), id, processes)
      })
      return {
        _tag: "Host",
        pid: dead.pid,
        done: () => {
          if (directory !== undefined) cgroup.removeLater(directory)
          claimed.done()
          // What was handed over has its files among them.
          if (files !== undefined && !detached.has(handedOverIn(process.env), id)) scratch.remove(files)
        },
        sweep: sweepOf({
          tracker: tracked,
          pid: dead.pid,
          command: "host",
          policy: Teardown.immediate,
          reason: "host-died"
        }, rlimit !== undefined)
      }
    })
  }

  /** What is left of one that has ended. */
  const forget = (directory: string, one: detached.Detached): void => {
    detached.remove(directory, one)
    if (one.owner.id === identity.host && one.rlimit !== undefined) slots.release(one.rlimit.slot)
    if (!detached.has(directory, one.owner.id) && !owner.lives(one.owner)) scratch.remove(one.scratch)
  }

  const handedOver = (): ReadonlyArray<HandedOver> => {
    const directory = handedOverIn(process.env)
    if (directory === undefined || !isLinux) return []
    return detached.read(directory).flatMap((one): ReadonlyArray<HandedOver> => {
      const tracked = detached.track(one, processes, host)
      if (!detached.isThere(tracked)) {
        forget(directory, one)
        return []
      }
      return [{
        detached: one,
        members: () => sorted(tracked.look()).map(toMember),
        end: function*(policy) {
          const report = yield* sweepOf({
            tracker: tracked,
            pid: one.leader.pid,
            command: one.command,
            policy,
            reason: "completed"
          }, one.rlimit !== undefined)
          if (report.survivors.length === 0) forget(directory, one)
          return report
        }
      }]
    })
  }

  return {
    detached: true,
    handedOver,
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
      const marked = { ...environment, [mark.variable]: markedAs(id) }
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
    const members = () => sorted(tracked.look())
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
      detach: (outputs) => {
        const refused = (reason: ProcessTree.DetachRefused["reason"], detail: string) =>
          Either.left(new ProcessTree.DetachRefused({ reason, detail }))
        const handedOver = handedOverIn(process.env)
        if (!isLinux) return refused("platform", "only Linux can do it")
        // Its cgroup is one of the host's, which all go together.
        if (directory !== undefined) return refused("cgroup", "its cgroup ends with this host")
        const found = members()
        if (found.length === 0) return refused("ended", "nothing of it is there any more")
        const one: detached.Detached = {
          version: 1,
          owner: owner.self(),
          id: mark.id,
          rlimit: mark.rlimit === undefined || slot === undefined
            ? undefined
            : { value: mark.rlimit.value, from: `${mark.rlimit.from}`, to: `${mark.rlimit.to}`, thread, slot },
          leader: ledger.identityOf(leader),
          command,
          since: Date.now(),
          scratch: scratch.directoryOf(identity.host)
        }
        if (handedOver === undefined || !detached.write(handedOver, one)) {
          return refused(
            "ledger",
            `it could not be written down in ${handedOver ?? "the home directory: there is none"}`
          )
        }
        if (!outputs.every((output) => readOn(output, mark.id))) {
          detached.remove(handedOver, one)
          return refused("outputs", "cat, which is to go on reading what it writes, could not be started")
        }
        stopSampling()
        return Either.right({ mark: one.id, owner: one.owner, command, since: one.since, members: found.map(toMember) })
      },
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
