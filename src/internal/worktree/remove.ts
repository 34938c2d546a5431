/**
 * How a worktree ends: removed, or kept and handed to the user. Nothing here fails, and everything is bounded.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { globalValue } from "effect/GlobalValue"
import type { Done } from "./git.js"
import { ask } from "./git.js"
import type { Lock, Place } from "./state.js"
import { abandoned, dirtOf } from "./state.js"

type Told = Pick<Lock, "base" | "branch">

const firstLine = ({ stderr }: Done): string => stderr.trim().split("\n")[0] ?? ""

const dropBranch = Effect.fnUntraced(function*(common: string, branch: string) {
  const ref = `refs/heads/${branch}`
  const { code, stdout } = yield* ask(common, "rev-parse", "--verify", "--quiet", ref)
  // Only from where it stands: a branch that moves meanwhile is somebody's.
  if (code === 0) yield* ask(common, "update-ref", "-d", ref, stdout.trim())
})

const tell = (report: { readonly path: string; readonly problem?: string | undefined }, why: string) =>
  Effect.logWarning(`the worktree ${report.path} is kept: ${report.problem ?? why}`)

/** Removes a worktree unless there is something to lose. `named` is the branch that stays. */
export const remove = Effect.fnUntraced(
  function*(place: Place, lock: Told, options: { readonly named?: string | undefined; readonly keepDirty: boolean }) {
    const { common, path } = place
    const branch = lock.branch ?? options.named
    const report = { path, ...(branch === undefined ? {} : { branch }) }
    const dirt = options.keepDirty ? yield* dirtOf(place, lock) : []
    yield* ask(common, "worktree", "unlock", path)
    if (dirt.length > 0) return { ...report, removed: false, dirt }
    // git looks once more by itself. Only that there are submodules in the index is no reason.
    const done = options.keepDirty ? yield* ask(common, "worktree", "remove", path) : undefined
    const last = done === undefined || (done.code !== 0 && done.stderr.includes("containing submodules"))
      ? yield* ask(common, "worktree", "remove", "--force", path)
      : done
    if (last.code !== 0) return { ...report, removed: false, dirt, problem: firstLine(last) }
    if (lock.branch !== undefined) yield* dropBranch(common, lock.branch)
    return { ...report, removed: true, dirt }
  },
  (effect, { path }) =>
    Effect.catchAll(effect, (cause) => Effect.succeed({ path, removed: false, dirt: [], problem: cause.message }))
      .pipe(
        Effect.tap((report) =>
          report.removed ? Effect.void : tell(report, report.dirt.map(({ kind }) => kind).join(", "))
        )
      )
)

/** What was never handed out holds nothing of anybody. */
export const discard = Effect.fnUntraced(function*({ common, path }: Place, branch: string | undefined) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.ignoreLogged(fs.remove(path, { recursive: true, force: true }))
  yield* Effect.ignoreLogged(ask(common, "worktree", "remove", "--force", "--force", path))
  if (branch !== undefined) yield* Effect.ignoreLogged(dropBranch(common, branch))
})

/** One at a time: whoever comes next finds nothing left to do. */
const pruning = globalValue(Symbol.for("effect-agents/Worktree/pruning"), () => Effect.unsafeMakeSemaphore(1))

export const prune = (common: string) =>
  Effect.flatMap(
    abandoned(common),
    Effect.forEach(({ lock, place }) => Effect.uninterruptible(remove(place, lock, { keepDirty: true })), {
      concurrency: 4
    })
  ).pipe(pruning.withPermits(1))
