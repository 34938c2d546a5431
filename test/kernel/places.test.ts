/**
 * Where a host can be: in a thread, a forked process, the first process of a container, inside another host. In each of
 * them the guard is there, is one for the host, and ends what is its own and nothing else.
 */
import * as Command from "@effect/platform/Command"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as TempDir from "../utils/TempDir.js"
import {
  aliveWith,
  expectGone,
  isAlive,
  makeMark,
  type Seen,
  sleepers,
  waitForSleepers,
  waitUntil
} from "../utils/Processes.js"
import { asFirst, commandLine, host, missingNamespace, reportsOf } from "./hosts.js"
import { seconds } from "./support.js"

const limit = { timeout: 60_000 }

const guardsOf = (pid: number): Effect.Effect<ReadonlyArray<Seen>> =>
  Effect.map(aliveWith("guardMain.js"), (seen) => seen.filter(({ parent }) => parent === pid))

const guards = (pid: number, count: number) =>
  waitUntil(`${count} guards of ${pid}`, Effect.map(guardsOf(pid), (seen) => seen.length === count)).pipe(
    Effect.zipRight(guardsOf(pid))
  )

const allDead = (seen: ReadonlyArray<Seen>) =>
  waitUntil("the end of the guards", Effect.map(Effect.forEach(seen, isAlive), (alive) => !alive.includes(true)))

const gone = (mark: string) =>
  waitUntil("the end of all", Effect.map(aliveWith(mark), (left) => left.length === 0)).pipe(
    Effect.zipRight(expectGone(mark))
  )

/** A host and another one beside it, each with one tree of two. */
const pair = (how: "worker" | "fork", seal: ProcessTree.Seal = "none") =>
  Effect.gen(function*() {
    const own = yield* makeMark
    const others = yield* makeMark
    const ended = yield* Deferred.make<void>()
    const program = fileURLToPath(new URL("./threadHost.mjs", import.meta.url))
    const file = join(yield* TempDir.make, "input.json")
    writeFileSync(file, JSON.stringify({ own: seconds(own), others: seconds(others), seal }))
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const started = spawn(process.execPath, [program, how, file], {
          stdio: ["pipe", "inherit", "inherit"]
        })
        started.on("exit", () => Deferred.unsafeDone(ended, Effect.void))
        return started
      }),
      (started) => Effect.sync(() => started.kill("SIGKILL"))
    )
    yield* waitForSleepers(own, 1)
    yield* waitForSleepers(others, 1)
    return {
      own,
      others,
      file,
      pid: child.pid ?? 0,
      order: (line: string) => Effect.sync(() => child.stdin.write(`${line}\n`)),
      kill: Effect.sync(() => child.kill("SIGKILL")),
      ended: Deferred.await(ended)
    }
  })

/** Why there is no such seal here. */
const missingSeal = (seal: ProcessTree.Seal) =>
  ProcessTree.start(Command.make("true"), { seal }).pipe(
    Effect.scoped,
    Effect.match({ onFailure: ({ message }) => message, onSuccess: () => undefined }),
    Effect.provide(NodeProcessTree.layerWith({ sweepStale: false }))
  )

describe.each(["none", "namespace", "cgroup"] as const)("a host in a thread, seal: %s", limit, (seal) => {
  it.scopedLive("leaves nothing when the thread is ended, and all others alone", () =>
    Effect.gen(function*() {
      const missing = yield* missingSeal(seal)
      if (missing !== undefined) return yield* Console.log(`skipped: ${missing}`)
      const { ended, order, others, own, pid } = yield* pair("worker", seal)
      const both = yield* guards(pid, 2)
      yield* order("terminate")
      yield* gone(others)
      yield* guards(pid, 1)
      assert.strictEqual((yield* sleepers(own)).length, 1, "the tree of the first thread goes on")
      yield* order("end")
      yield* ended
      yield* gone(own)
      yield* allDead(both)
    }))

  it.scopedLive("leaves nothing when the process is killed, whichever thread had started it", () =>
    Effect.gen(function*() {
      const missing = yield* missingSeal(seal)
      if (missing !== undefined) return yield* Console.log(`skipped: ${missing}`)
      const { kill, others, own, pid } = yield* pair("worker", seal)
      const both = yield* guards(pid, 2)
      yield* kill
      yield* gone(own)
      yield* gone(others)
      yield* allDead(both)
    }))
})

describe("a host that was forked", limit, () => {
  it.scopedLive("leaves nothing when it is killed, and its parent alone", () =>
    Effect.gen(function*() {
      const { ended, order, others, own, pid } = yield* pair("fork")
      yield* guards(pid, 1)
      yield* order("kill")
      yield* gone(others)
      assert.strictEqual((yield* sleepers(own)).length, 1, "the tree of the parent goes on")
      yield* order("end")
      yield* ended
      yield* gone(own)
    }))

  it.scopedLive("outlives its parent, and so do its trees", () =>
    Effect.gen(function*() {
      const { file, kill, others, own, pid } = yield* pair("fork")
      const [forked] = (yield* aliveWith(file)).filter(({ parent }) => parent === pid)
      if (forked === undefined) return assert.fail("no forked host")
      yield* kill
      yield* gone(own)
      assert.isTrue(yield* isAlive(forked))
      assert.strictEqual((yield* sleepers(others)).length, 1)
      process.kill(forked.pid, "SIGKILL")
      yield* gone(others)
    }))
})

describe("a host inside another one", limit, () => {
  it.scopedLive("goes with it when that is killed, its guard and its trees too", () =>
    Effect.gen(function*() {
      const outside = yield* makeMark
      const inside = yield* makeMark
      const line = yield* commandLine({
        mode: "wait",
        script: "setsid sleep $1 & (env -i setsid sleep $1 &) ; wait",
        args: [seconds(inside)]
      })
      const outer = yield* host({
        mode: "wait",
        script: "setsid sleep $1 & shift; \"$@\"",
        args: [seconds(outside), ...line],
        sleepers: [outside, 1]
      })
      yield* outer.says("ready")
      yield* waitForSleepers(inside, 2)
      const [inner] = (yield* aliveWith(line[4])).filter(({ command }) => command.startsWith(process.execPath))
      if (inner === undefined) return assert.fail("no inner host")
      const all = [...yield* guards(outer.pid, 1), ...yield* guards(inner.pid, 1)]
      process.kill(outer.pid, "SIGKILL")
      yield* gone(outside)
      yield* gone(inside)
      yield* allDead([inner, ...all])
    }))

  it.scopedLive("ends alone when it is killed alone", () =>
    Effect.gen(function*() {
      const outside = yield* makeMark
      const inside = yield* makeMark
      const line = yield* commandLine({ mode: "wait", script: "setsid sleep $1 & wait", args: [seconds(inside)] })
      const outer = yield* host({
        mode: "wait",
        script: "setsid sleep $1 & shift; \"$@\" & wait",
        args: [seconds(outside), ...line],
        sleepers: [outside, 1]
      })
      yield* outer.says("ready")
      yield* waitForSleepers(inside, 1)
      const [inner] = (yield* aliveWith(line[4])).filter(({ command }) => command.startsWith(process.execPath))
      if (inner === undefined) return assert.fail("no inner host")
      process.kill(inner.pid, "SIGKILL")
      yield* gone(inside)
      assert.strictEqual((yield* sleepers(outside)).length, 1, "what is outside goes on")
      yield* outer.signal("SIGKILL")
      yield* gone(outside)
    }))
})

describe("a host that is the first process of a pid namespace", limit, () => {
  if (missingNamespace !== undefined) {
    it(`cannot be made here: ${missingNamespace}`, () => assert.isString(missingNamespace))
    return
  }

  it.scopedLive("ends its trees; that it does not bury their orphans is told by a warning", () =>
    Effect.gen(function*() {
      const line = yield* commandLine({
        mode: "report",
        script: "(setsid sleep 100 &) ; (setsid sh -c 'sleep 100 & sleep 100' &) ; echo here; wait; sleep 100",
        args: []
      })
      const printed = yield* Command.string(asFirst(line)).pipe(Effect.provide(NodeContext.layer))
      const [report] = reportsOf(printed)
      assert.strictEqual(report?.verified, "empty", printed)
      assert.isAtLeast(report?.killed.length ?? 0, 4)
      assert.include(report?.layers ?? [], "guard")
      assert.match(printed, /^warning .*this host is PID 1 and does not reap orphans/m)
    }))

  it.scopedLive("dies of a signal as any other host, which the kernel would keep from it", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const line = yield* commandLine({
        mode: "wait",
        script: "setsid sleep $1 & wait",
        args: [seconds(mark)],
        sleepers: [mark, 1]
      })
      const run = Command.exitCode(asFirst(line)).pipe(Effect.provide(NodeContext.layer))
      const fiber = yield* Effect.forkScoped(run)
      yield* waitForSleepers(mark, 1)
      const [first] = (yield* aliveWith(line[4])).filter(({ command }) => command.startsWith(process.execPath))
      if (first === undefined) return assert.fail("no host")
      process.kill(first.pid, "SIGTERM")
      assert.strictEqual(yield* fiber, 143)
      yield* gone(mark)
    }))
})
