/**
 * Worktrees of real repositories by the real git.
 */
import * as Command from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Worktree from "effect-agents/Worktree"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { marked } from "../conformance/harness.js"
import { brief, seconds } from "../kernel/support.js"
import * as Host from "../utils/Host.js"
import { expectGone, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"

const git = (cwd: string, ...args: ReadonlyArray<string>): string => {
  const done = spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd, encoding: "utf8" })
  if (done.status !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr}`)
  return done.stdout.trim()
}

const commit = (cwd: string, file: string): void => {
  writeFileSync(join(cwd, file), file)
  git(cwd, "add", file)
  git(cwd, "commit", "-q", "-m", file)
}

const makeRepo = Effect.map(TempDir.make, (folder) => {
  const repo = join(folder, "repo")
  git(folder, "init", "-q", "-b", "main", "repo")
  writeFileSync(join(repo, ".gitignore"), "ignored\n")
  writeFileSync(join(repo, "file"), "text\n")
  git(repo, "add", ".")
  git(repo, "commit", "-q", "-m", "first")
  return repo
})

/** What git knows of: the paths of worktrees, and the branches. */
const worktrees = (repo: string) =>
  git(repo, "worktree", "list", "--porcelain").split("\n").filter((line) => line.startsWith("worktree ")).length - 1
const branches = (repo: string) => git(repo, "branch", "--format=%(refname:short)").split("\n").sort()
const left = (repo: string) => existsSync(`${repo}.worktrees`) ? readdirSync(`${repo}.worktrees`) : []

type Services = Layer.Layer.Success<typeof NodeProcessTree.layer>

/** Makes a worktree, does something to it, and tells what became of it. */
const after = (
  options: Worktree.Options,
  act: (worktree: Worktree.Worktree) => void,
  then: Effect.Effect<void> = Effect.void
): Effect.Effect<
  readonly [Worktree.Report, Worktree.Worktree],
  Worktree.WorktreeError,
  Services
> =>
  Effect.flatMap(
    Effect.scoped(
      Effect.tap(Worktree.make(options), (worktree) => Effect.zipRight(Effect.sync(() => act(worktree)), then))
    ),
    (worktree) => Effect.map(worktree.report, (report) => [report, worktree])
  )

const live = (
  name: string,
  body: (repo: string) => Effect.Effect<void, unknown, Services | Scope.Scope>
) => it.scopedLive(name, () => Effect.flatMap(makeRepo, body).pipe(Effect.provide(NodeProcessTree.layer)))

describe("worktree", () => {
  live(
    "is there and locked while the scope is open, and gone without a trace afterwards",
    (repo) =>
      Effect.gen(function*() {
        const [report, { branch, path }] = yield* after({ repo }, ({ base, branch, path, stale }) => {
          assert.strictEqual(dirname(path), `${repo}.worktrees`)
          assert.strictEqual(base, git(repo, "rev-parse", "main"))
          assert.strictEqual(git(path, "branch", "--show-current"), branch)
          assert.match(branch, /^effect-agents\/[0-9a-f]{20}$/)
          assert.include(git(repo, "worktree", "list", "--porcelain"), "\nlocked")
          assert.include(
            readFileSync(join(repo, ".git", "worktrees", basename(path), "locked"), "utf8"),
            `"pid":${process.pid}`
          )
          assert.deepStrictEqual(stale, [])
          // What git ignores is not work.
          writeFileSync(join(path, "ignored"), "built")
        })
        assert.deepStrictEqual(report, { path, branch, removed: true, dirt: [] })
        assert.deepStrictEqual(left(repo), [])
        assert.deepStrictEqual(branches(repo), ["main"])
        assert.strictEqual(git(repo, "status", "--porcelain"), "")
      })
  )

  const dirts: Record<string, readonly [Worktree.Dirt, (path: string, repo: string) => void]> = {
    "a changed file": [{ kind: "changes", count: 1 }, (path) => appendFileSync(join(path, "file"), "more")],
    "a staged and moved file": [{ kind: "changes", count: 1 }, (path) => git(path, "mv", "file", "moved")],
    "a removed file": [{ kind: "changes", count: 1 }, (path) => rmSync(join(path, "file"))],
    "new files": [{ kind: "untracked", count: 2 }, (path) => {
      mkdirSync(join(path, "folder"))
      writeFileSync(join(path, "folder", "new"), "")
      writeFileSync(join(path, "folder", "newer"), "")
    }],
    "commits on its branch": [{ kind: "commits", count: 2 }, (path) => {
      commit(path, "a")
      commit(path, "b")
    }],
    "a commit on no branch": [{ kind: "commits", count: 1 }, (path) => {
      git(path, "checkout", "-q", "--detach")
      commit(path, "a")
    }],
    "a commit on its branch, while HEAD is elsewhere": [{ kind: "commits", count: 1 }, (path) => {
      commit(path, "a")
      git(path, "checkout", "-q", "--detach", "main")
    }],
    "a rebase that is not finished": [
      { kind: "operation" },
      (path) => git(path, "-c", "sequence.editor=sed -i 1ibreak", "rebase", "-q", "-i", "HEAD")
    ],
    "a bisect": [{ kind: "operation" }, (path) => git(path, "bisect", "start")],
    "a submodule that was checked out": [{ kind: "submodules" }, (path, repo) => {
      git(path, "-c", "protocol.file.allow=always", "submodule", "-q", "add", repo, "sub")
      git(path, "reset", "-q", "--hard")
      rmSync(join(path, "sub"), { recursive: true, force: true })
    }]
  }
  for (const [name, [dirt, act]] of Object.entries(dirts)) {
    live(`is kept, unlocked and reported for ${name}`, (repo) =>
      Effect.gen(function*() {
        const [report, { branch, path }] = yield* after({ repo }, ({ path }) => act(path, repo))
        assert.deepStrictEqual(report.dirt, [dirt])
        assert.deepStrictEqual(report, { path, branch, removed: false, dirt: report.dirt })
        assert.isTrue(existsSync(path))
        assert.include(branches(repo).join(), branch)
        assert.notInclude(git(repo, "worktree", "list", "--porcelain"), "locked")
        // It is not touched again by whoever comes next.
        const [, next] = yield* after({ repo }, () => {})
        assert.deepStrictEqual(next.stale, [])
        assert.isTrue(existsSync(path))
      }))
  }

  live("tells its dirt before the end", (repo) =>
    Effect.scoped(Effect.gen(function*() {
      const worktree = yield* Worktree.make({ repo })
      assert.deepStrictEqual(yield* worktree.dirt, [])
      writeFileSync(join(worktree.path, "new"), "")
      commit(worktree.path, "other")
      assert.deepStrictEqual(yield* worktree.dirt, [{ kind: "untracked", count: 1 }, { kind: "commits", count: 1 }])
    })))

  live("commits that are safe elsewhere are no reason to keep it", (repo) =>
    Effect.gen(function*() {
      const remote = `${repo}.git`
      git(repo, "clone", "-q", "--bare", repo, remote)
      git(repo, "remote", "add", "origin", remote)
      const safe: Record<string, (path: string) => void> = {
        merged: (path) => git(repo, "merge", "-q", git(path, "rev-parse", "HEAD")),
        tagged: (path) => git(path, "tag", "v1"),
        pushed: (path) => git(path, "push", "-q", "origin", "HEAD:refs/heads/agent"),
        "on another branch": (path) => git(path, "branch", "kept")
      }
      for (const [how, act] of Object.entries(safe)) {
        const [report] = yield* after({ repo }, ({ path }) => {
          commit(path, how)
          act(path)
        })
        assert.deepStrictEqual([report.removed, report.dirt], [true, []], how)
      }
      assert.deepStrictEqual(branches(repo), ["kept", "main"])
    }))

  live("two that count on each other's branch are both kept", (repo) =>
    Effect.gen(function*() {
      const [first, second] = yield* Effect.scoped(Effect.gen(function*() {
        const first = yield* Worktree.make({ repo })
        const second = yield* Worktree.make({ repo })
        commit(first.path, "a")
        git(second.path, "reset", "-q", "--hard", first.branch)
        return [first, second] as const
      }))
      assert.isFalse((yield* first.report).removed)
      assert.isFalse((yield* second.report).removed)
    }))

  live("a branch that was named stays with its commits, and the directory goes", (repo) =>
    Effect.gen(function*() {
      const [made] = yield* after({ repo, branch: "fix" }, ({ path }) => commit(path, "a"))
      assert.deepStrictEqual([made.removed, made.dirt, made.branch], [true, [], "fix"])
      const tip = git(repo, "rev-parse", "fix")
      assert.notStrictEqual(tip, git(repo, "rev-parse", "main"))
      // One that exists is gone on with, whatever the base.
      const [again] = yield* after({ repo, branch: "fix", base: "main" }, ({ base, path }) => {
        assert.strictEqual(base, tip)
        assert.isTrue(existsSync(join(path, "a")))
        writeFileSync(join(path, "new"), "")
      })
      assert.deepStrictEqual([again.removed, again.dirt], [false, [{ kind: "untracked", count: 1 }]])
    }))

  live("with keepDirty false all of it is thrown away", (repo) =>
    Effect.gen(function*() {
      const [report] = yield* after({ repo, keepDirty: false }, ({ path }) => {
        commit(path, "a")
        writeFileSync(join(path, "new"), "")
      })
      assert.isTrue(report.removed)
      assert.deepStrictEqual([left(repo), branches(repo), worktrees(repo)], [[], ["main"], 0])
    }))

  live(
    "a repository with submodules, a bare one, and one that is seen from below its root",
    (repo) =>
      Effect.gen(function*() {
        git(repo, "-c", "protocol.file.allow=always", "submodule", "-q", "add", repo, "sub")
        git(repo, "commit", "-q", "-m", "submodule")
        const [submodule] = yield* after({ repo }, () => {})
        assert.isTrue(submodule.removed, submodule.problem)

        const bare = join(dirname(repo), "bare.git")
        git(repo, "clone", "-q", "--bare", repo, bare)
        const [inBare] = yield* after({ repo: bare, base: "main" }, ({ path }) => {
          assert.strictEqual(dirname(path), `${bare}.worktrees`)
        })
        assert.isTrue(inBare.removed, inBare.problem)

        // From below the root of another worktree, and with a directory that was chosen.
        const directory = join(dirname(repo), "chosen")
        const [chosen] = yield* after({ repo: join(repo, "sub", ".."), directory }, ({ path }) => {
          assert.strictEqual(dirname(path), directory)
          mkdirSync(join(path, "ignored"))
        })
        assert.isTrue(chosen.removed, chosen.problem)
      })
  )

  live("what cannot be removed is kept and the problem told", (repo) =>
    Effect.gen(function*() {
      const [report, { path }] = yield* after({ repo }, ({ path }) => rmSync(join(path, ".git")))
      assert.isFalse(report.removed)
      assert.deepStrictEqual(report.dirt, [{ kind: "unknown" }])
      assert.isTrue(existsSync(path))
    }))

  live("twenty at once, and their ends", (repo) =>
    Effect.gen(function*() {
      const all = yield* Effect.makeLatch(false)
      const made: Array<string> = []
      const work = after({ repo }, ({ path }) => made.push(path), all.await)
      const fiber = yield* Effect.fork(
        Effect.forEach(Array.from({ length: 20 }), () => work, { concurrency: "unbounded" })
      )
      yield* waitUntil("all are there at the same time", Effect.sync(() => made.length === 20), {
        deadline: "20 seconds"
      })
      assert.deepStrictEqual([new Set(made).size, worktrees(repo)], [20, 20])
      yield* all.open
      for (const [report] of yield* Fiber.join(fiber)) assert.isTrue(report.removed, report.problem)
      assert.deepStrictEqual([left(repo), branches(repo), worktrees(repo)], [[], ["main"], 0])
    }))

  live("interrupted at any moment it leaves nothing", (repo) =>
    Effect.gen(function*() {
      for (let after = 0; after < 400; after += 25) {
        const fiber = yield* Effect.fork(Effect.scoped(Worktree.make({ repo })))
        yield* Effect.sleep(after)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual([left(repo), branches(repo), worktrees(repo)], [[], ["main"], 0], `after ${after} ms`)
      }
    }))

  live("what was started in it has ended before it is looked at", (repo) =>
    marked((mark) =>
      Effect.gen(function*() {
        const worktree = yield* Effect.scoped(Effect.gen(function*() {
          const worktree = yield* Worktree.make({ repo })
          // Puts down a file when it is asked to end.
          const script = `trap 'echo late > late; exit' TERM; sleep $1 & wait`
          yield* ProcessTree.start(
            Command.make("sh", "-c", script, "sh", seconds(mark)).pipe(Command.workingDirectory(worktree.path)),
            { teardown: brief }
          )
          yield* waitForSleepers(mark, 1)
          return worktree
        }))
        yield* expectGone(mark)
        const report = yield* worktree.report
        assert.deepStrictEqual(report.dirt, [{ kind: "untracked", count: 1 }])
      })
    ))
})

describe("worktree errors", () => {
  const reasonOf = (options: Worktree.Options) => Effect.flip(Worktree.make(options)).pipe(Effect.scoped)

  live("say what is wrong, and leave nothing", (repo) =>
    Effect.gen(function*() {
      const expect = (options: Worktree.Options, reason: Worktree.WorktreeError["reason"]) =>
        Effect.map(reasonOf(options), (error) => {
          assert.strictEqual(error.reason, reason, error.message)
          if (reason !== "other") assert.isAbove(error.hint.length, 20)
        })
      yield* expect({ repo: dirname(repo) }, "not-a-repository")
      yield* expect({ repo: join(repo, "nowhere") }, "not-a-repository")
      yield* expect({ repo, base: "nowhere" }, "base-unknown")
      yield* expect({ repo, base: "--all" }, "base-unknown")
      yield* expect({ repo, branch: "a..b" }, "branch-invalid")
      yield* expect({ repo, branch: "-f" }, "branch-invalid")
      yield* expect({ repo, branch: "main" }, "branch-in-use")
      yield* Effect.scoped(Effect.zipRight(
        Worktree.make({ repo, branch: "fix" }),
        expect({ repo, branch: "fix" }, "branch-in-use")
      ))
      writeFileSync(join(dirname(repo), "a file"), "")
      yield* expect({ repo, directory: join(dirname(repo), "a file") }, "other")
      const empty = join(dirname(repo), "empty")
      git(repo, "init", "-q", empty)
      yield* expect({ repo: empty }, "base-unknown")
      assert.deepStrictEqual([left(repo), branches(repo), worktrees(repo)], [[], ["fix", "main"], 0])
    }))

  live(
    "a lock that is held for long is told, one that is held for short is waited for",
    (repo) =>
      Effect.gen(function*() {
        const lock = join(repo, ".git", "refs", "heads", "fix.lock")
        writeFileSync(lock, "")
        const fiber = yield* Effect.fork(Effect.scoped(Worktree.make({ repo, branch: "fix" })))
        yield* Effect.sleep("1 second")
        assert.isTrue((yield* Fiber.poll(fiber))._tag === "None")
        rmSync(lock)
        assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
      })
  )

  const within = (environment: Record<string, string>) =>
    Layer.provideMerge(
      Layer.effect(
        ProcessTree.Spawner,
        Effect.map(ProcessTree.Spawner, (inner) =>
          ProcessTree.Spawner.of({ ...inner, host: Effect.map(inner.host, (host) => ({ ...host, environment })) }))
      ),
      NodeProcessTree.layer
    )

  it.scopedLive("without git", () =>
    Effect.gen(function*() {
      const repo = yield* makeRepo
      const error = yield* Effect.provide(reasonOf({ repo }), within({ PATH: "/nowhere" }))
      assert.strictEqual(error.reason, "no-git")
    }))

  it.scopedLive("a host that was started by a hook of another repository is no error", () =>
    Effect.gen(function*() {
      const repo = yield* makeRepo
      const other = yield* makeRepo
      const environment = { ...process.env, GIT_DIR: join(other, ".git"), GIT_INDEX_FILE: join(other, ".git", "index") }
      const made = yield* Worktree.make({ repo }).pipe(
        Effect.scoped,
        Effect.provide(within(environment as Record<string, string>)) // without undefined members
      )
      assert.strictEqual(dirname(made.path), `${repo}.worktrees`)
      assert.isTrue((yield* made.report).removed)
    }))
})

describe("worktrees of dead hosts", () => {
  const program = new URL("./hostProgram.ts", import.meta.url)

  live(
    "are removed when they are clean, kept when not, and never those of the living",
    (repo) =>
      Effect.gen(function*() {
        const dead = yield* Host.start(program, { repo, count: 3 })
        const alive = yield* Host.start(program, { repo, count: 1 })
        yield* dead.says("ready")
        yield* alive.says("ready")
        const paths = /made (.*)/.exec(yield* dead.output)?.[1]?.split(" ") ?? []
        const others = /made (.*)/.exec(yield* alive.output)?.[1]?.split(" ") ?? []
        const [dirty = "", gone = "", clean = ""] = paths
        writeFileSync(join(dirty, "new"), "")
        commit(gone, "a")
        rmSync(gone, { recursive: true })
        yield* dead.signal("SIGKILL")
        yield* dead.exit
        const stale: Array<Worktree.Report> = []
        // Its guard has the trees to end first.
        yield* waitUntil(
          "all are seen to",
          Effect.map(after({ repo }, (worktree) => stale.push(...worktree.stale)), () => stale.length === 3)
        )
        const told = (path: string) => stale.find((report) => report.path === path)
        assert.deepInclude(told(dirty), { removed: false, dirt: [{ kind: "untracked", count: 1 }] })
        assert.deepInclude(told(gone), { removed: false, dirt: [{ kind: "commits", count: 1 }] })
        assert.deepInclude(told(clean), { removed: true, dirt: [] })
        assert.deepStrictEqual(left(repo).sort(), [dirty, ...others].map((path) => basename(path)).sort())
        const [, next] = yield* after({ repo }, () => {})
        assert.deepStrictEqual(next.stale, [])
        assert.isTrue(others.every((path) => existsSync(path)))
      })
  )
  live("that have handed something over stay until it has ended", (repo) =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const dead = yield* Host.start(program, { repo, count: 1, detach: seconds(mark) })
      yield* dead.says("ready")
      const id = /^detached (\w+)\.$/m.exec(yield* dead.output)?.[1] ?? ""
      const [path = ""] = /made (.*)/.exec(yield* dead.output)?.[1]?.split(" ") ?? []
      yield* dead.signal("SIGKILL")
      yield* dead.exit
      const { isAlive, detached, endDetached } = yield* ProcessTree.Spawner
      const [owner] = (yield* detached).flatMap((one) => one.mark === id ? [one.owner] : [])
      if (owner === undefined) return assert.fail("not listed")
      yield* waitUntil("the end of the guard", Effect.negate(isAlive(owner)))
      const [, first] = yield* after({ repo }, () => {})
      assert.deepStrictEqual(first.stale, [])
      assert.isTrue(existsSync(path))
      yield* endDetached(id)
      yield* expectGone(mark)
      const [, second] = yield* after({ repo }, () => {})
      assert.deepStrictEqual(second.stale.map(({ path, removed }) => [path, removed]), [[path, true]])
    }))
})
