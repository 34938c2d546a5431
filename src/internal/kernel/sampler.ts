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
  readonly since: number
  last: string
}

/** A young tree is looked at more often, as long as all looks together take no more than this part of the time. */
const youngMs = 5000
const oftenMs = 250
const seldomMs = 1000
const share = 1 / 10

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
    markOf: (row, mark) => current.markOf(row, mark),
    wasThere: (pid, before) => current.wasThere(pid, before)
  }

  const read = (id: string, tree: Tree): void => {
    const found = tree.tracker.look()
    const reading = tree.tracker.blind() ? undefined : tree.meter.read(found, table)
    const text = JSON.stringify(reading)
    if (reading === undefined || text === tree.last) return
    tree.last = text
    if (reading.exceeded !== undefined) {
      current = live
      const deadline = now() + freezeMs
      freeze(makeAccount(), tree.tracker, () => now() >= deadline)
    }
    tell({ id, reading })
    // What comes after that is for the teardown to say.
    if (reading.exceeded !== undefined) trees.delete(id)
  }

  const look = (): void => {
    const began = now()
    for (const [id, tree] of trees) {
      if (current === live) current = processTable.moment()
      read(id, tree)
    }
    current = live
    const young = [...trees.values()].some(({ since }) => began - since < youngMs)
    due = Number.POSITIVE_INFINITY
    within(Math.min(seldomMs, Math.max(young ? oftenMs : seldomMs, (now() - began) / share)))
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
      meter: meter.make({ limits, endedSeconds, now }),
      since: now(),
      last: ""
    })
    within(oftenMs)
  }
}
