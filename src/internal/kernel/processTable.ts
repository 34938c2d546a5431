/**
 * The process table as the sweep needs it. Reads are synchronous on purpose: a sweep races against processes that fork,
 * reading by promises is three to five times slower, and the pass at the host's exit cannot wait for anything.
 */
import * as ChildProcess from "node:child_process"
import * as fs from "node:fs"
import { now } from "./clock.js"
import type { Mark } from "./mark.js"
import { carriesEnvironment, carriesRlimit, hardLocksLimit, idsIn, isSibling } from "./mark.js"

/** One process. `startTime` in clock ticks since boot on Linux, in milliseconds since the epoch elsewhere. */
export interface Row {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly startTime: number
  readonly state: string
  readonly command: string
  readonly dead: boolean
  /** What it has computed, and what those of its children had that it waited for; in clock ticks. */
  readonly ticks: number
  readonly childTicks: number
  /** What it has in memory, in pages, those that it shares included. */
  readonly pages: number
}

/**
 * A mark that a process carries. `certain` is false when an absent one may only be hidden, `sibling` true when there is
 * one of another tree of this host.
 */
interface Marked {
  readonly by: "environment" | "rlimit" | undefined
  readonly certain: boolean
  readonly sibling?: boolean
}

export interface ProcessTable {
  /**
   * The table, newest pid first, without the pids to `skip`. Rows are read as they are asked for, so that the reader can
   * act on each at once. `undefined` when the table cannot be read just now.
   */
  readonly rows: (skip: (pid: number) => boolean) => Iterable<Row> | undefined
  /** Whether everything that was asked for since `rows` could be read, or had ended. */
  readonly complete: () => boolean
  /** Whether nobody ended while the last rows were read, so that none can have been missed who came after. */
  readonly settled: () => boolean
  /** Whether the whole machine forked nobody either, so that none can have been missed at all. */
  readonly still: () => boolean
  readonly row: (pid: number) => Row | undefined
  /** Whether the process of this row still lives. */
  readonly lives: (row: Row) => boolean
  readonly markOf: (row: Row, mark: Mark) => Marked
  /** The numbers that a process has, in the pid namespace of this host first and in its own last. */
  readonly numbersOf: (pid: number | "self") => ReadonlyArray<number>
  /**
   * The inode of a process: as long as a pid has the same, it is the same process. A cheaper question than for its row;
   * what is read after it is of that process, or of one with another inode.
   */
  readonly inodeOf: (pid: number) => number | undefined
  /** Notes that the process of this inode is there now. */
  readonly remember: (pid: number, inode: number) => void
  /** Whether the process of this inode was noted before a moment. */
  readonly wasThere: (pid: number, inode: number, before: number) => boolean
  /** For how many milliseconds a pid cannot come round again. */
  readonly pidReuseMs: number
}

// The system would not open a file: the process that it tells of may be there or not.
let refused = false

const refusals = new Set(["EMFILE", "ENFILE", "ENOMEM"])

/** Reads a file of /proc into one shared buffer: these files have no size, are small, and are read by the thousand. */
export const readProc = (() => {
  let buffer = Buffer.allocUnsafe(16384)
  return (path: string): Buffer | undefined => {
    let fd: number
    try {
      fd = fs.openSync(path, "r")
    } catch (error) {
      if (error instanceof Error && "code" in error && refusals.has(String(error.code))) refused = true
      return undefined
    }
    try {
      let length = 0
      for (;;) {
        const read = fs.readSync(fd, buffer, length, buffer.length - length, null)
        length += read
        // Text of the kernel ends with a line: it need not be asked whether there is more where it left room.
        if (read === 0 || (length < buffer.length && buffer[length - 1] === 10)) return buffer.subarray(0, length)
        if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
      }
    } catch {
      return undefined
    } finally {
      fs.closeSync(fd)
    }
  }
})()

/**
 * A line of /proc/PID/stat. The command stands in parentheses and may itself hold spaces, newlines and parentheses, so
 * the fields are counted from the last one.
 */
export const parseStat = (pid: number, text: string): Row | undefined => {
  const open = text.indexOf("(")
  const close = text.lastIndexOf(")")
  if (open < 0 || close < open) return undefined
  const fields = text.slice(close + 2).split(" ", 22)
  const state = fields[0]
  const startTime = Number(fields[19])
  if (state === undefined || !Number.isFinite(startTime)) return undefined
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime,
    state,
    command: text.slice(open + 1, close),
    // A process whose main thread has ended while others run is shown as a zombie, and is not dead.
    dead: state === "X" || (state === "Z" && !(Number(fields[17]) > 1)),
    ticks: Number(fields[11]) + Number(fields[12]),
    childTicks: Number(fields[13]) + Number(fields[14]),
    pages: Number(fields[21])
  }
}

const pidMax = (): number => {
  try {
    return Number(fs.readFileSync("/proc/sys/kernel/pid_max", "latin1"))
  } catch {
    return 0
  }
}

const rowOf = (pid: number): Row | undefined => {
  const stat = readProc(`/proc/${pid}/stat`)
  return stat === undefined ? undefined : parseStat(pid, stat.toString("utf8"))
}

/** The dead that were seen already, by pid and start time. */
const buried = new Map<number, number>()
const buriedAtMost = 4096

/** Whether this one has died since it was last looked at, so that a child of it may have come after the list. */
const justDied = (row: Row): boolean => {
  if (!row.dead || buried.get(row.pid) === row.startTime) return false
  if (buried.size >= buriedAtMost) buried.clear()
  buried.set(row.pid, row.startTime)
  return true
}

let listed: { readonly names: ReadonlyArray<string>; readonly pids: ReadonlyArray<number> } = { names: [], pids: [] }

const listProc = (): ReadonlyArray<number> | undefined => {
  let names: ReadonlyArray<string>
  try {
    names = fs.readdirSync("/proc")
  } catch {
    return undefined
  }
  // Most looks come a few milliseconds after another one, and find the same names.
  if (names.length === listed.names.length && names.every((name, index) => name === listed.names[index])) {
    return listed.pids
  }
  const pids: Array<number> = []
  for (const name of names) {
    const first = name.charCodeAt(0)
    if (first > 47 && first < 58) pids.push(Number(name))
  }
  listed = { names, pids: pids.sort((a, b) => b - a) }
  return listed.pids
}

/**
 * Who was there when. The directory of a process in /proc has an inode of its own, which nobody gets who has the pid after
 * it: so a look need not read those again that were there before its tree.
 */
const noted = new Map<number, { readonly inode: number; readonly at: number }>()

const inodeOf = (pid: number): number | undefined => {
  try {
    return fs.lstatSync(`/proc/${pid}`, { throwIfNoEntry: false })?.ino
  } catch {
    return undefined
  }
}

const remember = (pid: number, inode: number): void => {
  if (noted.get(pid)?.inode !== inode) noted.set(pid, { inode, at: now() })
}

const wasThere = (pid: number, inode: number, before: number): boolean => {
  const entry = noted.get(pid)
  return entry !== undefined && entry.at < before && inode === entry.inode
}

const forgetAllBut = (pids: ReadonlyArray<number>): void => {
  if (noted.size < 2 * pids.length + 1024) return
  const present = new Set(pids)
  for (const pid of noted.keys()) if (!present.has(pid)) noted.delete(pid)
}

/** Notes all who are there: what a look later costs depends on it. */
export const rememberAll = (): void => {
  for (const pid of listProc() ?? []) {
    const inode = inodeOf(pid)
    if (inode !== undefined) remember(pid, inode)
  }
}

/** Counts every fork on the machine, as far as it can be trusted: some put files of their own over those of the kernel. */
const forks = (() => {
  let trusted: boolean | undefined
  return (): number | undefined => {
    const count = /^processes (\d+)$/m.exec(readProc("/proc/stat")?.toString("latin1") ?? "")?.[1]
    trusted ??= Number(count) > 0 && fs.statSync("/proc/stat").dev === fs.statSync("/proc").dev
    return trusted && count !== undefined ? Number(count) : undefined
  }
})()

const listsAtMost = 8
let settled = true
let still = false

/**
 * A list of pids shows somebody of every chain of processes that go on forking, but whoever ends before its turn may have
 * a child that the list does not show. So the newcomers are listed again until nobody ends in between.
 */
function* procRows(
  first: ReadonlyArray<number>,
  forked: number | undefined,
  skip: (pid: number) => boolean
): Generator<Row> {
  const seen = new Set<number>()
  let pids = first
  for (let lists = 1;; lists++) {
    settled = true
    for (const pid of pids) {
      seen.add(pid)
      if (skip(pid)) continue
      const row = rowOf(pid)
      if (row === undefined || justDied(row)) settled = false
      if (row !== undefined) yield row
    }
    still = settled && forked !== undefined && forks() === forked
    if (settled || lists >= listsAtMost) return
    const again = listProc()
    if (again === undefined) return
    pids = again.filter((pid) => !seen.has(pid))
  }
}

interface Marks {
  readonly hard: string | undefined
  readonly environ: () => Buffer | undefined
}

const marksOf = (pid: number): Marks => ({
  hard: hardLocksLimit(readProc(`/proc/${pid}/limits`)?.toString("latin1") ?? ""),
  environ: () => readProc(`/proc/${pid}/environ`)
})

const recognise = ({ environ, hard }: Marks, mark: Mark): Marked => {
  if (mark.rlimit !== undefined && carriesRlimit(hard, mark.rlimit)) return { by: "rlimit", certain: true }
  const block = environ()
  if (block !== undefined && carriesEnvironment(block, mark)) return { by: "environment", certain: true }
  return { by: undefined, certain: mark.rlimit !== undefined && hard !== undefined, sibling: isSibling(hard, mark) }
}

/**
 * The marks of those in the trees of this host, so that each of a hundred trees that end together need not read those of
 * all others. Good for telling who is another's, and for nothing else: a process may be read before it has its mark.
 */
const siblings = new Map<number, { readonly startTime: number; readonly hard: string; readonly ids: string }>()
const siblingsAtMost = 8192

const markOf = ({ pid, startTime }: Row, mark: Mark): Marked => {
  const known = siblings.get(pid)
  if (known?.startTime === startTime && isSibling(known.hard, mark) && !known.ids.includes(mark.id)) {
    return { by: undefined, certain: true, sibling: true }
  }
  const marks = marksOf(pid)
  const found = recognise(marks, mark)
  if (found.sibling === true && marks.hard !== undefined) {
    if (siblings.size >= siblingsAtMost) siblings.clear()
    siblings.set(pid, { startTime, hard: marks.hard, ids: idsIn(marks.environ() ?? Buffer.of()) })
  }
  return found
}

export const linux = (): ProcessTable => ({
  rows: (skip) => {
    refused = false
    still = false
    const forked = forks()
    const pids = listProc()
    if (pids === undefined) return undefined
    forgetAllBut(pids)
    return procRows(pids, forked, skip)
  },
  complete: () => !refused,
  settled: () => settled,
  still: () => still,
  row: rowOf,
  lives: (row) => {
    const current = rowOf(row.pid)
    return current !== undefined && current.startTime === row.startTime && !current.dead
  },
  markOf,
  numbersOf: (pid) => {
    const numbers = /^NSpid:(.*)$/m.exec(readProc(`/proc/${pid}/status`)?.toString("latin1") ?? "")?.[1]
    return numbers === undefined ? [] : numbers.trim().split(/\s+/).map(Number)
  },
  inodeOf,
  remember,
  wasThere,
  // 32,768 forks take more than a second on any machine. Where the pid space is smaller, nothing is remembered.
  pidReuseMs: pidMax() >= 32768 ? 250 : 0
})

const memoized = <A>(read: (pid: number) => A): (pid: number) => A => {
  const known = new Map<number, { readonly value: A }>()
  return (pid) => {
    const seen = known.get(pid)
    if (seen !== undefined) return seen.value
    const value = read(pid)
    known.set(pid, { value })
    return value
  }
}

/** When processes were started, by their inodes. */
let starts = new Map<number, { readonly inode: number; readonly startTime: number }>()

/**
 * The table of one moment, without those who were started before `since`, for many readers: what one of them has read the
 * others need not. Nobody can be sure from it that a tree is empty.
 */
export const moment = (since: number): ProcessTable => {
  const table = linux()
  refused = false
  const row = memoized(rowOf)
  const before = starts
  starts = new Map()
  const pids = listProc()?.filter((pid) => {
    const inode = inodeOf(pid)
    const known = before.get(pid)
    const startTime = known !== undefined && known.inode === inode ? known.startTime : row(pid)?.startTime
    if (inode !== undefined && startTime !== undefined) starts.set(pid, { inode, startTime })
    return startTime !== undefined && startTime >= since
  })
  const environ = memoized((pid) => {
    const block = readProc(`/proc/${pid}/environ`)
    return block === undefined ? undefined : Buffer.from(block)
  })
  const marks = memoized((pid): Marks => ({ ...marksOf(pid), environ: () => environ(pid) }))
  function* rows(skip: (pid: number) => boolean, all: ReadonlyArray<number>): Generator<Row> {
    for (const pid of all) {
      const found = skip(pid) ? undefined : row(pid)
      if (found !== undefined) yield found
    }
  }
  return {
    ...table,
    rows: (skip) => pids === undefined ? undefined : rows(skip, pids),
    settled: () => false,
    still: () => false,
    row,
    markOf: ({ pid }, mark) => recognise(marks(pid), mark),
    inodeOf: () => undefined
  }
}

/** What `ps` must print for `parsePs`, in the C locale and in UTC. */
const psArguments: ReadonlyArray<string> = ["-A", "-o", "pid=,ppid=,pgid=,state=,lstart=,comm="]

const psLine = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4})\s+(.*)$/

/** The output of `ps` with `psArguments`. `ps` of macOS has no usable session column: the group stands for it. */
export const parsePs = (text: string): ReadonlyArray<Row> =>
  text.split("\n").flatMap((line) => {
    const match = psLine.exec(line)
    if (match === null) return []
    const [, pid, parent, group, state = "", started = "", path = ""] = match
    const startTime = Date.parse(`${started} UTC`)
    if (Number.isNaN(startTime)) return []
    return [{
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: Number(group),
      startTime,
      state: state.charAt(0),
      command: path.slice(path.lastIndexOf("/") + 1),
      dead: state.startsWith("Z"),
      ticks: 0,
      childTicks: 0,
      pages: 0
    }]
  })

/**
 * Other POSIX systems, by `ps`: one call a look, and one for the environments. Sees groups, sessions as far as they are
 * groups, living parents, and the environments that the system lets it read.
 */
export const posix = (ps: (args: ReadonlyArray<string>) => string | undefined): ProcessTable => {
  let environments: Map<number, string> | undefined
  return {
    rows: (skip) => {
      const text = ps(psArguments)
      if (text === undefined) return undefined
      environments = undefined
      return parsePs(text).filter((row) => !skip(row.pid)).sort((a, b) => b.pid - a.pid)
    },
    complete: () => true,
    settled: () => true,
    still: () => false,
    row: (pid) => parsePs(ps(["-p", String(pid), ...psArguments.slice(1)]) ?? "")[0],
    // Asked within milliseconds of the look that made the row: no pid comes round that fast, and a `ps` would not be.
    lives: (row) => {
      try {
        return process.kill(row.pid, 0)
      } catch (error) {
        return error instanceof Error && "code" in error && error.code === "EPERM"
      }
    },
    inodeOf: () => undefined,
    remember: () => {},
    wasThere: () => false,
    markOf: (row, mark) => {
      environments ??= new Map(
        (ps(["-A", "-E", "-ww", "-o", "pid=,command="]) ?? "").split("\n").map((line) => {
          const trimmed = line.trimStart()
          const space = trimmed.indexOf(" ")
          return [Number(trimmed.slice(0, space)), trimmed.slice(space + 1)] as const
        })
      )
      const found = environments.get(row.pid)?.includes(mark.id) === true
      return { by: found ? "environment" : undefined, certain: false }
    },
    numbersOf: () => [],
    pidReuseMs: 0
  }
}

/** What `ps` prints, or nothing when it fails. */
const ps = (args: ReadonlyArray<string>): string | undefined => {
  const done = ChildProcess.spawnSync("/bin/ps", args, {
    encoding: "utf8",
    env: { LC_ALL: "C", TZ: "UTC" },
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"]
  })
  return done.status === 0 ? done.stdout : undefined
}

export const forSystem = (isLinux: boolean): ProcessTable => isLinux ? linux() : posix(ps)
