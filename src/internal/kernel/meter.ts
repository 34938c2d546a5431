/**
 * What a tree uses, from the looks at it, and whether that is within its limits. Imports nothing of Effect: the guard
 * must stay small.
 */
import type { Limits } from "../../ProcessTree.js"
import type { Limit } from "../../Teardown.js"
import * as memory from "./memory.js"
import type { ProcessTable, Row } from "./processTable.js"
import type { Found } from "./tracker.js"
import { key } from "./tracker.js"

interface Exceeded {
  readonly limit: Limit
  readonly allowed: number
  readonly measured: number
  readonly biggest: ReadonlyArray<{ readonly pid: number; readonly command: string; readonly value: number }>
}

/** `endedSeconds` is the part of `cpuSeconds` that nobody who lives can be asked for any more. */
export interface Reading {
  readonly peakProcesses: number
  readonly peakMemoryBytes: number
  readonly cpuSeconds: number
  readonly endedSeconds: number
  readonly exceeded: Exceeded | undefined
}

export interface Meter {
  /** Takes what one look has found. `undefined` while nothing was ever found. */
  readonly read: (found: ReadonlyArray<Found>, table: ProcessTable) => Reading | undefined
}

export interface Options {
  readonly limits: Limits
  /** Seconds that were counted before, of processes that have ended. */
  readonly endedSeconds: number
  readonly now: () => number
  /** Where somebody keeps the account better: see `cgroup.cpuSeconds`. */
  readonly cpuSeconds?: (() => number | undefined) | undefined
}

interface Known {
  row: Row
  memory: memory.Known | undefined
}

/** The unit of times in /proc, on every architecture that Node runs on. */
const ticksPerSecond = 100

const biggestAtMost = 5

const sum = <A>(all: Iterable<A>, of: (one: A) => number): number => {
  let total = 0
  for (const one of all) total += of(one)
  return total
}

const ticksOf = ({ row }: Known): number => row.ticks + row.childTicks

export const make = ({ cpuSeconds, endedSeconds, limits, now }: Options): Meter => {
  const known = new Map<string, Known>()
  let ended = Math.round(endedSeconds * ticksPerSecond)
  // What those had used who were not found at the last look, as far as no parent has been seen to answer for it yet.
  let open = 0
  let seconds = 0
  let peakProcesses = 0
  let peakMemoryBytes = 0
  let exceeded: Exceeded | undefined

  /**
   * Whoever waits for a child takes over its time. So what the living have taken over since the last look is set against
   * what those had who have gone, and only the rest is counted on: nothing twice, whoever was the parent of whom.
   */
  const account = (found: ReadonlyArray<Found>, table: ProcessTable): void => {
    let taken = 0
    let gone = 0
    const renew = (entry: Known, row: Row): void => {
      taken += Math.max(0, row.childTicks - entry.row.childTicks)
      entry.row = row
    }
    const present = new Set<string>()
    for (const { row } of found) {
      const id = key(row)
      present.add(id)
      const entry = known.get(id)
      if (entry === undefined) known.set(id, { row, memory: undefined })
      else renew(entry, row)
    }
    for (const [id, entry] of known) {
      if (present.has(id)) continue
      const row = table.row(entry.row.pid)
      // One that is dead and that nobody has waited for can still be asked.
      if (row !== undefined && key(row) === id) renew(entry, row)
      else {
        gone += ticksOf(entry)
        known.delete(id)
      }
    }
    const late = Math.min(open, taken)
    ended += open - late
    open = Math.max(0, gone - (taken - late))
    const counted = (ended + open + sum(known.values(), ticksOf)) / ticksPerSecond
    seconds = Math.max(seconds, cpuSeconds?.() ?? counted)
  }

  const judge = (living: ReadonlyArray<Known>, memoryBytes: number): Exceeded | undefined => {
    const check = (
      limit: Limit,
      measured: number,
      parts: () => Iterable<readonly [Row, number]>
    ): Exceeded | undefined => {
      const allowed = limits[limit]
      return allowed === undefined || measured <= allowed ? undefined : {
        limit,
        allowed,
        measured,
        biggest: [...parts()].filter(([, value]) => value > 0).sort(([, a], [, b]) => b - a).slice(0, biggestAtMost)
          .map(([{ command, pid }, value]) => ({ pid, command, value }))
      }
    }
    const each = (value: (entry: Known) => number) => () =>
      living.map((entry): readonly [Row, number] => [entry.row, value(entry)])
    const files = new Map(
      limits.openFiles === undefined ? [] : living.map(({ row }) => [row, memory.openFiles(row.pid)])
    )
    return check("processes", living.length, () => byProgram(living))
      ?? check("memoryBytes", memoryBytes, each(({ memory }) => memory?.bytes ?? 0))
      ?? check("cpuSeconds", seconds, each((entry) => ticksOf(entry) / ticksPerSecond))
      ?? check("openFiles", sum(files.values(), (count) => count), () => files)
  }

  return {
    read: (all, table) => {
      // Whoever is there for the seal alone is not the tree's to answer for.
      const found = all.filter(({ seal }) => !seal)
      account(found, table)
      const living = found.flatMap(({ row }) => known.get(key(row)) ?? [])
      memory.update(living, limits.memoryBytes, now)
      const memoryBytes = sum(living, ({ memory }) => memory?.bytes ?? 0)
      peakProcesses = Math.max(peakProcesses, living.length)
      peakMemoryBytes = Math.max(peakMemoryBytes, memoryBytes)
      exceeded ??= judge(living, memoryBytes)
      return peakProcesses === 0 ? undefined : {
        peakProcesses,
        peakMemoryBytes,
        cpuSeconds: seconds,
        endedSeconds: cpuSeconds === undefined ? ended / ticksPerSecond : 0,
        exceeded
      }
    }
  }
}

/** How many processes run each program, told of the one that was started last. */
const byProgram = (living: ReadonlyArray<Known>): Iterable<readonly [Row, number]> => {
  const programs = new Map<string, readonly [Row, number]>()
  for (const { row } of living) programs.set(row.command, [row, (programs.get(row.command)?.[1] ?? 0) + 1])
  return programs.values()
}
