/** All that a host which is dead left behind: whatever carries the part of its marks that its trees have in common. */
import type { Ledger } from "./ledger.js"
import type { ProcessTable, Row } from "./processTable.js"
import * as tracker from "./tracker.js"

export const track = (options: {
  readonly table: ProcessTable
  /** Who looks: never a part of what is looked for. */
  readonly self: Row
  readonly now: () => number
  readonly id: string
  readonly rlimit: Ledger["rlimit"]
  readonly since: number
}): tracker.Tracker => {
  const { id, now, rlimit, self, since, table } = options
  return tracker.make({
    table,
    // No single leader, and no group to trust: marks alone, and who is tied to those that carry them.
    leader: { ...self, pid: 0, parent: 0, group: 0, session: 0, startTime: since },
    mark: {
      id,
      rlimit: rlimit === undefined ? undefined : { value: "", from: BigInt(rlimit.from), to: BigInt(rlimit.to) }
    },
    host: self,
    now
  })
}
