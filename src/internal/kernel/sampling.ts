/** Who looks at the trees of this host between start and teardown: its guard while there is one, else the host itself. */
import { globalValue } from "effect/GlobalValue"
import { now } from "./clock.js"
import type { Reading } from "./meter.js"
import type { Row } from "./processTable.js"
import * as sampler from "./sampler.js"

export interface Sampling {
  /** Has a tree looked at until the returned function is called. */
  readonly sample: (watched: sampler.Watched, heard: (reading: Reading) => void) => () => void
  /** Takes what a look has found. */
  readonly hear: (told: sampler.Told) => void
  /** From now on this one looks, who knows of no tree yet; without one the host. */
  readonly by: (looks: sampler.Sampler | undefined) => void
}

const make = (host: Row): Sampling => {
  const trees = new Map<string, { watched: sampler.Watched; readonly heard: (reading: Reading) => void }>()
  const hear: Sampling["hear"] = ({ id, reading }) => {
    const tree = trees.get(id)
    if (tree === undefined) return
    tree.watched = { ...tree.watched, endedSeconds: reading.endedSeconds }
    tree.heard(reading)
  }
  let own: sampler.Sampler | undefined
  const itself: sampler.Sampler = (asked) => (own ??= sampler.make({ host, now, tell: hear }))(asked)
  let looks = itself
  return {
    hear,
    sample: (watched, heard) => {
      const { id } = watched
      trees.set(id, { watched, heard })
      looks({ watch: watched })
      return () => {
        if (trees.delete(id)) looks({ forget: id })
      }
    },
    by: (next) => {
      for (const id of trees.keys()) itself({ forget: id })
      looks = next ?? itself
      for (const { watched } of trees.values()) looks({ watch: watched })
    }
  }
}

const store = globalValue(
  Symbol.for("effect-agents/sampling"),
  (): { sampling: Sampling | undefined } => ({ sampling: undefined })
)

/** The one of this thread. */
export const get = (host: Row): Sampling => store.sampling ??= make(host)
