/**
 * Who holds what outlives a process: for locks and leases in files that a later process has to judge.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import type { Owner } from "./detached.js"
import * as identity from "./identity.js"
import * as ledger from "./ledger.js"
import * as table from "./processTable.js"

const startTimeOf = (pid: number): number | undefined => {
  const row = table.forSystem(process.platform === "linux").row(pid)
  return row === undefined || row.dead ? undefined : row.startTime
}

export const self = (): Owner => ({
  machine: os.hostname(),
  ...ledger.place(),
  pid: process.pid,
  startTime: startTimeOf(process.pid) ?? 0,
  id: identity.host
})

const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** A host that was killed lives on in its ledger until its guard, or whoever does its work, has ended its trees. */
const isSwept = (id: string): boolean => {
  const directory = ledger.directory(process.env)
  if (directory === undefined) return true
  try {
    return !fs.readdirSync(directory).some((name) => name.startsWith(`${id}.json`) && !name.endsWith(".corrupt"))
  } catch {
    return true
  }
}

export const lives = (owner: Owner): boolean => {
  const here = self()
  // Another boot of this machine is over. Of other machines, and of other pid namespaces, nothing is known.
  if (owner.boot !== here.boot) return owner.machine !== here.machine
  if (owner.namespace !== here.namespace || (here.boot === "" && owner.machine !== here.machine)) return true
  const alive = process.platform === "win32" ? exists(owner.pid) : startTimeOf(owner.pid) === owner.startTime
  return alive || !isSwept(owner.id)
}
