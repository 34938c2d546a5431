/**
 * The end of every teardown: freeze, kill, and look until nothing is left. A generator that yields the milliseconds to
 * wait, so that finalizers, the pass at the host's exit and the guard drive the same one. Imports nothing of Effect: the
 * guard must stay small.
 */
import type { Found, Tracker } from "./tracker.js"
import { key } from "./tracker.js"

/**
 * How many looks in a row must find nobody. Only those count during which nobody ended: see `Tracker.settled`. One during
 * which nobody was born either is enough: see `Tracker.still`.
 */
const cleanLooks = 6
const betweenLooks = 2

/** Before so many looks nobody is given up, however late it is: a host that stood still has had none of its time. */
const looksAtLeast = 25

export interface Ended {
  found: Found
  signal: string | undefined
}

/** Who was found, what was sent to them, and who may not be signalled. */
export interface Account {
  readonly seen: Map<string, Ended>
  readonly denied: Set<string>
}

export const makeAccount = (): Account => ({ seen: new Map(), denied: new Set() })

export const keyOf = ({ row }: Found): string => key(row)

export const note = ({ seen }: Account, found: Found): Ended => {
  const id = keyOf(found)
  const entry = seen.get(id) ?? { found, signal: undefined }
  entry.found = found
  seen.set(id, entry)
  return entry
}

export const send = (account: Account, tracker: Tracker, found: Found, signal: NodeJS.Signals): void => {
  const entry = note(account, found)
  const result = tracker.signal(found, signal)
  if (result === "sent") entry.signal = signal
  if (result === "not-permitted") account.denied.add(keyOf(found))
}

/** Stops everybody, in as many looks as it takes until nobody new turns up. */
export const freeze = (account: Account, tracker: Tracker, pastDeadline: () => boolean): ReadonlyArray<Found> => {
  const frozen = new Set<string>()
  let members: ReadonlyArray<Found> = []
  for (let pass = 0; pass < 20 && !pastDeadline(); pass++) {
    let fresh = 0
    members = tracker.look((found) => {
      const id = keyOf(found)
      note(account, found)
      if (frozen.has(id)) return
      frozen.add(id)
      fresh++
      if (!tracker.signalGroup(found, "SIGSTOP")) tracker.signal(found, "SIGSTOP")
    })
    if (fresh === 0) break
  }
  return members
}

/** Returns who is left. `members` is what the last look found. */
export function* kill(
  account: Account,
  tracker: Tracker,
  members: ReadonlyArray<Found>,
  pastDeadline: () => boolean
): Generator<number, ReadonlyArray<Found>> {
  const { denied, seen } = account
  if (members.length > 0 && tracker.killSealed()) {
    for (const found of members) {
      note(account, found).signal = "SIGKILL"
    }
  }
  let left = members.length > 0 ? freeze(account, tracker, pastDeadline) : members
  let clean = left.length === 0 && tracker.settled() ? 1 : 0
  if (clean > 0 && tracker.still()) return left
  const reached = new Set<string>()
  for (let looks = 1;; looks++) {
    const before = seen.size
    tracker.killSealed()
    const killed = new Set<number>()
    const known = left
    left = tracker.look((found) => {
      const group = tracker.signalGroup(found, "SIGKILL")
      if (group) killed.add(found.row.group)
      // Whoever outlives that is of another user, or only slow to die: the answer to a signal of its own tells.
      if (!group || reached.has(keyOf(found))) send(account, tracker, found, "SIGKILL")
      else {
        reached.add(keyOf(found))
        note(account, found)
      }
    })
    // Whoever dies with its group before the look comes to it is not found any more.
    for (const found of [...known, ...left]) if (killed.has(found.row.group)) note(account, found).signal = "SIGKILL"
    const killable = left.some((found) => !denied.has(keyOf(found)))
    const sure = !tracker.blind() && tracker.settled()
    clean = killable ? 0 : sure ? clean + 1 : clean
    if (clean >= cleanLooks || (clean > 0 && tracker.still())) return left
    if (looks >= looksAtLeast && pastDeadline() && (clean === 0 || !sure)) return left
    // While new ones turn up it is a race; after that the kernel needs a moment to bury the dead.
    yield seen.size > before ? 0 : clean === 0 ? 1 : betweenLooks
  }
}
