/**
 * A tree in a cgroup of its own, version 2: nobody leaves it by forking, and one write ends all who are in it. Every host
 * has one directory, with one for each of its trees. Imports nothing of Effect: the guard must stay small.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import type { Row } from "./processTable.js"
import type { Seal } from "./seal.js"

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

const tried = (act: () => void): boolean => {
  try {
    act()
    return true
  } catch {
    return false
  }
}

/** `\040` and the like, as the table of mounts spells what would break its lines. */
const unescape = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/** The directory of the cgroup that a process is in, by its table of mounts and the line of its own place. */
export const placeOf = (mountinfo: string, own: string): string | undefined => {
  const place = /^0::(\/.*)$/m.exec(own)?.[1]
  const mount = mountinfo.split("\n").find((line) => line.includes(" - cgroup2 "))?.split(" ")
  const root = mount?.[3]
  const point = mount?.[4]
  if (place === undefined || root === undefined || point === undefined) return undefined
  const prefix = root === "/" ? "" : unescape(root)
  // A place outside of what is mounted begins with `/..`.
  if (place.startsWith("/..") || !`${place}/`.startsWith(`${prefix}/`)) return undefined
  return path.resolve(unescape(point), `.${place.slice(prefix.length)}`)
}

export const nameOf = (host: string): string => `effect-agents-${host}`

/** The directory for the trees of this host, there or not; nothing where the second version is not mounted. */
export const directoryOf = (host: string): string | undefined => {
  const own = placeOf(read("/proc/self/mountinfo"), read("/proc/self/cgroup"))
  return own === undefined ? undefined : path.join(own, nameOf(host))
}

/** A directory and all below it, those below first: a descendant may have made some. */
const withChildren = (directory: string): ReadonlyArray<string> => {
  const below: Array<string> = []
  tried(() => {
    for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) below.push(...withChildren(path.join(directory, entry.name)))
    }
  })
  return [...below, directory]
}

/** Puts a shell into the cgroup that its first argument names, or ends it: a seal is never silently missing. */
export const joining = "echo 0 >\"$1/cgroup.procs\" || exit 125; shift;"

/** Ends all in a cgroup and below it, forks that are under way included. */
export const kill = (directory: string): boolean =>
  tried(() => fs.writeFileSync(path.join(directory, "cgroup.kill"), "1"))

const isPopulated = (directory: string): boolean => /^populated 1$/m.test(read(path.join(directory, "cgroup.events")))

/** What all who were ever in a cgroup have computed, to the microsecond and however short they lived. */
export const cpuSeconds = (directory: string): number | undefined => {
  const micros = /^usage_usec (\d+)$/m.exec(read(path.join(directory, "cpu.stat")))?.[1]
  return micros === undefined ? undefined : Number(micros) / 1e6
}

/** Makes a cgroup, or says why it could not. */
export const make = (directory: string): string | undefined => {
  try {
    fs.mkdirSync(directory, { recursive: true })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Removes a cgroup and all below it: what is in use stays. Takes the kernel more than ten milliseconds. */
export const remove = (directory: string): void => {
  for (const one of withChildren(directory)) tried(() => fs.rmdirSync(one))
}

/** The same without waiting; `above` is one that goes too when nothing else is in it. */
export const removeLater = (directory: string, above?: string): void => {
  const next = ([first, ...rest]: ReadonlyArray<string>): void => {
    if (first !== undefined) fs.rmdir(first, () => next(rest))
  }
  next([...withChildren(directory), ...(above === undefined ? [] : [above])])
}

/** How the cgroup of a tree, or of all trees of a host, is seen. */
export const watch = (directory: string): Seal => {
  const name = `/${path.basename(directory)}`
  let inside: ReadonlySet<number> = new Set()
  return {
    layer: "cgroup",
    refresh: () => {
      inside = new Set(
        withChildren(directory).flatMap((one) => read(path.join(one, "cgroup.procs")).split("\n").map(Number))
      )
    },
    partOf: () => undefined,
    pending: () => false,
    // Asked once more, of the process itself: its number may have become another's since the list was read.
    holds: (row: Row) => inside.has(row.pid) && read(`/proc/${row.pid}/cgroup`).includes(name),
    occupied: () => isPopulated(directory),
    kill: () => isPopulated(directory) && kill(directory)
  }
}
