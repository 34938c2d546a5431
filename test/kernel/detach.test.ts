/**
 * Trees that are handed over on purpose: they live on however their host ends, alone of all that it has started, until
 * somebody ends them.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Containment from "effect-agents/Containment"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import type * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as scratch from "../../src/internal/kernel/scratch.js"
import * as Host from "../utils/Host.js"
import { aliveWith, expectGone, isAlive, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { missingNamespace } from "./hosts.js"
import type { Input } from "./hostProgram.js"
import { brief, expectEmpty, seconds, sh } from "./support.js"

// A state directory of this file's own: other tests are hosts too, and would sweep what is left behind here on purpose.
const state = mkdtempSync(join(tmpdir(), "effect-agents-detach-"))
process.env.XDG_STATE_HOME = state
afterAll(() => rmSync(state, { recursive: true, force: true }))

const live = NodeProcessTree.layerWith({ sweepStale: false, teardown: brief })

/**
 * In the group, in a session, a daemon, a daemon without environment; and a leader that goes on as long as what it writes
 * is read: each round is more than a pipe holds.
 */
const everyKind = "sleep $2 & setsid sleep $2 & (setsid sh -c 'sleep $0 >/dev/null 2>&1 &' $2 &)"
  + " ; (env -i setsid sh -c 'sleep $0 >/dev/null 2>&1 &' $2 &)"
  + " ; while head -c 300000 /dev/zero && head -c 300000 /dev/zero >&2; do echo x >>$1/$2; sleep 0.02; done"
const kinds = 4

const rounds = (folder: string, mark: string): number => {
  const file = join(folder, seconds(mark))
  return existsSync(file) ? statSync(file).size : 0
}

/** All of it is there, and its leader goes on. */
const expectWhole = Effect.fnUntraced(function*(folder: string, mark: string) {
  assert.strictEqual((yield* waitForSleepers(mark, kinds)).length, kinds)
  const before = rounds(folder, mark)
  yield* waitUntil("some more rounds", Effect.sync(() => rounds(folder, mark) > before + 4))
})

const gone = (mark: string) =>
  waitUntil("the end of all", Effect.map(aliveWith(mark), (left) => left.length === 0)).pipe(
    Effect.zipRight(expectGone(mark))
  )

/** What a later host does about it: it lists it, and ends all of it. */
const endsWhole = Effect.fnUntraced(function*(id: string, mark: string) {
  const [listed] = (yield* Containment.detached).filter((one) => one.mark === id)
  if (listed === undefined) return assert.fail("not listed")
  assert.strictEqual(listed.command, "sh")
  const alive = yield* aliveWith(mark)
  const members = new Set(listed.members.map(({ pid }) => pid))
  assert.deepStrictEqual(alive.filter(({ pid }) => !members.has(pid)), [], "all of it is listed")
  const report = yield* Effect.map(Containment.endDetached(id), Option.getOrThrow)
  expectEmpty(report)
  assert.strictEqual(report.reason, "completed")
  yield* expectGone(mark)
  assert.deepStrictEqual((yield* Containment.detached).filter((one) => one.mark === id), [])
  assert.isTrue(Option.isNone(yield* Containment.endDetached(id)))
  return listed
})

const host = Effect.fnUntraced(function*(then: Input["then"], more: Partial<Input> = {}) {
  const folder = yield* TempDir.make
  const mark = yield* makeMark
  const sibling = yield* makeMark
  const started = yield* Host.start(new URL("./hostProgram.ts", import.meta.url), {
    mode: "detach",
    script: everyKind,
    args: [folder],
    variants: [seconds(mark), seconds(sibling)],
    sleepers: [sibling, kinds],
    then,
    ...more
  })
  yield* started.says("ready")
  const id = /^detached (\w+)\.$/m.exec(yield* started.output)?.[1] ?? ""
  const [guard] = (yield* aliveWith("guardMain.js")).filter(({ parent }) => parent === started.pid)
  return { started, folder, mark, sibling, id, guard, files: scratch.directoryOf(id.slice(0, 24)) }
})

const inTree = <E>(
  body: (tree: ProcessTree.ProcessTree, mark: string, folder: string) => Effect.Effect<void, E, ProcessTree.Spawner>,
  options?: ProcessTree.StartOptions
): Effect.Effect<void, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const mark = yield* makeMark
    const folder = yield* TempDir.make
    const tree = yield* ProcessTree.start(sh(everyKind, folder, seconds(mark)), options)
    yield* waitForSleepers(mark, kinds)
    yield* body(tree, mark, folder)
  }).pipe(Effect.provide(live))

describe("a detached tree", () => {
  it.scopedLive("lives on after its scope, is listed, and ends whole when it is told to", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const folder = yield* TempDir.make
      const reports: Array<Teardown.TeardownReport> = []
      const { detached, tree } = yield* Effect.scoped(Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh(everyKind, folder, seconds(mark)))
        yield* waitForSleepers(mark, kinds)
        return { tree, detached: yield* tree.detach }
      })).pipe(ProcessTree.onReport((report) => Effect.sync(() => reports.push(report))))
      yield* expectWhole(folder, mark)
      assert.deepStrictEqual(
        reports.map(({ detached, killed, reason, survivors, verified }) => ({
          detached,
          killed,
          reason,
          survivors,
          verified
        })),
        [{ detached: detached.mark, killed: [], reason: "detached", survivors: [], verified: "detached" }]
      )
      assert.include(String(reports[0]), detached.mark)
      assert.strictEqual(detached.owner.pid, process.pid)
      assert.isAtLeast(detached.members.length, kinds + 1)
      // There is nothing to be done by the one who has handed it over.
      assert.strictEqual((yield* tree.teardown).verified, "detached")
      assert.strictEqual((yield* Effect.flip(tree.detach)).reason, "ended")
      yield* expectWhole(folder, mark)
      yield* endsWhole(detached.mark, mark)
    }).pipe(Effect.provide(live)))

  for (const then of ["end", "exit"] as const) {
    it.scopedLive(`outlives a host that ${then === "end" ? "has nothing more to do" : "exits"}, alone of all trees`, () =>
      Effect.gen(function*() {
        const { folder, guard, id, mark, sibling, started } = yield* host(then)
        assert.strictEqual((yield* started.exit).code, then === "end" ? 0 : 3)
        yield* gone(sibling)
        if (guard !== undefined) yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
        yield* expectWhole(folder, mark)
        yield* endsWhole(id, mark)
      }).pipe(Effect.provide(live)))
  }

  it.scopedLive("is left alone by the guard of a host that is killed, with its temporary files", () =>
    Effect.gen(function*() {
      const { files, folder, guard, id, mark, sibling, started } = yield* host("wait")
      if (guard === undefined) return assert.fail("no guard")
      yield* started.signal("SIGKILL")
      yield* started.exit
      yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
      yield* expectGone(sibling)
      yield* expectWhole(folder, mark)
      assert.deepStrictEqual(readdirSync(files), ["file"])
      const listed = yield* endsWhole(id, mark)
      assert.strictEqual(listed.owner.pid, started.pid)
      assert.isFalse(existsSync(files), "nobody is left who needs them")
    }).pipe(Effect.provide(live)))

  it.scopedLive("is left alone by who does the work of a host and a guard that are killed", () =>
    Effect.gen(function*() {
      const { files, folder, guard, id, mark, sibling, started } = yield* host("wait")
      if (guard === undefined) return assert.fail("no guard")
      process.kill(guard.pid, "SIGSTOP")
      for (const pid of [started.pid, guard.pid]) process.kill(pid, "SIGKILL")
      yield* started.exit
      yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
      const reports = yield* Containment.sweepStale
      const report = reports.find(({ pid }) => pid === started.pid)
      assert.strictEqual(report?.verified, "empty")
      assert.isAtLeast(report?.killed.length ?? 0, kinds)
      yield* expectGone(sibling)
      yield* expectWhole(folder, mark)
      assert.isTrue(existsSync(files))
      yield* endsWhole(id, mark)
      assert.isFalse(existsSync(files))
    }).pipe(Effect.provide(live)))

  it.scopedLive("that has ended by itself is not listed, and nothing is left of it", () =>
    inTree((tree, mark) =>
      Effect.gen(function*() {
        const { mark: id } = yield* tree.detach
        const file = join(state, "effect-agents", "detached", `${id}.json`)
        assert.isTrue(existsSync(file))
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        for (const { pid } of yield* aliveWith(mark)) process.kill(pid, "SIGKILL")
        yield* waitUntil(
          "nobody is listed",
          Effect.map(Containment.detached, (all) => all.every((one) => one.mark !== id))
        )
        assert.isFalse(existsSync(file))
      })
    ))

  const allowed = 0.5
  /** Seconds, with those of the children that it has waited for. */
  const computed = (pid: number): number => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return fields.slice(11, 15).map(Number).reduce((sum, ticks) => sum + ticks) / 100
  }

  it.scopedLive("is not bound by its limits any more", () =>
    inTree((tree, mark, folder) =>
      Effect.gen(function*() {
        const { mark: id } = yield* tree.detach
        yield* waitUntil("more than is allowed", Effect.sync(() => computed(tree.pid) > 2 * allowed), {
          deadline: "40 seconds"
        })
        yield* expectWhole(folder, mark)
        yield* endsWhole(id, mark)
      }), { limits: { cpuSeconds: allowed } }), 60_000)

  if (missingNamespace !== undefined) console.warn(`detach in a pid namespace: ${missingNamespace}`)
  it.scopedLive.skipIf(missingNamespace !== undefined)("in a pid namespace of its own", () =>
    Effect.gen(function*() {
      const { folder, id, mark, sibling, started } = yield* host("wait", { seal: "namespace" })
      yield* started.signal("SIGKILL")
      yield* gone(sibling)
      yield* expectWhole(folder, mark)
      yield* endsWhole(id, mark)
    }).pipe(Effect.provide(live)))
})

describe("a tree is not handed over", () => {
  it.scopedLive("once its teardown has begun, or nobody is there", () =>
    inTree((tree, mark) =>
      Effect.gen(function*() {
        yield* tree.teardown
        yield* expectGone(mark)
        const error = yield* Effect.flip(tree.detach)
        assert.strictEqual(error.reason, "ended")
      })
    ))

  it.scopedLive("where it cannot be written down: it ends with its scope", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const blocked = yield* TempDir.make
      writeFileSync(join(blocked, "effect-agents"), "a file where a directory is to be")
      const error = yield* Effect.scoped(Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh("sleep $1 & wait", seconds(mark)))
        yield* waitForSleepers(mark, 1)
        process.env.XDG_STATE_HOME = blocked
        return yield* Effect.flip(tree.detach)
      })).pipe(Effect.ensuring(Effect.sync(() => {
        process.env.XDG_STATE_HOME = state
      })))
      assert.strictEqual(error.reason, "ledger")
      assert.include(error.message, blocked)
      yield* expectGone(mark)
    }).pipe(Effect.provide(live)))

  const cgroups = Effect.map(Containment.probe, ({ layers }) => layers.find(({ layer }) => layer === "cgroup"))
  it.scopedLive("out of a cgroup", (context) =>
    Effect.gen(function*() {
      const found = yield* cgroups
      if (found?.available !== true) return context.skip(found?.why)
      yield* inTree(
        (tree) => Effect.map(Effect.flip(tree.detach), (error) => assert.strictEqual(error.reason, "cgroup")),
        { seal: "cgroup" }
      )
    }).pipe(Effect.provide(live)))
})

describe("the word of a detached tree", () => {
  const directory = join(state, "effect-agents", "detached")

  it.scopedLive("of an earlier boot goes, and what nobody can read stays and is not believed", () =>
    inTree((tree, mark) =>
      Effect.gen(function*() {
        const { mark: id } = yield* tree.detach
        const file = join(directory, `${id}.json`)
        const word = JSON.parse(readFileSync(file, "utf8"))
        const other = `${"0".repeat(24)}00000000`
        const owner = { ...word.owner, id: "0".repeat(24), boot: "another" }
        writeFileSync(
          join(directory, `${other}.json`),
          JSON.stringify({ ...word, id: other, owner, scratch: scratch.directoryOf(owner.id) })
        )
        const wrong = join(directory, `${"f".repeat(24)}00000000.json`)
        for (const text of ["", "{}", JSON.stringify({ ...word, scratch: "/" }), JSON.stringify(word)]) {
          writeFileSync(wrong, text)
          assert.deepStrictEqual((yield* Containment.detached).map((one) => one.mark), [id])
        }
        assert.isFalse(existsSync(join(directory, `${other}.json`)))
        assert.isTrue(existsSync(wrong))
        rmSync(wrong)
        yield* endsWhole(id, mark)
      })
    ))
})
