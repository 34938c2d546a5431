/**
 * A git worktree as a scoped resource: a checkout of its own for each run, so that agents do not fight over files and
 * `index.lock`. While the scope is open it is locked in the name of this host; when the scope closes it is removed, unless
 * that would lose work.
 *
 * Runs that are started inside the scope end before it closes, with everything that they started: nobody writes there any
 * more when it is looked at and removed.
 *
 * Needs git 2.36 or newer.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Done } from "./internal/worktree/git.js"
import { ask, git, isContended } from "./internal/worktree/git.js"
import { discard, prune, remove } from "./internal/worktree/remove.js"
import { dirtOf, lockReason, prefix } from "./internal/worktree/state.js"
import * as ProcessTree from "./ProcessTree.js"

/**
 * What would be lost with a worktree. `count` where it can be counted.
 *
 * - `changes`: files that are changed, staged or in conflict.
 * - `untracked`: files that git does not know, and does not ignore.
 * - `operation`: a merge, rebase, cherry-pick, revert or bisect that is not finished.
 * - `commits`: commits since `base`, on HEAD or on the branch that goes with the worktree, that no tag, no remote branch
 *   and no branch which stays can reach.
 * - `submodules`: submodules that were checked out here; their repositories are part of the worktree.
 * - `unknown`: git could not tell.
 *
 * What git ignores does not count, as for `git worktree remove`: what is built goes with the worktree.
 *
 * **Example**
 *
 * ```ts
 * import { Worktree } from "effect-agents"
 *
 * const inWords = (dirt: Worktree.Dirt) => dirt.count === undefined ? dirt.kind : `${dirt.count} ${dirt.kind}`
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Dirt = Schema.Struct({
  kind: Schema.Literal("changes", "untracked", "operation", "commits", "submodules", "unknown"),
  count: Schema.optional(Schema.Number)
})

/**
 * A value of the schema `Dirt`.
 *
 * @since 0.1.0
 * @category models
 */
export type Dirt = typeof Dirt.Type

/**
 * What became of a worktree. Kept for its `dirt`, or for the `problem` that git had with removing it: then it is unlocked,
 * and yours. `branch` is absent where none was checked out or the directory is gone.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Worktree } from "effect-agents"
 *
 * const tell = (report: Worktree.Report) =>
 *   report.removed ? Effect.void : Effect.logWarning(`kept ${report.path}: git -C ${report.path} status`)
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Report = Schema.Struct({
  path: Schema.String,
  branch: Schema.optional(Schema.String),
  removed: Schema.Boolean,
  dirt: Schema.Array(Dirt),
  problem: Schema.optional(Schema.String)
})

/**
 * A value of the schema `Report`.
 *
 * @since 0.1.0
 * @category models
 */
export type Report = typeof Report.Type

/**
 * A worktree.
 *
 * - `path`: its directory, absolute. `branch`: the branch that was checked out. `base`: the commit where it began.
 * - `dirt`: what would be lost if the scope closed now.
 * - `report`: waits for what became of it.
 * - `stale`: what became of those of hosts that have died.
 *
 * @since 0.1.0
 * @category models
 */
export interface Worktree {
  readonly path: string
  readonly branch: string
  readonly base: string
  readonly dirt: Effect.Effect<ReadonlyArray<Dirt>>
  readonly report: Effect.Effect<Report>
  readonly stale: ReadonlyArray<Report>
}

/**
 * Options of a worktree.
 *
 * - `repo`: any directory of the repository, relative to the host's. May be bare.
 * - `base`: the commit, branch or tag to begin with. Default `HEAD`.
 * - `branch`: the branch to check out; a new one at `base` unless it exists. It stays, with its commits. By default a
 *   branch of an unguessable name below `effect-agents/`, which goes with the worktree.
 * - `directory`: where the worktree's own directory is made. Default: beside the repository, in `<repository>.worktrees`.
 * - `keepDirty`: whether a worktree with `dirt` is kept. Default `true`; `false` throws away what is in it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly repo: string
  readonly base?: string | undefined
  readonly branch?: string | undefined
  readonly directory?: string | undefined
  readonly keepDirty?: boolean | undefined
}

/**
 * A worktree could not be made.
 *
 * - `no-git`: git is not installed, or not on PATH.
 * - `not-a-repository`: `repo` is not in a repository, or git refuses to trust it.
 * - `base-unknown`: `base` is not a commit; in a new repository there is none yet.
 * - `branch-invalid`: `branch` is not a name that a branch can have.
 * - `branch-in-use`: `branch` is checked out somewhere else.
 * - `locked`: another git held a lock of the repository for longer than it was tried.
 * - `other`: `detail` is what git said.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Worktree } from "effect-agents"
 *
 * const tree = Worktree.make({ repo: ".", branch: "fix-parser" }).pipe(
 *   Effect.catchIf((error) => error.reason === "branch-in-use", () => Worktree.make({ repo: ".", base: "fix-parser" }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class WorktreeError extends Schema.TaggedError<WorktreeError>("effect-agents/Worktree/WorktreeError")(
  "WorktreeError",
  {
    reason: Schema.Literal(
      "no-git",
      "not-a-repository",
      "base-unknown",
      "branch-invalid",
      "branch-in-use",
      "locked",
      "other"
    ),
    repo: Schema.String,
    detail: Schema.String,
    hint: Schema.String,
    cause: Schema.optional(Schema.Defect)
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return `no worktree of "${this.repo}" (${this.reason}): ${this.detail}${this.hint === "" ? "" : `. ${this.hint}`}`
  }
}

const hints: Readonly<Record<WorktreeError["reason"], string>> = {
  "no-git": "Install git 2.36 or newer, and have it on PATH",
  "not-a-repository": "Give a directory of a repository, and if git does not trust it, set safe.directory",
  "base-unknown": "Give a commit, branch or tag as base; a new repository needs a first commit",
  "branch-invalid": "Give a name that git check-ref-format --branch takes",
  "branch-in-use": "Give another branch, or begin a new one from it: leave branch out and give it as base",
  "locked": "See whether another git is at work there; if none is, remove the lock that it has left",
  "other": ""
}

const reasons: ReadonlyArray<readonly [RegExp, WorktreeError["reason"]]> = [
  [/not a git repository|dubious ownership/, "not-a-repository"],
  [/already (checked out|used by worktree)/, "branch-in-use"],
  [/not a valid branch name/, "branch-invalid"]
]

const refused = (repo: string, reason: WorktreeError["reason"], detail: string, cause?: PlatformError) =>
  new WorktreeError({ reason, repo, detail, hint: hints[reason], ...(cause === undefined ? {} : { cause }) })

const notStarted = (repo: string) => (cause: PlatformError) =>
  cause._tag === "SystemError" && cause.method === "cwd"
    ? refused(repo, "not-a-repository", "it is not a directory", cause)
    : cause._tag === "SystemError" && cause.reason === "NotFound"
    ? refused(repo, "no-git", "git was not found", cause)
    : refused(repo, "other", cause.message, cause)

/** What git has written, or why it has failed. */
const answer = (repo: string) => (done: Done): Effect.Effect<string, WorktreeError> => {
  if (done.code === 0) return Effect.succeed(done.stdout.trim())
  const reason = isContended(done) ? "locked" : reasons.find(([words]) => words.test(done.stderr))?.[1] ?? "other"
  const detail = done.stderr.trim().split("\n").at(-1) ?? ""
  return Effect.fail(refused(repo, reason, detail))
}

const makeName = Effect.sync(() => globalThis.crypto.randomUUID().replaceAll("-", "").slice(0, 20))

/**
 * Makes a worktree that lives as long as the scope. Any number may be made at the same time, also by several hosts.
 *
 * Before, the worktrees of hosts that have died are removed, by what their locks say: never those of a host that may be
 * alive. Those with `dirt` are kept, unlocked and reported: by a warning in the log, and in `stale`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Claude, NodeProcessTree, Worktree } from "effect-agents"
 *
 * const attempt = Effect.scoped(Effect.gen(function*() {
 *   const { branch, path } = yield* Worktree.make({ repo: ".", branch: "fix-parser" })
 *   yield* Agent.run(AgentRequest.make({
 *     prompt: "Fix the parser, run its tests and commit",
 *     permission: "Auto",
 *     cwd: path
 *   }))
 *   return branch // what was committed is there; a worktree with anything else is kept
 * })).pipe(Effect.provide(Claude.layer()), Effect.provide(NodeProcessTree.layer))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (
  options: Options
) => Effect.Effect<
  Worktree,
  WorktreeError,
  ProcessTree.Spawner | FileSystem.FileSystem | Path.Path | Scope.Scope
> = Effect.fnUntraced(function*(options) {
  const path = yield* Path.Path
  const spawner = yield* ProcessTree.Spawner
  const { cwd } = yield* spawner.host
  const services = yield* Effect.context<ProcessTree.Spawner | FileSystem.FileSystem | Path.Path>()
  const repo = path.resolve(cwd, options.repo)
  const run = (...args: ReadonlyArray<string>) =>
    ask(repo, ...args).pipe(Effect.mapError(notStarted(repo)), Effect.flatMap(answer(repo)))
  const commitOf = (revision: string) =>
    run("rev-parse", "--verify", "--end-of-options", `${revision}^{commit}`).pipe(
      Effect.mapError(() => refused(repo, "base-unknown", `"${revision}" is not a commit`))
    )

  const common = yield* run("rev-parse", "--path-format=absolute", "--git-common-dir")
  const named = options.branch
  if (named !== undefined) yield* run("check-ref-format", "--branch", named)
  const existing = named === undefined ? undefined : yield* Effect.option(commitOf(`refs/heads/${named}`))
  const isNew = existing === undefined || existing._tag === "None"
  const base = isNew ? yield* commitOf(options.base ?? "HEAD") : existing.value
  const stale = yield* Effect.mapError(prune(common), notStarted(repo))

  // The repository of a submodule has its working tree elsewhere; a bare one has none.
  const main = path.basename(common) === ".git"
    ? path.dirname(common)
    : yield* Effect.orElseSucceed(run("rev-parse", "--show-toplevel"), () => common)
  const directory = options.directory === undefined ? `${main}.worktrees` : path.resolve(cwd, options.directory)
  const name = yield* makeName
  const own = named === undefined ? `${prefix}${name}` : undefined
  const place = { common, id: name, path: path.join(directory, name) }
  const lock = { base, ...(own === undefined ? {} : { branch: own }) }

  const ready = yield* Ref.make(false)
  const report = yield* Deferred.make<Report>()
  yield* Effect.addFinalizer(() =>
    Effect.flatMap(Ref.get(ready), (ready) =>
      ready
        ? remove(place, lock, { named, keepDirty: options.keepDirty ?? true })
        : Effect.as(discard(place, own), { path: place.path, removed: true, dirt: [] }))
      .pipe(
        Effect.flatMap((ended) => Deferred.succeed(report, ended)),
        Effect.provide(services)
      )
  )
  yield* git(
    common,
    "worktree",
    "add",
    "--lock",
    "--reason",
    yield* lockReason({ owner: yield* spawner.owner, ...lock }),
    ...(isNew ? ["--no-track", "-b", own ?? named ?? name] : []),
    "--",
    place.path,
    isNew ? base : named ?? base
  ).pipe(Effect.mapError(notStarted(repo)), Effect.flatMap(answer(repo)))
  yield* Ref.set(ready, true)

  const worktree: Worktree = {
    path: place.path,
    branch: own ?? named ?? "",
    base,
    dirt: Effect.provide(dirtOf(place, lock), services),
    report: Deferred.await(report),
    stale
  }
  return worktree
})
