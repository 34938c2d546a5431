/**
 * Who holds a named session: what a host that was killed has left is taken over, and by one only.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as SessionStore from "effect-agents/SessionStore"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as TempDir from "../utils/TempDir.js"
import { inFiles, key, stem, store } from "./support.js"

const startTimeOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19])
}

/** A process of somebody else, who is no host. */
const bystander = Effect.acquireRelease(
  Effect.sync(() => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" })
    return { pid: child.pid ?? 0, startTime: startTimeOf(child.pid ?? 0), child }
  }),
  ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
)

/** Somebody who was there and has ended. */
const dead = Effect.sync(() => spawnSync("true").pid)

const self = Effect.flatMap(ProcessTree.Spawner, (spawner) => spawner.owner).pipe(
  Effect.provide(NodeProcessTree.layerWith({ sweepStale: false }))
)

/** Lets somebody hold the session of `key`, as the files tell it. */
const plant = (directory: string, owner: Partial<ProcessTree.Owner>, name = "1") =>
  Effect.map(self, (own) => {
    const held = `${stem(directory)}.lease`
    mkdirSync(held, { recursive: true })
    const file = join(held, name)
    writeFileSync(file, JSON.stringify({ owner: { ...own, id: "0".repeat(24), ...owner }, since: 1000 }))
    return file
  })

const holders = (directory: string) => {
  const held = `${stem(directory)}.lease`
  return existsSync(held) ? readdirSync(held) : []
}

const tryOnce = (directory: string) =>
  Effect.flatMap(store, ({ lease }) => Effect.scoped(Effect.either(lease(key, "claude")))).pipe(
    Effect.provide(inFiles(directory))
  )

describe("a lease", () => {
  it.scopedLive("of a process that lives is left to it, and says whose it is", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const { pid, startTime } = yield* bystander
      const file = yield* plant(directory, { pid, startTime })
      const left = yield* Effect.flip(yield* tryOnce(directory))
      assert.isTrue(left._tag === "AgentSessionBusy" && left.pid === pid && left.since === 1000)
      assert.include(left.message, `process ${pid} since 1970-01-01T00:00:01.000Z`)
      assert.deepStrictEqual(holders(directory), ["1"])
      assert.include(readFileSync(file, "utf8"), String(pid))
    }))

  it.scopedLive("goes on when its process has ended", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* plant(directory, { pid: yield* dead, startTime: 1 })
      yield* yield* tryOnce(directory)
      assert.deepStrictEqual(holders(directory), [])
    }))

  it.scopedLive("goes on when its number is another process by now", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const { pid, startTime } = yield* bystander
      yield* plant(directory, { pid, startTime: startTime - 1 })
      yield* yield* tryOnce(directory)
      // This very process, which is none of those who hold it.
      yield* plant(directory, { pid: process.pid, startTime: startTimeOf(process.pid) - 1 })
      yield* yield* tryOnce(directory)
    }))

  it.scopedLive("goes on when the machine was started again", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const { pid, startTime } = yield* bystander
      yield* plant(directory, { pid, startTime, boot: "an earlier one" })
      yield* yield* tryOnce(directory)
    }))

  it.scopedLive("of another container or machine is left to it, and says how to end it", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      for (const elsewhere of [{ namespace: "pid:[1] since 1" }, { boot: "b", machine: "far-away" }]) {
        const file = yield* plant(directory, { pid: yield* dead, startTime: 1, ...elsewhere })
        const left = yield* Effect.flip(yield* tryOnce(directory))
        assert.strictEqual(left._tag, "AgentSessionBusy")
        assert.include(left.message, `if it is gone, remove ${file}`)
        rmSync(file)
        yield* yield* tryOnce(directory)
      }
    }))

  /** One of a host that was killed, whose guard, a bystander, has not done its work yet. */
  const guarded = Effect.fnUntraced(function*(directory: string) {
    const id = "b".repeat(24)
    const ledger = join(process.env["XDG_STATE_HOME"] ?? "", "effect-agents", "hosts", `${id}.json`)
    mkdirSync(join(ledger, ".."), { recursive: true })
    const { namespace, boot } = yield* self
    const { pid, startTime } = yield* bystander
    writeFileSync(
      ledger,
      JSON.stringify({
        version: 1,
        boot,
        namespace,
        host: { pid: 1 << 23, startTime: 1 },
        guard: { pid, startTime },
        id
      })
    )
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(ledger, { force: true })))
    yield* plant(directory, { pid: yield* dead, startTime: 1, id })
    return ledger
  })

  it.scopedLive("of a host that was killed goes on only when its processes have ended", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const ledger = yield* guarded(directory)
      const began = yield* Clock.currentTimeMillis
      // The guard of a host removes this file when it has done its work.
      const removed = yield* Effect.fork(
        Effect.zipRight(Effect.sleep(300), Effect.sync(() => rmSync(ledger))).pipe(
          Effect.zipRight(Clock.currentTimeMillis)
        )
      )
      yield* yield* tryOnce(directory)
      const ended = yield* removed
      assert.isAtLeast(ended - began, 300)
      assert.isAtLeast(yield* Clock.currentTimeMillis, ended)
    }))

  it.scopedLive("of processes that do not end is refused in time, also where nothing can be interrupted", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* guarded(directory)
      const tried = yield* Effect.forkDaemon(Effect.uninterruptible(tryOnce(directory)))
      const left = yield* Effect.timeoutFail(Fiber.join(tried), { duration: "30 seconds", onTimeout: () => "stuck" })
      assert.strictEqual((yield* Effect.flip(left))._tag, "AgentSessionBusy")
    }))

  it.scopedLive("that says nothing is an error that names its file", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const file = yield* plant(directory, {})
      writeFileSync(file, "{\"owner\":")
      const left = yield* Effect.flip(yield* tryOnce(directory))
      assert.isTrue(left._tag === "AgentSessionStoreError" && left.reason === "corrupt" && left.file === file)
    }))

  it.scopedLive("is released by interruption, in the middle of taking it as well", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* Effect.gen(function*() {
        const { lease } = yield* store
        for (let pause = 0; pause < 20; pause++) {
          yield* Effect.scoped(Effect.zipRight(lease(key, "claude"), Effect.never)).pipe(
            Effect.timeoutOption(pause / 2)
          )
          assert.deepStrictEqual(holders(directory), [])
        }
        yield* Effect.scoped(lease(key, "claude"))
      }).pipe(Effect.provide(inFiles(directory)))
    }))

  it.scopedLive("is not taken by one who found it stale long ago", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const fs = yield* FileSystem.FileSystem
      const reached = yield* Effect.makeLatch(false)
      const goOn = yield* Effect.makeLatch(false)
      const slow = yield* SessionStore.make({ directory }).pipe(
        Effect.provideService(FileSystem.FileSystem, {
          ...fs,
          link: (from, to) => Effect.zipRight(reached.open, Effect.zipRight(goOn.await, fs.link(from, to)))
        })
      )
      const quick = yield* SessionStore.make({ directory })
      yield* plant(directory, { pid: yield* dead, startTime: 1 })
      const late = yield* Effect.fork(Effect.scoped(Effect.flip(slow.lease(key, "claude"))))
      yield* reached.await
      // One takes it over and is done, the next one begins from the first number.
      yield* Effect.scoped(quick.lease(key, "claude"))
      yield* quick.lease(key, "claude")
      assert.deepStrictEqual(holders(directory).filter((name) => !name.endsWith(".tmp")), ["1"])
      yield* goOn.open
      assert.strictEqual((yield* Fiber.join(late))._tag, "AgentSessionBusy")
      assert.deepStrictEqual(holders(directory), ["1"])
    }).pipe(Effect.provide(NodeProcessTree.layerWith({ sweepStale: false }))))

  it.scopedLive("goes to one of many who find it stale at once", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* Effect.gen(function*() {
        const { lease } = yield* store
        for (let round = 0; round < 20; round++) {
          yield* plant(directory, { pid: yield* dead, startTime: 1 }, String(1 + round % 3))
          const tries = yield* Effect.all(
            Array.from({ length: 8 }, () => Effect.either(lease(key, "claude"))),
            { concurrency: "unbounded" }
          ).pipe(Effect.scoped)
          assert.strictEqual(tries.filter(Either.isRight).length, 1)
        }
      }).pipe(Effect.provide(inFiles(directory)))
    }))

  // Between two steps of one host there can be the whole life of another: the file system answers late, at random, and
  // hosts are killed anywhere, also in the middle of taking the lease.
  it.scopedLive("is never held by two, whoever comes, goes and dies between their looks", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const fs = yield* FileSystem.FileSystem
      const spawner = yield* ProcessTree.Spawner
      const own = yield* spawner.owner
      const living = new Set<number>()
      let pids = 0
      const holding = new Set<number>()
      let most = 0
      let taken = 0
      let killed = 0

      /** A host of its own: when it is killed, nothing that it does comes to its end. */
      const host = Effect.gen(function*() {
        const pid = ++pids
        living.add(pid)
        const slow = <A, E>(operation: Effect.Effect<A, E>) =>
          Effect.sleep(Math.random() * 4).pipe(
            Effect.zipRight(Effect.suspend(() => living.has(pid) ? operation : Effect.never))
          )
        const store = yield* SessionStore.make({ directory }).pipe(
          Effect.provideService(FileSystem.FileSystem, {
            ...fs,
            link: (from, to) => slow(fs.link(from, to)),
            readDirectory: (path) => slow(fs.readDirectory(path)),
            readFileString: (path) => slow(fs.readFileString(path)),
            remove: (path) => slow(fs.remove(path))
          }),
          Effect.provideService(ProcessTree.Spawner, {
            ...spawner,
            owner: Effect.succeed({ ...own, pid }),
            isAlive: (owner) => Effect.sync(() => living.has(owner.pid))
          })
        )
        const work = Effect.gen(function*() {
          yield* store.lease(key, "claude")
          taken++
          holding.add(pid)
          most = Math.max(most, holding.size)
          yield* Effect.sleep(Math.random() * 4)
          holding.delete(pid)
        }).pipe(Effect.scoped, Effect.catchTag("AgentSessionBusy", () => Effect.sleep(Math.random() * 4)))
        const kill = Effect.sync(() => {
          killed++
          living.delete(pid)
          holding.delete(pid)
        })
        const life = yield* Effect.forkDaemon(Effect.repeatN(work, 14))
        yield* Effect.raceFirst(
          Fiber.join(life),
          Effect.zipRight(Effect.sleep(100 + Math.random() * 1500), kill)
        )
      })
      yield* Effect.all(Array.from({ length: 5 }, () => Effect.repeatN(host, 5)), { concurrency: "unbounded" })
      assert.strictEqual(most, 1)
      assert.isAbove(killed, 0)
      assert.isAbove(taken, 20)
      living.clear()
      yield* yield* tryOnce(directory)
    }).pipe(Effect.provide(NodeProcessTree.layerWith({ sweepStale: false }))), 60_000)
})
