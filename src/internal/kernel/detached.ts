/**
 * What hosts have handed over: one small file for every tree, beside the ledgers. Whoever cleans up after a host spares
 * what is written down here, and a later host can list it and end it. Imports nothing of Effect: the guard must stay small.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { now } from "./clock.js"
import * as Ledger from "./ledger.js"
import type { Mark } from "./mark.js"
import type { ProcessTable, Row } from "./processTable.js"
import * as remains from "./remains.js"
import * as scratches from "./scratch.js"
import type { Tracker } from "./tracker.js"

export interface Owner {
  readonly machine: string
  readonly boot: string
  readonly namespace: string
  readonly pid: number
  readonly startTime: number
  readonly id: string
}

/** Where its hard limit comes from, and its slot, which no other host may use while it lives. */
interface Rlimit extends Ledger.Range {
  readonly value: string
  readonly slot: number
}

export interface Detached {
  readonly version: 1
  readonly owner: Owner
  readonly id: string
  readonly rlimit: Rlimit | undefined
  readonly leader: Ledger.Identity
  readonly command: string
  /** Milliseconds since the epoch. */
  readonly since: number
  /** The directory of the temporary files of its host. */
  readonly scratch: string
}

/** Beside the directory of the ledgers. */
export const directoryOf = (ledgers: string): string => path.join(path.dirname(ledgers), "detached")

const fileOf = (directory: string, id: string): string => path.join(directory, `${id}.json`)

export const write = (directory: string, detached: Detached): boolean =>
  Ledger.writeWhole(fileOf(directory, detached.id), JSON.stringify(detached), detached.owner.pid)

const isText = (value: unknown): value is string => typeof value === "string"

const isOwner = (value: unknown): value is Owner =>
  Ledger.isIdentity(value) && "machine" in value && "boot" in value && "namespace" in value && "id" in value
  && isText(value.machine) && isText(value.boot) && isText(value.namespace) && isText(value.id)
  && /^[\da-f]{24}$/.test(value.id)

const isRlimit = (value: unknown): value is Rlimit =>
  Ledger.isRange(value) && "value" in value && isText(value.value) && /^\d{1,20}$/.test(value.value)
  && "slot" in value && Number.isInteger(value.slot)

const parse = (text: string, name: string): Detached | undefined => {
  const { command, id, leader, owner, rlimit, scratch, since, version } = Ledger.fieldsOf(text)
  return version === 1 && isOwner(owner) && isText(id) && name === `${id}.json` && id.startsWith(owner.id)
      && (rlimit === undefined || isRlimit(rlimit)) && Ledger.isIdentity(leader) && isText(command)
      && typeof since === "number" && Ledger.isNamed(scratch, scratches.nameOf(owner.id)) && scratch !== undefined
    ? { version, owner, id, rlimit, leader, command, since, scratch }
    : undefined
}

/** Those whose pids mean something here. What an earlier boot left is no more than a file. */
export const read = (directory: string): ReadonlyArray<Detached> => {
  let names: ReadonlyArray<string>
  try {
    names = fs.readdirSync(directory)
  } catch {
    return []
  }
  const here = Ledger.place()
  return names.filter((name) => /^[\da-f]+\.json$/.test(name)).flatMap((name) => {
    const file = path.join(directory, name)
    const detached = parse(Ledger.read(file), name)
    if (detached === undefined) return []
    if (detached.owner.boot !== here.boot) {
      scratches.remove(detached.scratch)
      Ledger.remove(file)
      return []
    }
    return detached.owner.namespace === here.namespace ? [detached] : []
  })
}

const isOf = (host: string) => ({ owner }: Detached): boolean => owner.id === host

/** Whether there is word of a tree that this host has handed over. */
export const has = (directory: string | undefined, host: string): boolean =>
  directory !== undefined && read(directory).some(isOf(host))

const markOf = ({ id, rlimit }: Detached): Mark => ({
  id,
  rlimit: rlimit === undefined
    ? undefined
    : { value: rlimit.value, from: BigInt(rlimit.from), to: BigInt(rlimit.to) }
})

/**
 * Whom nobody may end who cleans up after a host. Those of other hosts are known by their very limit alone, which a host of
 * the same thread id would else take for its own; their ids are also those of hosts that run inside them.
 */
export const sparing = (directory: string | undefined, host: string, table: ProcessTable) => {
  const spared = (directory === undefined ? [] : read(directory)).flatMap((detached) => {
    const { id, rlimit } = markOf(detached)
    if (isOf(host)(detached)) return [{ mark: { id, rlimit }, own: true }]
    if (rlimit === undefined) return []
    const exactly = BigInt(rlimit.value)
    return [{ mark: { id, rlimit: { value: rlimit.value, from: exactly, to: exactly } }, own: false }]
  })
  return (row: Row): boolean =>
    spared.some(({ mark, own }) => {
      const { by } = table.markOf(row, mark)
      return own ? by !== undefined : by === "rlimit"
    })
}

/** By its marks alone: its leader may have gone long ago, and its number be another's. */
export const track = (detached: Detached, table: ProcessTable, self: Row): Tracker =>
  remains.track({
    table,
    self,
    now,
    id: detached.id,
    rlimit: detached.rlimit,
    since: detached.leader.startTime,
    cgroup: undefined,
    spares: () => false
  })

const looksForNobody = 6

/** Whether somebody of it lives. One look that finds nobody proves nothing. */
export const isThere = (tracker: Tracker): boolean => {
  for (let look = 0; look < looksForNobody; look++) {
    if (tracker.look().length > 0 || tracker.blind() || !tracker.settled()) return true
  }
  return false
}

export const remove = (directory: string, { id }: Detached): void => Ledger.remove(fileOf(directory, id))
