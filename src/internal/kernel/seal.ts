/**
 * A boundary that the kernel itself keeps around a tree, as the looks at the process table need it. Imports nothing of
 * Effect: the guard must stay small.
 */
import type { Row } from "./processTable.js"

export interface Seal {
  readonly layer: "namespace" | "cgroup"
  /** To be called before every look. */
  readonly refresh: () => void
  /** Whether a process is a part of the seal itself, or the program that runs in it. */
  readonly partOf: (row: Row) => "seal" | "program" | undefined
  /** Whether the seal alone tells that a process is inside. */
  readonly holds: (row: Row) => boolean
  /** Whether the program is yet to come, or has ended and that is yet to be told: a matter of milliseconds. */
  readonly pending: () => boolean
  /** Whether somebody is inside, also one that no look can see. */
  readonly occupied: () => boolean
  /** Ends all who are inside in one moment. Tells whether there was anything to end. */
  readonly kill: () => boolean
}
