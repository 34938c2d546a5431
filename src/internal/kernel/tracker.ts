/**
 * Which processes belong to a tree, and the looks at the process table that tell.
 *
 * The set decides, never the leader: once the leader is gone its children have other parents, other groups and other
 * sessions. A process is identified by pid and start time.
 */
import type { Evidence } from "../../Teardown.js"
import type { Mark } from "./mark.js"
import type { ProcessTable, Row } from "./processTable.js"
import type { Seal } from "./seal.js"

export interface Found {
  readonly row: Row
  readonly by: Evidence
  /** A part of the seal around the tree: its end is the end of all inside, so that nothing but a kill is for it. */
  readonly seal: boolean
}

export interface Tracker {
  /** The program, or while that is not there yet, the process that is to become it. */
  readonly leader: () => Found
  /** One look at the whole table. `act` is called for every living member the moment it is found, newest first. */
  readonly look: (act?: (found: Found) => void) => ReadonlyArray<Found>
  /** Whether anybody but the seal who was alive at the last look still is: a cheap question between two looks. */
  readonly anyKnownAlive: () => boolean
  readonly leaderAlive: () => boolean
  /** To be called when the leader's end is known: from then on its group is trusted only while somebody is in it. */
  readonly leaderEnded: () => void
  /** Signals one member, unless it has become somebody else. */
  readonly signal: (found: Found, signal: NodeJS.Signals) => "sent" | "gone" | "not-permitted"
  /**
   * Signals the group of a member, at most once a look: atomic against fork, so nobody in it gets away, and no shell has
   * time to begin its next command between the end of the last one and its own. Tells whether that reached the member.
   */
  readonly signalGroup: (found: Found, signal: NodeJS.Signals) => boolean
  /** Whether the program is yet to come, or its end yet to be told. */
  readonly pending: () => boolean
  /** Ends all in the seal at once. Tells whether there was a seal to do it. */
  readonly killSealed: () => boolean
  readonly looks: () => number
  /** Whether the last look could not read all that it asked for, so that what it did not find may yet be there. */
  readonly blind: () => boolean
  /** Whether the last look saw the table stand still: only then does it say that nobody is there. */
  readonly settled: () => boolean
  /** Whether the last look can have missed nobody: nothing was born, nothing ended, and no mark was hidden. */
  readonly still: () => boolean
}

export interface Options {
  readonly table: ProcessTable
  readonly leader: Row
  readonly mark: Mark
  /** The host: never a member, and neither is anybody whose only tie is to be in its group or session. */
  readonly host: Row
  /** A moment before the leader was started, if it is known: who was there then is a stranger. */
  readonly before?: number | undefined
  readonly now: () => number
  readonly seal?: Seal | undefined
}

/** Somebody whom nothing ties to the tree. Who was there before it, as an inode or a short time ago, is not read again. */
interface Stranger {
  readonly startTime: number
  readonly inode: number | undefined
  at: number
}

// Where pids come round faster, or may, a number without anybody in it means nothing after this time.
const numbersHoldMs = 250

const rememberedAtLeast = 256

/** Who a process is, for good. */
export const key = (row: Row): string => `${row.pid}:${row.startTime}`

export const make = (
  { before = Number.NEGATIVE_INFINITY, host, leader, mark, now, seal, table }: Options
): Tracker => {
  const members = new Map<string, Evidence>([[key(leader), "leader"]])
  const strangers = new Map<number, Stranger>()
  let rememberedAtMost = rememberedAtLeast
  let alive: ReadonlyArray<Found> = [{ row: leader, by: "leader", seal: false }]
  let awaited = alive
  let groups = new Set<number>()
  let sessions = new Set<number>()
  let signalled = new Map<number, boolean>()
  let rootOpen = true
  let leaderGone = false
  let lastLook = 0
  let looks = 0
  let blind = false
  let settled = true
  let still = false

  const own = (id: number): boolean => id > 1 && id !== host.group && id !== host.session

  const inRoot = (row: Row): boolean => row.group === leader.pid || row.session === leader.pid

  const tie = (row: Row, living: Map<number, string>): Evidence | undefined => {
    const known = members.get(key(row))
    if (known !== undefined) return known
    if (rootOpen && own(leader.pid)) {
      if (row.group === leader.pid) return "group"
      if (row.session === leader.pid) return "session"
    }
    if (sessions.has(row.session)) return "session"
    if (groups.has(row.group)) return "group"
    if (seal?.holds(row) === true) return seal.layer
    return row.parent > 1 && living.has(row.parent) ? "parent" : undefined
  }

  const judge = (row: Row, tied: Evidence): Found => {
    const part = seal?.partOf(row)
    return { row, by: part === "program" ? "leader" : part === "seal" ? "namespace" : tied, seal: part === "seal" }
  }

  const admit = (row: Row, tied: Evidence, living: Map<number, string>): Found => {
    const found = judge(row, tied)
    members.set(key(row), found.by)
    living.set(row.pid, key(row))
    if (own(row.session) && row.session !== host.session) sessions.add(row.session)
    if (own(row.group) && row.session !== host.session) groups.add(row.group)
    return found
  }

  const look: Tracker["look"] = (act) => {
    const at = now()
    // The number of the leader is free for others once it and everybody in its group are gone.
    if (leaderGone && at - lastLook > numbersHoldMs && !alive.some(({ row }) => inRoot(row) && table.lives(row))) {
      rootOpen = false
    }
    // A session number may be used again once its last member is gone: ties by number hold for the moment only.
    if (at - lastLook > 1000) {
      groups = new Set()
      sessions = new Set()
    }
    lastLook = at
    looks++
    signalled = new Map()
    seal?.refresh()
    // What is remembered of those who have gone is let go of now and then.
    const present = strangers.size > rememberedAtMost ? new Set<number>() : undefined
    const known = new Set(alive.map(({ row }) => row.pid))
    let inode: number | undefined
    const rows = table.rows((pid) => {
      present?.add(pid)
      if (pid <= 1 || pid === host.pid) return true
      const stranger = strangers.get(pid)
      if (stranger !== undefined && at - stranger.at < table.pidReuseMs) return true
      inode = known.has(pid) ? undefined : table.inodeOf(pid)
      if (inode === undefined) return false
      if (stranger?.inode === inode) {
        stranger.at = at
        return true
      }
      if (!table.wasThere(pid, inode, before)) return false
      strangers.set(pid, { startTime: Number.NaN, inode, at })
      return true
    })
    blind = rows === undefined
    still = false
    if (rows === undefined) return alive
    let moved = false
    let hidden = false
    const found: Array<Found> = []
    const untied: Array<Row> = []
    const living = new Map<number, string>()
    for (const row of rows) {
      if (row.dead) {
        // Who is never waited for stays in the table, and need not be read at every look.
        strangers.set(row.pid, { startTime: row.startTime, inode, at })
        continue
      }
      const stranger = strangers.get(row.pid)
      if (row.startTime < leader.startTime) {
        strangers.set(row.pid, { startTime: row.startTime, inode, at })
        if (inode !== undefined) table.remember(row.pid, inode)
        continue
      }
      let by = tie(row, living)
      if (by === undefined && stranger?.startTime !== row.startTime) {
        const marked = table.markOf(row, mark)
        by = marked.by
        if (by === undefined && !marked.certain) {
          hidden = true
          if (!table.lives(row)) moved = true
        }
        // Marks come by fork alone: who has none now and hides nothing never gets one. Who has another's is nobody's else.
        if (by === undefined && marked.certain) {
          strangers.set(row.pid, {
            startTime: row.startTime,
            inode: marked.sibling === true ? inode : undefined,
            at: marked.sibling === true ? at : Number.NEGATIVE_INFINITY
          })
        }
      }
      if (by === undefined) {
        untied.push(row)
        continue
      }
      const member = admit(row, by, living)
      found.push(member)
      act?.(member)
    }
    for (let again = untied.length > 0 && found.length > 0; again;) {
      again = false
      for (let index = untied.length - 1; index >= 0; index--) {
        const row = untied[index]
        const by = row === undefined ? undefined : tie(row, living)
        if (row === undefined || by === undefined) continue
        untied.splice(index, 1)
        const member = admit(row, by, living)
        found.push(member)
        act?.(member)
        again = true
      }
    }
    if (present !== undefined) {
      for (const pid of strangers.keys()) if (!present.has(pid)) strangers.delete(pid)
      rememberedAtMost = Math.max(rememberedAtLeast, 2 * strangers.size)
    }
    blind = !table.complete()
    settled = table.settled() && !moved && !(found.length === 0 && seal?.occupied() === true)
    still = settled && !blind && !hidden && table.still()
    if (leaderGone && !blind && !found.some(({ row }) => inRoot(row))) rootOpen = false
    // Who leads behind a seal may have turned out in the midst of the look.
    alive = seal === undefined ? found : found.map(({ by, row }) => judge(row, by))
    awaited = alive
    return alive
  }

  const lead = (): Found => alive.find(({ by }) => by === "leader") ?? judge(leader, "leader")

  return {
    leader: lead,
    look,
    looks: () => looks,
    blind: () => blind,
    settled: () => settled,
    still: () => still,
    anyKnownAlive: () => {
      const first = awaited.findIndex(({ row, seal }) => !seal && table.lives(row))
      // The dead stay dead: each is asked for once.
      awaited = first < 0 ? [] : awaited.slice(first)
      return first >= 0
    },
    leaderAlive: () => {
      const { row, seal } = lead()
      return !seal && !(leaderGone && row.pid === leader.pid) && table.lives(row)
    },
    leaderEnded: () => {
      leaderGone = true
      // Its number cannot be anybody else's yet. Without a mark that nobody loses, the group is all that tells: see who is
      // in it while that is certain.
      lastLook = now()
      if (mark.rlimit === undefined) look()
    },
    signal: ({ row }, signal) => {
      if (row.pid <= 1 || row.pid === host.pid || !table.lives(row)) return "gone"
      try {
        process.kill(row.pid, signal)
        return "sent"
      } catch (error) {
        return error instanceof Error && "code" in error && error.code === "EPERM" ? "not-permitted" : "gone"
      }
    },
    signalGroup: ({ row }, signal) => {
      if (!own(row.group) || row.session === host.session) return false
      // The first process of a namespace has no protection from outside.
      if (seal?.layer === "namespace" && row.group === leader.group && signal !== "SIGKILL") return false
      const already = signalled.get(row.group)
      if (already !== undefined) return already
      let reached = false
      try {
        reached = process.kill(-row.group, signal)
      } catch {
        // Nobody in it may be signalled, or nobody is left: members are then signalled one by one.
      }
      signalled.set(row.group, reached)
      return reached
    },
    pending: () => !leaderGone && seal?.pending() === true,
    killSealed: () => seal?.kill() === true
  }
}
