import * as cgroup from "./cgroup.js"
import * as namespace from "./namespace.js"
import type { ProcessTable, Row } from "./processTable.js"
import type { Seal } from "./seal.js"

/** What has to be known of a seal to look into it, also for another process. */
export type Sealed = { readonly layer: "namespace" } | { readonly layer: "cgroup"; readonly directory: string }

export const watch = (sealed: Sealed, table: ProcessTable, leader: Row): Seal =>
  sealed.layer === "namespace" ? namespace.watch(table, leader) : cgroup.watch(sealed.directory)

/** The account that the kernel keeps of those who are in a cgroup. */
export const account = (sealed: Sealed | undefined): (() => number | undefined) | undefined =>
  sealed?.layer === "cgroup" ? () => cgroup.cpuSeconds(sealed.directory) : undefined
