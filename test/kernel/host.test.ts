/**
 * What only a host of its own can show: its end in the middle of things, signals that it handles itself, a tree inside a
 * tree, a process of another user. The ordinary ends are those of `test/conformance/host.test.ts`.
 */
import * as Command from "@effect/platform/Command"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { chmodSync, copyFileSync } from "node:fs"
import { join } from "node:path"
import { aliveWith, expectGone, isAlive, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import type { Input } from "./hostProgram.js"
import { commandLine, host, inNamespace, isRoot, missingNamespace, reportsOf, root } from "./hosts.js"
import { adversary, brief, locksLimit, seconds } from "./support.js"

/** Deaf, and in three sessions. */
const stubborn = "trap '' TERM INT HUP; setsid sleep $1 & (env -i setsid sleep $2 &); while :; do sleep $3; done"

const stubbornInput = (mark: string, input: Omit<Input, "script" | "args" | "sleepers">): Input => ({
  ...input,
  script: stubborn,
  args: [seconds(mark, 1), seconds(mark, 2), seconds(mark, 3)],
  sleepers: [mark, 3 * (input.trees ?? 1)]
})

describe("a host", () => {
  it.scopedLive("that exits in the midst of twenty trees takes them along", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const child = yield* host(stubbornInput(mark, { mode: "exit", trees: 20, graceMs: 60_000 }))
      assert.deepStrictEqual(yield* child.exit, { code: 3, signal: null }, yield* child.output)
      yield* expectGone(mark)
    }))

  it.scopedLive("that exits in the middle of a teardown ends it", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const child = yield* host(stubbornInput(mark, { mode: "exitMidway", trees: 2, graceMs: 60_000 }))
      assert.deepStrictEqual(yield* child.exit, { code: 3, signal: null }, yield* child.output)
      yield* expectGone(mark)
    }))

  it.scopedLive("under runMain: a second signal of another name skips the grace of all trees", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const child = yield* host(
        stubbornInput(mark, { mode: "wait", trees: 2, graceMs: 60_000, underRunMain: true })
      )
      yield* child.says("ready")
      yield* child.signal("SIGINT")
      yield* Effect.sleep("300 millis")
      assert.isAbove((yield* aliveWith(mark)).length, 0, "the grace is running")
      const before = yield* Clock.currentTimeMillis
      yield* child.signal("SIGTERM")
      yield* child.exit
      assert.isBelow((yield* Clock.currentTimeMillis) - before, 20_000)
      yield* expectGone(mark)
    }))

  it.scopedLive("without a listener dies of the signal, and leaves nothing", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const child = yield* host(stubbornInput(mark, { mode: "wait", graceMs: 60_000 }))
      yield* child.says("ready")
      yield* child.signal("SIGHUP")
      assert.deepStrictEqual(yield* child.exit, { code: null, signal: "SIGHUP" })
      yield* expectGone(mark)
    }))

  it.scopedLive("that handles a signal itself is never ended by it; one more during a teardown skips its grace", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const child = yield* host(stubbornInput(mark, { mode: "ownListener", graceMs: 60_000 }))
      yield* child.says("ready")
      yield* child.signal("SIGINT")
      yield* Effect.sleep("200 millis")
      const first = yield* aliveWith(mark)
      assert.isAbove(first.length, 0, "the grace is running")
      yield* child.signal("SIGINT")
      yield* child.says("still here after 2")
      // The second tree, with the same mark, may be there already.
      assert.deepStrictEqual(yield* Effect.forEach(first, isAlive), first.map(() => false))
      yield* child.says("second tree")
      // One more ends the second tree, and another its grace: the host is still there after seven.
      for (let count = 3; count <= 7; count++) {
        yield* child.signal("SIGINT")
        yield* child.says(`signal ${count}`)
        yield* Effect.sleep("100 millis")
      }
      assert.deepStrictEqual(yield* child.exit, { code: 9, signal: null }, yield* child.output)
      yield* expectGone(mark)
    }))

  it.scopedLive("whose trees have ended is not kept from ending", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const child = yield* host(stubbornInput(mark, { mode: "done", trees: 3, graceMs: 10 }))
      assert.deepStrictEqual(yield* child.exit, { code: 0, signal: null }, yield* child.output)
      yield* expectGone(mark)
    }))
})

describe("a tree inside a tree", () => {
  it.scopedLive("is ended by its own host alone or with the outer one, and marked inside the outer mark", () =>
    Effect.gen(function*() {
      const outside = yield* makeMark
      const inside = yield* makeMark
      yield* Effect.scoped(Effect.gen(function*() {
        const spawn = (command: Command.Command) => ProcessTree.start(command, { teardown: brief })
        const [node, ...args] = yield* commandLine({
          ...stubbornInput(inside, { mode: "inner", trees: 2, graceMs: 100 })
        })
        const shell = `setsid sleep "$1" & shift; exec "$@"`
        const outer = yield* spawn(
          Command.make("sh", "-c", shell, "sh", seconds(outside), node, ...args).pipe(Command.workingDirectory(root))
        )
        let printed = ""
        yield* Effect.forkScoped(Stream.runForEach(Stream.decodeText(outer.stdout), (said) =>
          Effect.sync(() => {
            printed += said
          })))
        yield* waitUntil("the inner host is ready", Effect.sync(() => printed.includes("ready")), {
          deadline: "20 seconds"
        })
        const [sleeper] = yield* waitForSleepers(outside, 1)
        const inner = yield* waitForSleepers(inside, 6)
        if (sleeper === undefined) return assert.fail("nobody sleeps outside")

        const own = BigInt(locksLimit(sleeper.pid))
        const values = new Set(inner.map(({ pid }) => BigInt(locksLimit(pid))))
        assert.strictEqual(values.size, 2, "each inner tree has a value of its own")
        for (const value of values) {
          assert.isTrue(value < own && value >= own - (2n ** 31n - 1n), "within the range of the outer tree")
        }
        assert.includeMembers((yield* outer.members).map(({ pid }) => pid), inner.map(({ pid }) => pid))

        // The inner host ends one of its trees: the other one and all outside are none of its business.
        yield* Stream.run(Stream.make(new TextEncoder().encode("go\n")), outer.stdin)
        yield* waitUntil("the inner report", Effect.sync(() => printed.includes("report ")), { deadline: "20 seconds" })
        assert.strictEqual(reportsOf(printed)[0]?.verified, "empty")
        assert.strictEqual((yield* aliveWith(inside)).filter(({ command }) => command.startsWith("sleep")).length, 3)
        assert.isTrue(yield* isAlive(sleeper))
        assert.isTrue(yield* outer.isRunning)

        const report = yield* outer.teardown
        assert.strictEqual(report.verified, "empty", String(report))
      })).pipe(Effect.provide(NodeProcessTree.layer))
      yield* expectGone(outside)
      yield* expectGone(inside)
    }))
})

const missing = !isRoot ? "needs root" : adversary.missing

describe("a process that became another user", () => {
  if (missing !== undefined) {
    it(`cannot be made here: ${missing}`, () => assert.isString(missing))
    return
  }

  it.scopedLive("is named as a survivor, with a warning; the rest is ended, without waiting for the grace", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const folder = yield* TempDir.make
      const setUid = join(folder, "other-user")
      copyFileSync(adversary.program, setUid)
      chmodSync(setUid, 0o4755)
      chmodSync(folder, 0o755)
      const line = yield* commandLine({
        mode: "report",
        script: "setsid sleep $2 & \"$1\" - user \"$2\" & wait",
        args: [setUid, seconds(mark)],
        graceMs: 20_000,
        sleepers: [mark, 1]
      })
      const before = yield* Clock.currentTimeMillis
      const printed = yield* Command.make("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", ...line)
        .pipe(
          Command.workingDirectory(root),
          Command.env({ HOME: folder, TSX_DISABLE_CACHE: "1" }),
          Command.string,
          Effect.provide(NodeContext.layer)
        )
      const [report] = reportsOf(printed)
      if (report === undefined) return assert.fail(printed)
      assert.strictEqual(report.verified, "survivors", printed)
      assert.deepStrictEqual(report.survivors.map(({ command, why }) => `${command} ${why}`), [
        "other-user not-permitted"
      ])
      assert.isBelow((yield* Clock.currentTimeMillis) - before, 20_000)
      assert.include(printed, "process tree not empty")
      const left = yield* aliveWith(mark)
      assert.deepStrictEqual(left.map(({ pid }) => pid), report.survivors.map(({ pid }) => pid))
    }))
})

const noNamespace = adversary.missing ?? missingNamespace

describe("those that are born again and again", () => {
  if (noNamespace !== undefined) {
    it(`cannot be let loose here: ${noNamespace}`, () => assert.isString(noNamespace))
    return
  }

  it.scopedLive("are ended each time, and never taken for ended before", () =>
    Effect.gen(function*() {
      const variants = ["runaway", "runaway-group", "runaway-session", "bare runaway-session"]
      const line = yield* commandLine({
        mode: "repeat",
        script: "exec \"$1\" - \"$2\" runaway",
        args: [adversary.program],
        variants,
        trees: 5,
        graceMs: 20
      })
      const printed = yield* Command.string(inNamespace(line)).pipe(Effect.provide(NodeContext.layer))
      const reports = reportsOf(printed)
      assert.strictEqual(reports.length, 5 * variants.length, printed)
      const others = [...printed.matchAll(/^others (\d+)$/gm)].map(([, count]) => Number(count))
      reports.forEach((report, index) => {
        assert.strictEqual(report.verified, "empty", String(report))
        assert.isAbove(report.killed.length, 0, "it was there")
        assert.strictEqual(others[index], 0, `${report}, but somebody is there`)
      })
    }))
})
