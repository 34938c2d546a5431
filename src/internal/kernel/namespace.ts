/**
 * A tree in a pid namespace of its own: a monitor outside, which is the process that was started, the first process of
 * the namespace, which adopts all orphans in it and takes everybody along when it is killed, and the program.
 *
 * The program has a session of its own, as without a seal: signals to its group reach neither the monitor nor the first
 * process, and `kill 0` inside stays inside.
 */
import type { ProcessTable, Row } from "./processTable.js"
import type { Seal } from "./seal.js"

/** A command line, the program first. */
export type CommandLine = ReadonlyArray<string>

/** A command line behind a seal. `prologue` is for a shell in front of it. */
export type Wrap = (command: CommandLine, prologue: string) => CommandLine

/** For root, bwrap covers parts of /proc, and no sandbox inside could mount one of its own. */
const uncovering = "umount /proc/sys /proc/sysrq-trigger /proc/irq /proc/bus 2>/dev/null; exec \"$@\""

/** The monitor ends with the program; the first process stays while orphans live. */
export const bwrap = (tool: string, setsid: string, shell: string, isRoot: boolean): Wrap => (command, prologue) => [
  tool,
  "--dev-bind",
  "/",
  "/",
  "--unshare-pid",
  "--proc",
  "/proc",
  "--",
  ...(isRoot ? [shell, "-c", prologue + uncovering, shell] : []),
  setsid,
  ...command
]

/**
 * Ends with the program, and all others in the namespace with it. The first process is a shell, for one without handlers
 * hears no signals; it runs the program in the foreground, which keeps its input.
 */
export const unshare = (tool: string, setsid: string, shell: string, isRoot: boolean): Wrap => (command, prologue) => [
  tool,
  ...(isRoot ? [] : ["--map-current-user"]),
  "--pid",
  "--fork",
  "--mount-proc",
  "--",
  shell,
  "-c",
  `${prologue}"$@"; exit $?`,
  shell,
  setsid,
  ...command
]

/** What a program prints that finds itself sealed: the table shows its own number, and it is the second process. */
export const script = "read -r pid rest </proc/self/stat; echo \"$pid $$\""
export const scriptSays = "2 2"

const isSame = (row: Row, other: Row | undefined): boolean =>
  other !== undefined && row.pid === other.pid && row.startTime === other.startTime

/** How the seal of a tree is seen from outside. `monitor` is the process that was started. */
export const watch = (table: ProcessTable, monitor: Row): Seal => {
  const depth = table.numbersOf("self").length
  let init: Row | undefined
  let program: Row | undefined
  let initSeen = false

  const end = (row: Row | undefined): boolean => {
    if (row === undefined || row.pid <= 1 || !table.lives(row)) return false
    try {
      return process.kill(row.pid, "SIGKILL")
    } catch {
      return false
    }
  }

  /** By their numbers inside, which nobody else ever gets: when numbers come round, the first 300 are left out. */
  const recognise = (row: Row): void => {
    // Both are the first of a session, or still in that of the monitor. Everybody else needs no reading.
    if (row.session !== monitor.pid && row.session !== row.pid) return
    const numbers = table.numbersOf(row.pid)
    if (numbers.length !== depth + 1) return
    const number = numbers.at(-1)
    if (number === 1) init = row
    if (number === 2) program = row
  }

  return {
    layer: "namespace",
    refresh: () => {
      initSeen = false
    },
    partOf: (row) => {
      if (init === undefined || program === undefined) recognise(row)
      if (isSame(row, init)) {
        initSeen = true
        return "seal"
      }
      if (isSame(row, program)) return "program"
      // Until there is a program, whoever is to become it is all there is to talk to.
      return isSame(row, monitor) ? program === undefined ? "program" : "seal" : undefined
    },
    holds: (row) => initSeen && row.parent === init?.pid,
    pending: () => (program === undefined || !table.lives(program)) && table.lives(monitor),
    // Whoever is inside has a whole chain of parents up to the first process, which is there until all others are dead.
    occupied: () => false,
    // The monitor first: how it ends is how the leader is said to have ended.
    kill: () => {
      const monitored = end(monitor)
      return end(init) || monitored
    }
  }
}
