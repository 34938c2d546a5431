/**
 * The slots that tell the trees of one host apart in their hard limits. Two trees that are alive must never have the same
 * one, or the end of either would be the end of both: so all Spawners of a thread draw from one store, also those of
 * another copy of this module, and a slot is free again only when its tree was seen to be empty.
 */
import { globalValue } from "effect/GlobalValue"
import * as Crypto from "node:crypto"
import * as fs from "node:fs"
import * as mark from "./mark.js"

interface Store {
  readonly taken: Set<number>
  next: number
}

const store = globalValue(
  Symbol.for("effect-agents/slots"),
  // Hosts in different pid namespaces may have the same id: that they begin elsewhere makes it unlikely to matter.
  (): Store => ({ taken: new Set(), next: Crypto.randomInt(mark.slots) })
)

/** A free slot, or nothing while all are in use. Nobody else gets it before it was taken and released again. */
export const free = (): number | undefined => {
  for (let tries = 0; tries < mark.slots; tries++) {
    const slot = store.next
    store.next = (slot + 1) % mark.slots
    if (!store.taken.has(slot)) return slot
  }
  return undefined
}

export const take = (slot: number): void => {
  store.taken.add(slot)
}

export const release = (slot: number): void => {
  store.taken.delete(slot)
}

/** The kernel's id of this thread: worker threads share their pid, and nothing else of this module. */
export const thread = (): number => {
  try {
    const id = Number(fs.readlinkSync("/proc/thread-self").split("/").pop())
    return Number.isInteger(id) && id > 0 ? id : process.pid
  } catch {
    return process.pid
  }
}
