/**
 * Looks again and again at the trees that somebody wants to know the usage of: in the guard, so that no look keeps the
 * host waiting, or in the host where there is no guard. One reading of the process table serves all trees.
 */
import type { Limits } from "../../ProcessTree.js"
import { freeze, makeAccount } from "./kill.js"
import type { Reading } from "./meter.js"
import * as meter from "./meter.js"
import type { ProcessTable, Row } from "./processTable.js"
import * as processTable from "./processTable.js"
import type { Sealed } from "./sealed.js"
import * as sealed from "./sealed.js"
import * as tracker from "./tracker.js"

/** A tree to be looked at. `endedSeconds` is what was counted by those who looked before: see `meter.Reading`. */
export interface Watched {
  readonly id: string
  readonly rlimit: { readonly value: string; readonly from: string; readonly to: string } | undefined
  readonly leader: Row
  readonly before: number
  readonly seal: Sealed | undefined
  readonly limits: Limits
  readonly endedSeconds: number
}

export type Asked = { readonly watch: Watched } | { readonly forget: string }

export interface Told {
  readonly id: string
  readonly reading: Reading
}

export type Sampler = (asked: Asked) => void

export interface Options {
  readonly host: Row
  readonly now: () => number
  /** Called when there is something new to say of a tree. One that went beyond a limit is stopped by then. */
  readonly tell: (told: Told) => void
}

interface Tree {
  readonly tracker: tracker.Tracker
  readonly meter: meter.Meter
  readonly limits: Limits
  /** How long it may be until the next look. */
  pause: number
  last: Reading | undefined
}

/**
 * A tree that grows is looked at often. While it does not, the time between two looks doubles, up to that of those whose
 * usage is wanted alone, or that of those with limits; all looks together take this part of the time at most.
 */
const oftenMs = 50
const limitedMs = 250
const seldomMs = 1000
const share = 1 / 10

const grows = (now: Reading, before: Reading | undefined): boolean =>
  before === undefined || now.peakProcesses > before.peakProcesses * 1.25
  || now.peakMemoryBytes > before.peakMemoryBytes * 1.25

const freezeMs = 1000

export const make = ({ host, now, tell }: Options): Sampler => {
  const trees = new Map<string, Tree>()
  const live = processTable.linux()
  let current = live
  let timer: NodeJS.Timeout | undefined
  let due = Number.POSITIVE_INFINITY

  const table: ProcessTable = {
    ...live,
    rows: (skip) => current.rows(skip),
    row: (pid) => current.row(pid),
    settled: () => current.settled(),
    still: () => current.still(),
    markOf: (row, mark) => current.markOf(row, mark),
    inodeOf: (pid) => current.inodeOf(pid)
  }

  const read = (id: string, tree: Tree): void => {
    const { last, limits, tracker } = tree
    const allowed = limits.processes ?? Number.POSITIVE_INFINITY
    let count = 0
    const found = tracker.look((member) => {
      // One that multiplies is stopped at once: to look at the rest of it takes longer than it takes to double.
      if (++count > allowed) tracker.signalGroup(member, "SIGSTOP")
    })
    const reading = tracker.blind() ? undefined : tree.meter.read(found, table)
    if (reading === undefined) return
    tree.pause = Math.min(
      Object.keys(limits).length > 0 ? limitedMs : seldomMs,
      grows(reading, last) ? oftenMs : tree.pause * 2
    )
    if (JSON.stringify(reading) === JSON.stringify(last)) return
    tree.last = reading
    if (reading.exceeded !== undefined) {
      current = live
      const deadline = now() + freezeMs
      freeze(makeAccount(), tracker, () => now() >= deadline)
    }
    tell({ id, reading })
    // What comes after that is for the teardown to say.
    if (reading.exceeded !== undefined) trees.delete(id)
  }

  const look = (): void => {
    const began = now()
    const since = Math.min(...[...trees.values()].map(({ tracker }) => tracker.leader().row.startTime))
    for (const [id, tree] of trees) {
      if (current === live) current = processTable.moment(since)
      read(id, tree)
    }
    current = live
    due = Number.POSITIVE_INFINITY
    const pause = Math.min(seldomMs, ...[...trees.values()].map(({ pause }) => pause))
    within(Math.min(seldomMs, Math.max(pause, (now() - began) / share)))
  }

  const within = (pause: number): void => {
    if (trees.size === 0 || now() + pause >= due) return
    due = now() + pause
    clearTimeout(timer)
    timer = setTimeout(look, pause).unref()
  }

  return (asked) => {
    if ("forget" in asked) return void trees.delete(asked.forget)
    const { before, endedSeconds, id, leader, limits, rlimit, seal } = asked.watch
    const mark = {
      id,
      rlimit: rlimit === undefined ? undefined : { ...rlimit, from: BigInt(rlimit.from), to: BigInt(rlimit.to) }
    }
    trees.set(id, {
      tracker: tracker.make({
        table,
        leader,
        mark,
        host,
        before,
        now,
        seal: seal === undefined ? undefined : sealed.watch(seal, table, leader)
      }),
      meter: meter.make({ limits, endedSeconds, now, cpuSeconds: sealed.account(seal) }),
      limits,
      pause: oftenMs,
      last: undefined
    })
    within(oftenMs)
  }
}
