/**
 * What a host leaves word of, so that a later one can clean up where neither it nor its guard lived to: one small file
 * for every host, in the state directory of the user.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as cgroups from "./cgroup.js"
import type { Row } from "./processTable.js"
import * as scratches from "./scratch.js"

/** A host, or its guard: a process by pid and start time. */
export interface Identity {
  readonly pid: number
  readonly startTime: number
}

export interface Ledger {
  readonly version: 1
  /** The boot and the pid namespace in which pids and start times mean something. */
  readonly boot: string
  readonly namespace: string
  readonly host: Identity
  readonly guard: Identity | undefined
  readonly id: string
  readonly rlimit: Range | undefined
  /** The directory of the cgroups of its trees, and that of their temporary files. There or not. */
  readonly cgroup?: string | undefined
  readonly scratch?: string | undefined
}

/** The values of the hard limit that the trees of a host have, and the thread whose id they are made of. */
export interface Range {
  readonly from: string
  readonly to: string
  readonly thread: number
}

export const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8").trim()
  } catch {
    return ""
  }
}

const link = (file: string): string => {
  try {
    return fs.readlinkSync(file)
  } catch {
    return ""
  }
}

/** Since when the first process of this pid namespace lives: numbers of namespaces are used again. */
const beginning = (): string => {
  const stat = read("/proc/1/stat")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
}

/** Where and since when pids are counted here. */
export const place = (): Pick<Ledger, "boot" | "namespace"> => ({
  boot: read("/proc/sys/kernel/random/boot_id"),
  namespace: `${link("/proc/self/ns/pid")} since ${beginning()}`
})

/** The directory of the ledgers, or nothing for a user without a home. */
export const directory = (environment: { readonly [name: string]: string | undefined }): string | undefined => {
  const state = environment["XDG_STATE_HOME"]
  const home = environment["HOME"]
  const base = state !== undefined && path.isAbsolute(state)
    ? state
    : home !== undefined && path.isAbsolute(home)
    ? path.join(home, ".local", "state")
    : undefined
  return base === undefined ? undefined : path.join(base, "effect-agents", "hosts")
}

export const fileOf = (directory: string, id: string): string => path.join(directory, `${id}.json`)

/** What cannot be removed stays: nobody is worse off for it. */
export const remove = (file: string): void => {
  try {
    fs.rmSync(file, { force: true })
  } catch {
    return
  }
}

/** Written whole or not at all, for nobody else to read. Tells whether that worked: without a state directory it cannot. */
export const writeWhole = (file: string, text: string, pid: number): boolean => {
  const temporary = `${file}.${pid}.tmp`
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    fs.writeFileSync(temporary, text, { mode: 0o600 })
    fs.renameSync(temporary, file)
    return true
  } catch {
    remove(temporary)
    return false
  }
}

export const write = (file: string, ledger: Ledger): boolean =>
  writeWhole(file, JSON.stringify(ledger), ledger.host.pid)

export const isIdentity = (value: unknown): value is Identity =>
  typeof value === "object" && value !== null && "pid" in value && "startTime" in value
  && Number.isInteger(value.pid) && Number.isFinite(value.startTime)

export const isRange = (value: unknown): value is Range =>
  typeof value === "object" && value !== null && "from" in value && "to" in value
  && typeof value.from === "string" && /^\d{1,20}$/.test(value.from)
  && typeof value.to === "string" && /^\d{1,20}$/.test(value.to)
  && "thread" in value && Number.isInteger(value.thread)

/** A directory whose name is that of the host: nothing else is emptied on the word of a file. */
export const isNamed = (value: unknown, name: string): value is string | undefined =>
  value === undefined || (typeof value === "string" && path.isAbsolute(value) && path.basename(value) === name)

/** The members of the object that a text is; none where it is not one. */
export const fieldsOf = (text: string): { readonly [key: string]: unknown } => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

export const parse = (text: string): Ledger | undefined => {
  const { boot, cgroup, guard, host, id, namespace, rlimit, scratch, version } = fieldsOf(text)
  return version === 1 && typeof boot === "string" && typeof namespace === "string" && isIdentity(host)
      && (guard === undefined || isIdentity(guard)) && typeof id === "string" && /^[\da-f]{24}$/.test(id)
      && (rlimit === undefined || isRange(rlimit))
      && isNamed(cgroup, cgroups.nameOf(id)) && isNamed(scratch, scratches.nameOf(id))
    ? { version, boot, namespace, host, guard, id, rlimit, cgroup, scratch }
    : undefined
}

/** A ledger that is in the hands of this process alone, or one that nobody can read. */
export type Claimed =
  | { readonly _tag: "Ledger"; readonly ledger: Ledger; readonly done: () => void }
  | { readonly _tag: "Corrupt"; readonly file: string }

/**
 * The ledgers whose host and guard are both dead. Each goes to one caller only: the name says who took it, and giving a
 * name is atomic. What was taken by somebody who died since is there to be taken again.
 */
export const claim = (
  directory: string,
  by: Identity,
  lives: (identity: Identity) => boolean
): ReadonlyArray<Claimed> => {
  let names: ReadonlyArray<string>
  try {
    names = fs.readdirSync(directory)
  } catch {
    return []
  }
  const here = place()
  return names.flatMap((name): ReadonlyArray<Claimed> => {
    const match = /^([\da-f]+\.json)(?:\.(\d+)-(\d+))?$/.exec(name)
    if (match === null) return []
    const [, base = "", pid, startTime] = match
    if (pid !== undefined && lives({ pid: Number(pid), startTime: Number(startTime) })) return []
    const file = path.join(directory, name)
    const text = read(file)
    const ledger = parse(text)
    if (ledger === undefined) {
      // Written whole by a rename, so one that cannot be read was not written by us, or was damaged.
      const aside = path.join(directory, `${base}.corrupt`)
      try {
        fs.renameSync(file, aside)
      } catch {
        return []
      }
      return [{ _tag: "Corrupt", file: aside }]
    }
    if (ledger.boot === here.boot && ledger.namespace !== here.namespace) return []
    if (
      ledger.boot === here.boot && (lives(ledger.host) || (ledger.guard !== undefined && lives(ledger.guard)))
    ) return []
    const taken = path.join(directory, `${base}.${by.pid}-${by.startTime}`)
    try {
      fs.renameSync(file, taken)
    } catch {
      return []
    }
    // No process of an earlier boot is left, whatever the numbers say.
    if (ledger.boot !== here.boot) {
      if (ledger.scratch !== undefined) scratches.remove(ledger.scratch)
      remove(taken)
      return []
    }
    return [{ _tag: "Ledger", ledger, done: () => remove(taken) }]
  })
}

export const identityOf = (row: Row): Identity => ({ pid: row.pid, startTime: row.startTime })
