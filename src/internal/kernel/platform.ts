/**
 * What differs between systems: how a program is started so that its descendants stay known, and how they are ended.
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as Either from "effect/Either"
import type { Readable } from "node:stream"
import type * as ProcessTree from "../../ProcessTree.js"
import type * as Teardown from "../../Teardown.js"
import type { Detached } from "./detached.js"
import type { Wanted } from "./gauge.js"
import type { Finding } from "./probe.js"
import type { Sweep } from "./sweep.js"

export interface Start {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly environment: Record<string, string>
  /** `wanted` if somebody wants to know what the tree uses. */
  readonly watch: (pid: number, wanted: Wanted | undefined) => Reaper
  /** To be called when nothing was started. */
  readonly discard: () => void
}

/** Whom a program is started as, where not as the user of the host. */
export interface As {
  readonly uid?: number
  readonly gid?: number
}

export interface Reaper {
  readonly pid: number
  readonly members: () => ReadonlyArray<ProcessTree.Member>
  readonly signal: (signal: Teardown.Signal, to: "leader" | "tree" | ReadonlyArray<ProcessTree.Member>) => void
  readonly leaderEnded: () => void
  /** Hands the tree over, with the outputs that nobody here reads any more. */
  readonly detach: (
    outputs: ReadonlyArray<Readable>
  ) => Either.Either<ProcessTree.Detached, ProcessTree.DetachRefused>
  readonly end: (options: {
    readonly policy: Teardown.Teardown
    readonly reason: Teardown.Reason
    readonly urgent: () => boolean
    readonly outputHeld: () => boolean
  }) => Sweep
}

/** A tree that some host has handed over. */
export interface HandedOver {
  readonly detached: Detached
  readonly members: () => ReadonlyArray<ProcessTree.Member>
  readonly end: (policy: Teardown.Teardown) => Sweep
}

/** What an earlier host left behind, or word of one that nobody can read. */
export type Stale =
  | { readonly _tag: "Host"; readonly pid: number; readonly sweep: Sweep; readonly done: () => void }
  | { readonly _tag: "Corrupt"; readonly file: string }

export interface Platform {
  /** Makes the directory for temporary files that goes with this host, or throws. */
  readonly scratch: () => string
  readonly sweepStale: () => ReadonlyArray<Stale>
  /** Those of which somebody lives; what is left of the others goes. */
  readonly handedOver: () => ReadonlyArray<HandedOver>
  readonly probe: () => { readonly findings: ReadonlyArray<Finding>; readonly warnings: ReadonlyArray<string> }
  readonly detached: boolean
  /** Whether it can be seen what a tree uses. */
  readonly measures: boolean
  readonly shell: string
  readonly shellArguments: (line: string) => ReadonlyArray<string>
  readonly resolve: (
    program: string,
    cwd: string,
    searchPath: string | undefined
  ) => Either.Either<string, PlatformError>
  readonly start: (
    file: string,
    args: ReadonlyArray<string>,
    environment: Record<string, string>,
    seal: ProcessTree.Seal,
    as: As
  ) => Either.Either<Start, ProcessTree.ContainmentUnavailable>
}
