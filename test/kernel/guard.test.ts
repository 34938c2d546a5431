/**
 * What happens to the trees of a host that cannot do anything about it any more: it is killed, and once its guard with it.
 */
import * as Command from "@effect/platform/Command"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Containment from "effect-agents/Containment"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Ledger from "../../src/internal/kernel/ledger.js"
import * as scratch from "../../src/internal/kernel/scratch.js"
import * as Host from "../utils/Host.js"
import { aliveWith, expectGone, isAlive, makeMark, type Seen, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import type { Input } from "./hostProgram.js"
import { seconds, sh } from "./support.js"

// A state directory of this file's own: other tests are hosts too, and would sweep what is left behind here on purpose.
const state = mkdtempSync(join(tmpdir(), "effect-agents-guard-"))
process.env.XDG_STATE_HOME = state
afterAll(() => rmSync(state, { recursive: true, force: true }))

/** One of each kind: in the group, in a session, a daemon, a daemon without environment, a deaf one. */
const everyKind = "sleep $1 & setsid sleep $2 & (setsid sh -c 'sleep $0 >/dev/null 2>&1 &' $3 &)"
  + " ; (env -i setsid sh -c 'sleep $0 >/dev/null 2>&1 &' $4 &)"
  + " ; (setsid sh -c 'trap \"\" TERM INT HUP; exec sleep $0' $5 &) ; wait; sleep $1"
const kinds = 5

const host = (mark: string, more: Partial<Input> = {}) =>
  Host.start(new URL("./hostProgram.ts", import.meta.url), {
    mode: "wait",
    script: everyKind,
    args: [1, 2, 3, 4, 5].map((number) => seconds(mark, number)),
    sleepers: [mark, kinds * (more.trees ?? 1)],
    ...more
  })

const guardsOf = (pid: number): Effect.Effect<ReadonlyArray<Seen>> =>
  Effect.map(aliveWith("guardMain.js"), (seen) => seen.filter(({ parent }) => parent === pid))

const guardOf = (pid: number): Effect.Effect<Seen> =>
  waitUntil("the guard", Effect.map(guardsOf(pid), (guards) => guards.length === 1)).pipe(
    Effect.zipRight(guardsOf(pid)),
    Effect.flatMap(([guard]) => guard === undefined ? Effect.dieMessage("no guard") : Effect.succeed(guard))
  )

const kill = (...pids: ReadonlyArray<number>) => Effect.sync(() => pids.forEach((pid) => process.kill(pid, "SIGKILL")))

const stale = Effect.provide(Containment.sweepStale, NodeProcessTree.layerWith({ sweepStale: false }))

const gone = (mark: string) =>
  waitUntil("the end of all", Effect.map(aliveWith(mark), (left) => left.length === 0)).pipe(
    Effect.zipRight(expectGone(mark))
  )

const ledgers = (): ReadonlyArray<string> => {
  const directory = Ledger.directory(process.env)
  return directory === undefined || !existsSync(directory)
    ? []
    : readdirSync(directory).filter((name) => name.endsWith(".json")).map((name) => join(directory, name))
}

const ledgerOf = (pid: number): Effect.Effect<string> =>
  Effect.suspend(() => {
    const file = ledgers().find((file) => Ledger.parse(readFileSync(file, "utf8"))?.host.pid === pid)
    return file === undefined ? Effect.dieMessage("no ledger") : Effect.succeed(file)
  })

describe("the guard", () => {
  it.scopedLive("ends every tree of a host that is killed, and then itself", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const started = yield* host(mark, { trees: 3 })
      yield* started.says("ready")
      const guard = yield* guardOf(started.pid)
      const ledger = yield* ledgerOf(started.pid)
      yield* kill(started.pid)
      yield* gone(mark)
      yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
      assert.isFalse(existsSync(ledger), "nothing is left to clean up, and nobody is told to")
    }))

  it.scopedLive("removes the temporary files of a host that is killed, and so does who does its work", () =>
    Effect.gen(function*() {
      for (const withGuard of [false, true]) {
        const mark = yield* makeMark
        const started = yield* host(mark, { mode: "scratch" })
        yield* started.says("ready")
        const directory = /^scratch (.*)\.$/m.exec(yield* started.output)?.[1] ?? ""
        assert.deepStrictEqual(readdirSync(directory), ["file"])
        assert.strictEqual(statSync(directory).mode & 0o777, 0o700)
        const guard = yield* guardOf(started.pid)
        if (withGuard) process.kill(guard.pid, "SIGSTOP")
        yield* kill(started.pid, ...(withGuard ? [guard.pid] : []))
        yield* started.exit
        yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
        assert.strictEqual(existsSync(directory), withGuard)
        if (withGuard) yield* stale
        assert.isFalse(existsSync(directory))
      }
    }))

  it.scopedLive("is one for all trees of a host, hears no signal, and stands in no tree", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const started = yield* host(mark, { trees: 4 })
      yield* started.says("ready")
      const guard = yield* guardOf(started.pid)
      assert.strictEqual((yield* guardsOf(started.pid)).length, 1)
      const environment = readFileSync(`/proc/${guard.pid}/environ`, "latin1")
      assert.notInclude(environment, "EFFECT_AGENTS_TREE")
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.kill(guard.pid, signal)
      yield* started.signal("SIGTERM")
      yield* started.exit
      yield* gone(mark)
      yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
    }))

  it.scopedLive("is small", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const started = yield* host(mark)
      yield* started.says("ready")
      const guard = yield* guardOf(started.pid)
      const rollup = readFileSync(`/proc/${guard.pid}/smaps_rollup`, "utf8")
      const privateKb = Number(/^Private_Dirty:\s+(\d+)/m.exec(rollup)?.[1])
      assert.isAbove(privateKb, 0)
      assert.isBelow(privateKb, 12 * 1024)
    }))

  it.scopedLive("is replaced when it dies, which the report tells; the new one does its work", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const started = yield* host(mark)
      yield* started.says("ready")
      const first = yield* guardOf(started.pid)
      yield* kill(first.pid)
      const second = yield* waitUntil(
        "another guard",
        Effect.map(guardsOf(started.pid), ([guard]) => guard !== undefined && guard.pid !== first.pid)
      ).pipe(Effect.zipRight(guardOf(started.pid)))
      assert.notStrictEqual(second.pid, first.pid)
      yield* kill(started.pid)
      yield* gone(mark)
    }))

  it.scopedLive("tells of itself in every report, and of its death", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const end = Effect.scoped(
        Effect.flatMap(ProcessTree.start(sh("sleep $1", seconds(mark))), (tree) => tree.teardown)
      )
      const before = yield* end
      assert.include(before.layers, "guard")
      const guard = yield* guardOf(process.pid)
      yield* kill(guard.pid)
      yield* waitUntil("its end", Effect.map(guardsOf(process.pid), ([next]) => next?.pid !== guard.pid))
      const after = yield* end
      assert.include(after.layers, "guard")
      assert.match(
        after.notes.join(),
        /^the guard of this host died \(times: 1, at last of SIGKILL\) and was replaced$/
      )
    }).pipe(Effect.provide(NodeProcessTree.layerWith({ teardown: Teardown.immediate }))))

  it.scopedLive("can be done without, which the layers tell", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const tree = yield* ProcessTree.start(sh("sleep $1", seconds(mark)))
      assert.notInclude((yield* tree.teardown).layers, "guard")
      const required = yield* Effect.either(Containment.require("guard"))
      assert.isTrue(Either.isLeft(required) && /switched off/.test(required.left.why))
    }).pipe(Effect.provide(NodeProcessTree.layerWith({ guard: false, teardown: Teardown.immediate }))))
})

describe("what hosts leave behind that were killed with their guard", () => {
  /** A host whose guard dies with it, in one moment. */
  const orphans = (mark: string) =>
    Effect.gen(function*() {
      const started = yield* host(mark)
      yield* started.says("ready")
      const guard = yield* guardOf(started.pid)
      const ledger = yield* ledgerOf(started.pid)
      assert.strictEqual(statSync(ledger).mode & 0o777, 0o600)
      // Stopped first, so that neither can see the other end.
      process.kill(guard.pid, "SIGSTOP")
      yield* kill(started.pid, guard.pid)
      yield* started.exit
      yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
      assert.isAtLeast((yield* aliveWith(mark)).length, kinds)
      return { pid: started.pid, ledger }
    })

  it.scopedLive("is ended by the next sweep, and only once", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const dead = yield* orphans(mark)
      const both = yield* Effect.all([stale, stale], { concurrency: 2 })
      const reports = both.flat().filter(({ pid }) => pid === dead.pid)
      assert.strictEqual(reports.length, 1)
      const [report] = reports
      assert.strictEqual(report?.reason, "host-died")
      assert.strictEqual(report?.verified, "empty")
      assert.isAtLeast(report?.killed.length ?? 0, kinds)
      yield* expectGone(mark)
      assert.isFalse(existsSync(dead.ledger))
    }))

  it.scopedLive("is ended when a layer is built, unless told otherwise", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      yield* orphans(mark)
      yield* Effect.scoped(
        Effect.provide(ProcessTree.start(Command.make("true")), NodeProcessTree.layerWith({ sweepStale: false }))
      )
      assert.isAtLeast((yield* aliveWith(mark)).length, kinds)
      yield* gone(mark).pipe(Effect.provide(NodeProcessTree.layer))
    }))

  it.scopedLive("is left alone while the host or its guard lives", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const started = yield* host(mark)
      yield* started.says("ready")
      yield* ledgerOf(started.pid)
      assert.deepStrictEqual((yield* stale).filter(({ pid }) => pid === started.pid), [])
      yield* waitForSleepers(mark, kinds)
    }))

  it.scopedLive("is never what another host has started since, whose thread has the same id", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const started = yield* host(mark)
      yield* started.says("ready")
      const file = yield* ledgerOf(started.pid)
      const own = Ledger.parse(readFileSync(file, "utf8"))
      assert.isDefined(own?.rlimit)
      if (own === undefined) return
      // A host of before, with the same thread id and so with the same limits, left word and nobody.
      const dead = {
        ...own,
        id: "cd".repeat(12),
        host: { ...own.host, startTime: own.host.startTime - 1 },
        guard: undefined,
        cgroup: undefined,
        scratch: undefined
      }
      Ledger.write(Ledger.fileOf(Ledger.directory(process.env) ?? "", dead.id), dead)
      const reports = (yield* stale).filter(({ pid }) => pid === dead.host.pid)
      assert.deepStrictEqual(reports.map(({ killed, verified }) => [killed.length, verified]), [[0, "empty"]])
      yield* waitForSleepers(mark, kinds)
    }))

  it.scopedLive("a word that nobody can read is set aside, never acted on", () =>
    Effect.gen(function*() {
      const directory = Ledger.directory(process.env) ?? ""
      mkdirSync(directory, { recursive: true })
      const file = join(directory, "0123456789abcdef01234567.json")
      writeFileSync(file, "{\"version\":1,\"host\":{\"pid\":1")
      yield* stale
      assert.isFalse(existsSync(file))
      assert.isTrue(existsSync(`${file}.corrupt`))
    }))
})

describe("the directory for temporary files", () => {
  it.scopedLive("is emptied only if it is one, and this user's", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      mkdirSync(join(directory, "target"))
      writeFileSync(join(directory, "target", "file"), "")
      symlinkSync(join(directory, "target"), join(directory, "link"))
      scratch.remove(join(directory, "link"))
      scratch.remove(join(directory, "nothing"))
      assert.isTrue(existsSync(join(directory, "target", "file")))
      scratch.remove(join(directory, "target"))
      assert.isFalse(existsSync(join(directory, "target")))
    }))
})

describe("a ledger", () => {
  const here = Ledger.place()
  const ledger: Ledger.Ledger = {
    version: 1,
    ...here,
    host: { pid: 4_000_000, startTime: 1 },
    guard: undefined,
    id: "ab".repeat(12),
    rlimit: { from: "1", to: "2", thread: 3 },
    cgroup: `/sys/fs/cgroup/effect-agents-${"ab".repeat(12)}`,
    scratch: `/tmp/ea-${"ab".repeat(6)}`
  }
  const by = { pid: 5, startTime: 6 }
  const nobody = () => false

  it.scopedLive("says the same when it is read, and goes to one taker", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const file = Ledger.fileOf(directory, ledger.id)
      assert.isTrue(Ledger.write(file, ledger))
      assert.deepStrictEqual(Ledger.parse(readFileSync(file, "utf8")), ledger)
      // Those that were written before there was more to say are read too.
      const { cgroup: _, scratch: __, ...older } = ledger
      assert.deepInclude(Ledger.parse(JSON.stringify(older)), older)
      const taken = Ledger.claim(directory, by, nobody)
      assert.deepStrictEqual(taken.map(({ _tag }) => _tag), ["Ledger"])
      assert.deepStrictEqual(Ledger.claim(directory, by, ({ pid }) => pid === by.pid), [])
      // Whoever took it has died since.
      assert.strictEqual(Ledger.claim(directory, { pid: 7, startTime: 8 }, nobody).length, 1)
    }))

  it("names no directory but those that bear the name of its host", () => {
    const says = (more: Partial<Ledger.Ledger>) => Ledger.parse(JSON.stringify({ ...ledger, ...more }))
    for (const name of ["/sys/fs/cgroup", "effect-agents-" + ledger.id, `/x/effect-agents-${"cd".repeat(12)}`]) {
      assert.isUndefined(says({ cgroup: name }))
    }
    for (const name of ["/", "/home", `ea-${"ab".repeat(6)}`, `${ledger.scratch}/..`]) {
      assert.isUndefined(says({ scratch: name }))
    }
  })

  it.scopedLive("of another boot is forgotten, one of another pid namespace is not ours", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const file = Ledger.fileOf(directory, ledger.id)
      Ledger.write(file, { ...ledger, namespace: "pid:[1]" })
      assert.deepStrictEqual(Ledger.claim(directory, by, nobody), [])
      assert.isTrue(existsSync(file))
      Ledger.write(file, { ...ledger, boot: "another" })
      assert.deepStrictEqual(Ledger.claim(directory, by, nobody), [])
      assert.deepStrictEqual(readdirSync(directory), [])
    }))

  it.scopedLive("that cannot be written is done without", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      writeFileSync(join(directory, "file"), "")
      assert.isFalse(Ledger.write(join(directory, "file", "x.json"), ledger))
      assert.isUndefined(Ledger.directory({}))
      assert.isUndefined(Ledger.directory({ HOME: "relative" }))
    }))
})
