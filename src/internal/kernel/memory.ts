/**
 * What processes have in memory, each page counted once: a page that several share belongs to each of them in part. To
 * find that out the kernel walks all their pages, so it is asked seldom, and the one that has grown most is asked first.
 */
import * as fs from "node:fs"
import type { Row } from "./processTable.js"
import { readProc } from "./processTable.js"

export interface Known {
  /** What was read; less, once the process has less in memory at all. */
  bytes: number
  read: number
  pages: number
  at: number
  cost: number
}

interface Process {
  readonly row: Row
  memory: Known | undefined
}

/** How long one look may read: as long again where the limit may have been passed, so that it is soon known. */
const budgetMs = 10

/** One process is not read more often than that it costs this part of the time. */
const share = 1 / 20

/** After so long it is read again though it has not grown: others may have let go of what it shared with them. */
const staleMs = 5000

const typePageSize = 6n

/** The size of a page: an entry of the auxiliary vector, which is read as pairs of 64 bits. */
const readPageSize = (): number => {
  const vector = readProc("/proc/self/auxv")
  if (vector !== undefined) {
    for (let at = 0; at + 16 <= vector.length; at += 16) {
      if (vector.readBigUInt64LE(at) === typePageSize) return Number(vector.readBigUInt64LE(at + 8))
    }
  }
  return 4096
}

const pageSize = readPageSize()

const kilobytes = (text: string, name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1])

/** Where the first is not to be read, because the process is another user's or hides, the second is: files left out. */
const read = (pid: number): number | undefined => {
  const part = kilobytes(readProc(`/proc/${pid}/smaps_rollup`)?.toString("latin1") ?? "", "Pss")
  if (!Number.isNaN(part)) return part * 1024
  const status = readProc(`/proc/${pid}/status`)?.toString("latin1") ?? ""
  const own = kilobytes(status, "RssAnon") + kilobytes(status, "RssShmem")
  return Number.isNaN(own) ? undefined : own * 1024
}

/** Reads what is due among the living, as far as the time goes. Who was never read counts nothing yet. */
export const update = (living: ReadonlyArray<Process>, limit: number | undefined, now: () => number): void => {
  const began = now()
  let most = 0
  const due: Array<readonly [Process, number]> = []
  for (const one of living) {
    const bytes = one.row.pages * pageSize
    most += bytes
    const { memory } = one
    if (memory === undefined) {
      due.push([one, one.row.pages])
      continue
    }
    memory.bytes = Math.min(memory.read, bytes)
    const age = began - memory.at
    if (age < memory.cost / share) continue
    if (memory.pages !== one.row.pages || age > staleMs) due.push([one, one.row.pages - memory.pages])
  }
  const until = began + (limit !== undefined && most > limit ? 2 : 1) * budgetMs
  for (const [one] of due.sort(([, a], [, b]) => b - a)) {
    const before = now()
    if (before >= until) return
    const bytes = read(one.row.pid)
    if (bytes === undefined) continue
    one.memory = { bytes, read: bytes, pages: one.row.pages, at: before, cost: now() - before }
  }
}

/** How many files a process has open: since Linux 6.2 the size of the directory tells, before that it is read. */
export const openFiles = (pid: number): number => {
  const directory = `/proc/${pid}/fd`
  try {
    return fs.statSync(directory).size || fs.readdirSync(directory).length
  } catch {
    return 0
  }
}
