/** All that a host which is dead left behind: whatever carries the part of its marks that its trees have in common. */
import * as fs from "node:fs"
import * as cgroups from "./cgroup.js"
import type { Range } from "./ledger.js"
import type { Mark } from "./mark.js"
import type { ProcessTable, Row } from "./processTable.js"
import * as tracker from "./tracker.js"

interface Options {
  readonly table: ProcessTable
  /** Who looks: never a part of what is looked for. */
  readonly self: Row
  readonly now: () => number
  readonly id: string
  readonly rlimit: Range | undefined
  /** When the dead host was started. */
  readonly since: number
  /** The directory of the cgroups of its trees, there or not. */
  readonly cgroup: string | undefined
  /** Whether a process was handed over: then it is nobody's to end. */
  readonly spares: (row: Row) => boolean
}

const namespaceOf = (pid: number | "self"): string | undefined => {
  try {
    return fs.readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return undefined
  }
}

/**
 * The id of a thread is used again, and with it the values that its trees have: what was started since another thread
 * has it may be that one's. So may be what lives in another pid namespace, which counts its threads for itself.
 */
const isOurs = ({ since, table }: Options, thread: number) => {
  const here = namespaceOf("self")
  return (row: Row): boolean => {
    const owner = table.row(thread)
    if (owner !== undefined && !owner.dead && owner.startTime > since && row.startTime >= owner.startTime) return false
    const there = namespaceOf(row.pid)
    return there === undefined || there === here
  }
}

/** The marks by the id alone, where the limit does not tell whose it is. */
const certain = ({ table, ...options }: Options): ProcessTable["markOf"] => {
  if (options.rlimit === undefined) return table.markOf
  const ours = isOurs({ table, ...options }, options.rlimit.thread)
  return (row: Row, mark: Mark) => {
    const found = table.markOf(row, mark)
    return found.by !== "rlimit" || ours(row) ? found : table.markOf(row, { ...mark, rlimit: undefined })
  }
}

export const track = (options: Options): tracker.Tracker => {
  const { cgroup, id, now, rlimit, self, since, spares, table } = options
  const markOf = certain(options)
  return tracker.make({
    table: {
      ...table,
      markOf: (row, mark) => {
        const found = markOf(row, mark)
        if (found.by === undefined) return found
        if (spares(row)) return { by: undefined, certain: true }
        // Of one that ends meanwhile nobody knows whether it was handed over, and its group may be.
        return table.lives(row) ? found : { by: undefined, certain: false }
      }
    },
    // No single leader, and no group to trust: marks alone, and who is tied to those that carry them.
    leader: { ...self, pid: 0, parent: 0, group: 0, session: 0, startTime: since },
    mark: {
      id,
      rlimit: rlimit === undefined ? undefined : { value: "", from: BigInt(rlimit.from), to: BigInt(rlimit.to) }
    },
    host: self,
    now,
    seal: cgroup === undefined ? undefined : cgroups.watch(cgroup)
  })
}
