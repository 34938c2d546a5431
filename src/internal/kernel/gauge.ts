/** What a report says of the usage of its tree: what was told while it lived, and what the teardown itself has seen. */
import type { Limits } from "../../ProcessTree.js"
import * as Teardown from "../../Teardown.js"
import { now } from "./clock.js"
import type { Reading } from "./meter.js"
import * as meter from "./meter.js"
import type { ProcessTable } from "./processTable.js"
import type { Sealed } from "./sealed.js"
import * as sealed from "./sealed.js"
import type { Found } from "./tracker.js"

/** What somebody wants to know of a tree. `onLimit` is called once, when it has gone beyond one of its limits. */
export interface Wanted {
  readonly limits: Limits
  readonly onLimit: () => void
}

export interface Gauge {
  readonly hear: (reading: Reading) => void
  /** Takes what a look of the teardown has found. */
  readonly see: (found: ReadonlyArray<Found>) => void
  readonly says: () => Pick<Teardown.TeardownReport, "usage" | "exceeded">
}

export const none: Gauge = { hear: () => {}, see: () => {}, says: () => ({}) }

const nothing: Reading = {
  peakProcesses: 0,
  peakMemoryBytes: 0,
  cpuSeconds: 0,
  endedSeconds: 0,
  exceeded: undefined
}

export const make = (table: ProcessTable, wanted: Wanted, seal: Sealed | undefined): Gauge => {
  // No limits: what is being ended already cannot be ended for going beyond them.
  const own = meter.make({ limits: {}, endedSeconds: 0, now, cpuSeconds: sealed.account(seal) })
  let told = nothing
  let seen = nothing
  return {
    hear: (reading) => {
      const { exceeded } = told
      told = { ...highest(told, reading), endedSeconds: reading.endedSeconds, exceeded: exceeded ?? reading.exceeded }
      if (exceeded === undefined && told.exceeded !== undefined) wanted.onLimit()
    },
    see: (found) => {
      seen = own.read(found, table) ?? seen
    },
    says: () => {
      // Those that had ended when it was told cannot be among those that were seen later.
      const usage = highest(told, { ...seen, cpuSeconds: told.endedSeconds + seen.cpuSeconds })
      const { exceeded } = told
      return {
        ...(usage.peakProcesses === 0 ? {} : { usage: new Teardown.Usage(usage) }),
        ...(exceeded === undefined ? {} : { exceeded: new Teardown.Exceeded(exceeded) })
      }
    }
  }
}

const highest = (a: Teardown.Usage, b: Teardown.Usage) => ({
  peakProcesses: Math.max(a.peakProcesses, b.peakProcesses),
  peakMemoryBytes: Math.max(a.peakMemoryBytes, b.peakMemoryBytes),
  cpuSeconds: Math.max(a.cpuSeconds, b.cpuSeconds)
})
