/**
 * What a worktree holds that would be lost with it, and whom its lock belongs to.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ProcessTree from "../../ProcessTree.js"
import { ask } from "./git.js"

/** Branches below this go with their worktrees. */
export const prefix = "effect-agents/"

/** What git keeps of a worktree in the repository, in `worktrees/<id>`. */
export interface Place {
  readonly common: string
  readonly id: string
  readonly path: string
}

const Lock = Schema.Struct({
  owner: ProcessTree.Owner,
  base: Schema.String,
  /** The branch that goes with the worktree. */
  branch: Schema.optional(Schema.String)
})

export type Lock = typeof Lock.Type

const LockJson = Schema.parseJson(Lock)
const word = "effect-agents "

export const lockReason = (lock: Lock): Effect.Effect<string> =>
  Effect.map(Effect.orDie(Schema.encode(LockJson)(lock)), (json) => `${word}${json}`)

/** The worktrees of a repository that are locked by hosts which have died. */
export const abandoned = Effect.fnUntraced(function*(common: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { detached, isAlive } = yield* ProcessTree.Spawner
  // What a host has handed over may be at work in its worktrees.
  const handedOver = new Set((yield* detached).map(({ owner }) => owner.id))
  const folder = path.join(common, "worktrees")
  const ids = yield* Effect.orElseSucceed(fs.readDirectory(folder), (): ReadonlyArray<string> => [])
  const found = yield* Effect.forEach(ids, (id) =>
    Effect.gen(function*() {
      const reason = yield* fs.readFileString(path.join(folder, id, "locked"))
      if (!reason.startsWith(word)) return Option.none()
      const lock = yield* Schema.decode(LockJson)(reason.slice(word.length).trim())
      if (handedOver.has(lock.owner.id) || (yield* isAlive(lock.owner))) return Option.none()
      const file = (yield* fs.readFileString(path.join(folder, id, "gitdir"))).trim()
      const place: Place = { common, id, path: path.dirname(path.resolve(folder, id, file)) }
      return Option.some({ place, lock })
    }).pipe(Effect.option, Effect.map(Option.flatten)))
  return found.flatMap(Option.toArray)
})

export interface Dirt {
  readonly kind: "changes" | "untracked" | "operation" | "commits" | "submodules" | "unknown"
  readonly count?: number
}

const operations = [
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "BISECT_LOG",
  "rebase-merge",
  "rebase-apply"
]

/** The entries of `status -z`: an entry that was moved is followed by its old name. */
const countStatus = (output: string): { readonly changes: number; readonly untracked: number } => {
  const counts = { changes: 0, untracked: 0 }
  const fields = output.split("\0")
  for (let index = 0; index < fields.length - 1; index++) {
    const entry = fields[index] ?? ""
    if (entry.startsWith("??")) counts.untracked++
    else counts.changes++
    if (/^(R|C|.R|.C)/.test(entry)) index++
  }
  return counts
}

export const dirtOf = Effect.fnUntraced(
  function*(place: Place, { base, branch }: Pick<Lock, "base" | "branch">) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const own = path.join(place.common, "worktrees", place.id)
    const dirt: Array<Dirt> = []

    // Of a directory that somebody else has removed, the commits are left.
    if (yield* fs.exists(place.path)) {
      const status = yield* ask(
        place.path,
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=none"
      )
      if (status.code !== 0) dirt.push({ kind: "unknown" })
      const { changes, untracked } = countStatus(status.stdout)
      if (changes > 0) dirt.push({ kind: "changes", count: changes })
      if (untracked > 0) dirt.push({ kind: "untracked", count: untracked })
    }
    const begun = yield* Effect.filter(operations, (name) => fs.exists(path.join(own, name)))
    if (begun.length > 0) dirt.push({ kind: "operation" })
    if (yield* fs.exists(path.join(own, "modules"))) dirt.push({ kind: "submodules" })

    // Branches that go with other worktrees save nothing: each would count on the other.
    const commits = yield* ask(
      place.common,
      "rev-list",
      "--count",
      "--ignore-missing",
      `worktrees/${place.id}/HEAD`,
      ...(branch === undefined ? [] : [`refs/heads/${branch}`]),
      "--not",
      base,
      `--exclude=${prefix}*`,
      "--branches",
      "--tags",
      "--remotes"
    )
    const count = Number(commits.stdout)
    if (commits.code !== 0 || Number.isNaN(count)) dirt.push({ kind: "unknown" })
    else if (count > 0) dirt.push({ kind: "commits", count })
    return dirt
  },
  Effect.catchAll(() => Effect.succeed<ReadonlyArray<Dirt>>([{ kind: "unknown" }]))
)
