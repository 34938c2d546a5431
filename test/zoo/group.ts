/**
 * The truth, from outside: who lives of all that was ever started in a group that nobody can leave. That is a control
 * group where root is there to make one, else everything new in the pid namespace of the zoo.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Seen, seenAt, waitUntil } from "../utils/Processes.js"

export interface Group {
  /** Puts a process in it, and whatever it starts from then on. */
  readonly join: (pid: number) => void
  /** Who lives, or at most so many of them. Nobody is missed for being born while it looks. */
  readonly look: (matters?: (seen: Seen) => boolean, atMost?: number) => ReadonlyArray<Seen>
}

const isPid = (name: string): boolean => /^[1-9]\d*$/.test(name)

const table = (): ReadonlyArray<number> => readdirSync("/proc").filter(isPid).map(Number)

const pidsOf = (directory: string): ReadonlyArray<number> => [
  ...readFileSync(join(directory, "cgroup.procs"), "utf8").split("\n").filter(isPid).map(Number),
  ...readdirSync(directory, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? pidsOf(join(directory, entry.name)) : []
  )
]

/**
 * Where groups can be made here: in the hierarchy of the first version that counts processes, if there is one, and in
 * that of the second, which is also given to the user of the host, who may want to make some in it.
 */
const hierarchies = [["/sys/fs/cgroup/pids"], ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]].flatMap((places) =>
  places.find((directory) => {
    try {
      const trial = mkdtempSync(join(directory, "effect-agents-"))
      const usable = existsSync(join(trial, "cgroup.procs"))
      rmdirSync(trial)
      return usable
    } catch {
      return false
    }
  }) ?? []
)

const relistsAtMost = 100

const gone = (pid: number): Seen => ({ pid, parent: 0, startTime: 0, state: "X", command: "", dead: true })

/**
 * A list holds somebody of every chain of processes that fork and end, but he may have ended before he is looked at: so
 * it is asked for again until nobody did. One that always has somebody who ended since is no empty one: it is told as he.
 */
const lookAt = (list: () => ReadonlyArray<number>): Group["look"] => {
  const buried = new Set<string>()
  return (matters = () => true, atMost = Number.POSITIVE_INFINITY) => {
    for (let lists = 1;; lists++) {
      const found: Array<Seen> = []
      let moved: Seen | undefined
      for (const pid of list()) {
        const seen = seenAt(pid)
        const id = `${pid}:${seen?.startTime}`
        if (seen === undefined) moved = gone(pid)
        else if (!seen.dead && matters(seen)) found.push(seen)
        else if (seen.dead && !buried.has(id)) {
          buried.add(id)
          moved = seen
        }
        if (found.length >= atMost) break
      }
      if (found.length > 0 || moved === undefined) return found
      if (lists > relistsAtMost) return [moved]
    }
  }
}

/** Takes away a directory and all below it, once they are empty. */
const removed = (directory: string): boolean => {
  try {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      if (entry.isDirectory() && !removed(join(directory, entry.name))) return false
    }
    rmdirSync(directory)
    return true
  } catch {
    return !existsSync(directory) // the last of them is being buried
  }
}

const spared = new Set<number>()

/** Those who are in no group, although they are new. */
export const spare = (seen: ReadonlyArray<Seen>): void => seen.forEach(({ pid }) => spared.add(pid))

const open = (user: number | undefined): Group & { readonly close: () => boolean } => {
  const directories = hierarchies.map((hierarchy) => mkdtempSync(join(hierarchy, "effect-agents-")))
  const [first] = directories
  if (first === undefined) {
    const before = new Set(table())
    return {
      join: () => {},
      look: lookAt(() => table().filter((pid) => !before.has(pid) && !spared.has(pid))),
      close: () => true
    }
  }
  for (const directory of directories) {
    if (user === undefined || !existsSync(join(directory, "cgroup.kill"))) continue
    for (const path of [directory, join(directory, "cgroup.procs")]) chownSync(path, user, user)
  }
  return {
    join: (pid) => directories.forEach((directory) => writeFileSync(join(directory, "cgroup.procs"), String(pid))),
    look: lookAt(() => pidsOf(first)),
    close: () => directories.every(removed)
  }
}

const end = (group: Group): boolean => {
  const left = group.look()
  for (const { pid } of left) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      continue // ended meanwhile
    }
  }
  return left.length === 0
}

/** A group for one trial of a host of this user. Whoever is left in it at the end of the scope is killed. */
export const make = (user: number | undefined): Effect.Effect<Group, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => open(user)),
    (group) =>
      waitUntil("the end of a group", Effect.sync(() => end(group) && group.close()), { deadline: "30 seconds" })
  )
