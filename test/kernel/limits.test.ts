/**
 * What a tree uses, and what becomes of one that goes beyond its limits.
 */
import * as Command from "@effect/platform/Command"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { aliveWith, expectGone, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { commandLine, host, inNamespace, missingNamespace, reportsOf } from "./hosts.js"
import { expectEmpty, seconds, sh } from "./support.js"

const mib = 2 ** 20

const patient = Teardown.graceful("1 minute")

/** Runs until it is over, by itself or by its limits. */
const over = (command: Command.Command, options: ProcessTree.StartOptions) =>
  Effect.gen(function*() {
    const tree = yield* ProcessTree.start(command, { teardown: patient, ...options })
    return yield* tree.report.pipe(Effect.timeoutFail({
      duration: "20 seconds",
      onTimeout: () => "the limit is not kept"
    }))
  }).pipe(Effect.scoped, Effect.orDie)

const expectExceeded = (report: Teardown.TeardownReport, limit: Teardown.Limit, allowed: number, first: RegExp) => {
  expectEmpty(report)
  assert.strictEqual(report.reason, "limit")
  assert.deepStrictEqual(report.steps, [], "killed at once")
  const { exceeded, usage } = report
  if (exceeded === undefined || usage === undefined) return assert.fail(String(report))
  assert.strictEqual(exceeded.limit, limit)
  assert.strictEqual(exceeded.allowed, allowed)
  assert.isAbove(exceeded.measured, allowed)
  assert.match(exceeded.biggest[0]?.command ?? "", first, String(exceeded))
  assert.isAtMost(exceeded.biggest.length, 5)
}

describe("a limit of", { timeout: 60_000 }, () => {
  it.scopedLive("processes", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const report = yield* over(sh("while :; do sleep $1 & done", seconds(mark)), { limits: { processes: 100 } })
      expectExceeded(report, "processes", 100, /^(sleep|sh)$/)
      assert.isAtLeast(report.usage?.peakProcesses ?? 0, report.exceeded?.measured ?? 0)
      yield* expectGone(mark)
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("memoryBytes: of all together, what they share counted once", () =>
    Effect.gen(function*() {
      const hog = "const all = []; setInterval(() => all.push(Buffer.alloc(8 * 2 ** 20, 1)), 10)"
      const report = yield* over(
        sh("sleep 60 & \"$1\" -e \"$2\" & wait", process.execPath, hog),
        { limits: { memoryBytes: 300 * mib } }
      )
      expectExceeded(report, "memoryBytes", 300 * mib, /^node$/)
      assert.isAbove(report.exceeded?.biggest[0]?.value ?? 0, 250 * mib)
      assert.isAtLeast(report.usage?.peakMemoryBytes ?? 0, report.exceeded?.measured ?? 0)
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("cpuSeconds: of a busy loop", () =>
    Effect.gen(function*() {
      const report = yield* over(sh("sleep 60 & exec \"$1\" -e 'for (;;);'", process.execPath), {
        limits: { cpuSeconds: 0.5 }
      })
      expectExceeded(report, "cpuSeconds", 0.5, /^node$/)
      assert.isAtLeast(report.usage?.cpuSeconds ?? 0, report.exceeded?.measured ?? 0)
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("openFiles", () =>
    Effect.gen(function*() {
      const opens = "for (let i = 0; i < 500; i++) require('fs').openSync('/dev/null'); setTimeout(() => {}, 60000)"
      const report = yield* over(sh("sleep 60 & exec \"$1\" -e \"$2\"", process.execPath, opens), {
        limits: { openFiles: 400 }
      })
      expectExceeded(report, "openFiles", 400, /^node$/)
    }).pipe(Effect.provide(NodeProcessTree.layer)))
})

describe("limits", { timeout: 60_000 }, () => {
  it.scopedLive("within which a tree stays change nothing", () =>
    Effect.gen(function*() {
      const limits = { processes: 10, memoryBytes: 500 * mib, cpuSeconds: 5, openFiles: 100 }
      const tree = yield* ProcessTree.start(sh("sleep 0.6; exit 3"), { limits })
      assert.deepStrictEqual(yield* tree.exit, { code: 3, signal: null })
      const report = yield* tree.teardown
      assert.strictEqual(report.reason, "completed")
      assert.isUndefined(report.exceeded)
      assert.isAtLeast(report.usage?.peakProcesses ?? 0, 1)
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("that cannot be kept to are refused before anything is started", () =>
    Effect.gen(function*() {
      const folder = yield* TempDir.make
      const file = join(folder, "started")
      const wrong: ReadonlyArray<ProcessTree.Limits> = [
        { processes: 0 },
        { processes: 1.5 },
        { memoryBytes: -1 },
        { cpuSeconds: Number.NaN },
        { cpuSeconds: Number.POSITIVE_INFINITY },
        { openFiles: Number.POSITIVE_INFINITY }
      ]
      for (const limits of wrong) {
        const error = yield* Effect.flip(ProcessTree.start(sh("touch \"$1\"", file), { limits }))
        assert.strictEqual(error._tag, "BadArgument")
        assert.match(error.message, /limits: \w+ is \S+, and has to be a (whole )?number above 0/)
        const died = yield* Effect.exit(NodeProcessTree.make({ limits }))
        assert.isTrue(Exit.isFailure(died) && died.cause._tag === "Die", "nor is there a layer with them")
      }
      assert.isFalse(existsSync(file))
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("of the layer are those of every tree that has none of its own", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const fork = sh("for i in 1 2 3 4 5 6 7 8; do sleep $1 & done; wait", seconds(mark))
      expectExceeded(yield* over(fork, { limits: { cpuSeconds: 5 } }), "processes", 4, /^(sleep|sh)$/)
      const tree = yield* ProcessTree.start(fork, { limits: { processes: 100 }, teardown: Teardown.immediate })
      yield* Effect.sleep("600 millis")
      assert.isTrue(yield* tree.isRunning)
      assert.strictEqual((yield* tree.teardown).usage?.peakProcesses, 9)
      yield* expectGone(mark)
    }).pipe(Effect.provide(NodeProcessTree.layerWith({ limits: { processes: 4 } }))))

  it.scopedLive("hold during the grace too, which they end", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const deaf =
        "trap 'for i in 1 2 3 4 5 6 7 8 9; do setsid sleep $1 & done' TERM; sleep $1 & while :; do wait; done"
      const tree = yield* ProcessTree.start(sh(deaf, seconds(mark)), { limits: { processes: 5 }, teardown: patient })
      yield* waitForSleepers(mark, 1)
      const report = yield* tree.teardown
      expectEmpty(report)
      assert.strictEqual(report.reason, "completed")
      assert.strictEqual(report.exceeded?.limit, "processes")
      assert.isBelow(report.durationMs, 20_000)
      yield* expectGone(mark)
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("are kept though the host is busy: the tree stands still until it comes to it", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const script = "sleep 0.3; i=0; while [ $i -lt 300 ]; do i=$((i+1)); sleep $1 & done; wait"
      const tree = yield* ProcessTree.start(sh(script, seconds(mark)), { limits: { processes: 50 } })
      const states = yield* Effect.sync(() => {
        const cell = new Int32Array(new SharedArrayBuffer(4))
        const end = performance.now() + 10_000
        let seen: ReadonlyArray<string> = []
        while (performance.now() < end) {
          Atomics.wait(cell, 0, 0, 50)
          seen = Effect.runSync(aliveWith(mark)).map(({ state }) => state)
          if (seen.length > 50 && seen.every((state) => state === "T")) break
        }
        return new Set(seen)
      })
      assert.deepStrictEqual([...states], ["T"])
      expectExceeded(yield* tree.report, "processes", 50, /^(sleep|sh)$/)
      yield* expectGone(mark)
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("are kept by the next guard when one dies", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const folder = yield* TempDir.make
      const script = "sleep $1 & until [ -e \"$2\" ]; do sleep 0.05; done; while :; do sleep $1 & done"
      const tree = yield* ProcessTree.start(sh(script, seconds(mark), join(folder, "go")), {
        limits: { processes: 50 }
      })
      yield* waitForSleepers(mark, 1)
      const guards = () =>
        Effect.map(aliveWith("guardMain.js"), (all) => all.filter(({ parent }) => parent === process.pid))
      const [first] = yield* guards()
      if (first === undefined) return assert.fail("no guard")
      process.kill(first.pid, "SIGKILL")
      yield* waitUntil("another guard", Effect.map(guards(), ([next]) => next !== undefined && next.pid !== first.pid))
      spawnSync("touch", [join(folder, "go")])
      expectExceeded(yield* tree.report, "processes", 50, /^(sleep|sh)$/)
      yield* expectGone(mark)
    }).pipe(Effect.provide(NodeProcessTree.layer)))
})

describe("limits of a host of its own", { timeout: 60_000 }, () => {
  it.scopedLive("are kept without a guard", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const started = yield* host({
        mode: "limited",
        script: "while :; do sleep $1 & done",
        args: [seconds(mark)],
        limits: { processes: 100 },
        guard: false
      })
      yield* started.exit
      const [report] = reportsOf(yield* started.output)
      if (report === undefined) return assert.fail(yield* started.output)
      assert.notInclude(report.layers, "guard")
      expectExceeded(report, "processes", 100, /^(sleep|sh)$/)
      yield* expectGone(mark)
    }))

  if (missingNamespace !== undefined) {
    it(`a fork bomb cannot be let loose here: ${missingNamespace}`, () => assert.isString(missingNamespace))
    return
  }

  it.scopedLive("end a fork bomb, of which nothing is left", () =>
    Effect.gen(function*() {
      const line = yield* commandLine({
        mode: "limited",
        // It ends by itself at five hundred, whatever else fails.
        script: "bomb() { [ $1 -eq 0 ] || { bomb $(($1 - 1)) & bomb $(($1 - 1)) & }; wait; sleep 30; }; bomb 8",
        args: [],
        limits: { processes: 100 }
      })
      const printed = yield* Command.string(inNamespace(line)).pipe(Effect.provide(NodeContext.layer))
      const [report] = reportsOf(printed)
      if (report === undefined) return assert.fail(printed)
      expectExceeded(report, "processes", 100, /^sh$/)
      assert.match(printed, /^others 0$/m)
      yield* Console.log(
        `a fork bomb: seen at ${report.exceeded?.measured}, ${report.killed.length} ended, all within `
          + `${/^took (\d+)$/m.exec(printed)?.[1]} ms, of which the teardown ${report.durationMs}`
      )
    }))
})

/** Seconds of the processor, as the processes themselves tell when they have computed for so long. */
const burner = (ms: number) =>
  `while (process.cpuUsage().user < ${ms}e3); const { system, user } = process.cpuUsage(); console.log((system + user) / 1e6)`

describe("the usage of a tree", { timeout: 60_000 }, () => {
  const run = (command: Command.Command, options?: ProcessTree.StartOptions) =>
    Effect.gen(function*() {
      const tree = yield* ProcessTree.start(command, { usage: true, teardown: Teardown.immediate, ...options })
      const told = yield* tree.stdout.pipe(
        Stream.decodeText(),
        Stream.splitLines,
        Stream.takeUntil((line) => line === "done"),
        Stream.runCollect
      )
      const { usage } = yield* tree.teardown
      if (usage === undefined) return assert.fail("no usage")
      return { usage, told: [...told].filter((line) => line !== "done").reduce((sum, line) => sum + Number(line), 0) }
    }).pipe(Effect.scoped, Effect.provide(NodeProcessTree.layer))

  const computes = (what: string, script: string) =>
    it.scopedLive(`counts once what ${what} has computed`, () =>
      Effect.gen(function*() {
        const { told, usage } = yield* run(
          sh(`node=$1; burn=$2; ${script}; sleep 0.6; echo done; sleep 60`, process.execPath, burner(600))
        )
        assert.isAbove(told, 0.5)
        // Starting and ending are not in what they tell; what nobody waits for is known as of the last look.
        assert.isAtLeast(usage.cpuSeconds, told - 0.4)
        assert.isBelow(usage.cpuSeconds, told * 1.25 + 0.2)
      }))

  computes("a child that was waited for", "\"$node\" -e \"$burn\"")
  computes("a child whose parent has ended", "sh -c '\"$0\" -e \"$1\"; \"$0\" -e \"$1\"' \"$node\" \"$burn\"")
  computes("one that nobody of the tree waits for", "echo $( (setsid \"$node\" -e \"$burn\" &) )")
  computes(
    "one that is dead and that nobody waits for",
    "echo $( (sh -c '\"$0\" -e \"$1\" & exec sleep 60 >/dev/null' \"$node\" \"$burn\" &) )"
  )

  it.scopedLive("says how many there were at most, and what they had in memory", () =>
    Effect.gen(function*() {
      const holds = "const held = Buffer.alloc(200 * 2 ** 20, 1); setTimeout(() => console.log('done'), 700)"
      const { usage } = yield* run(sh("sleep 60 & sleep 60 & exec \"$1\" -e \"$2\"", process.execPath, holds))
      assert.strictEqual(usage.peakProcesses, 3)
      assert.isAbove(usage.peakMemoryBytes, 200 * mib)
      assert.isBelow(usage.peakMemoryBytes, 300 * mib)
    }))

  it.scopedLive("is absent where nobody asked for it, and where there was nobody to look at", () =>
    Effect.gen(function*() {
      const unasked = yield* Effect.scoped(Effect.flatMap(ProcessTree.start(sh("sleep 0.5")), (tree) => tree.teardown))
      assert.isUndefined(unasked.usage)
      const short = yield* Effect.scoped(Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh("exit 0"), { usage: true })
        yield* tree.exit
        return yield* tree.teardown
      }))
      assert.isUndefined(short.usage)
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  const cgroup = ProcessTree.start(Command.make("true"), { seal: "cgroup" }).pipe(
    Effect.scoped,
    Effect.either,
    Effect.map(Either.match({ onLeft: ({ message }) => message, onRight: () => undefined })),
    Effect.provide(NodeProcessTree.layer)
  )

  it.scopedLive("is exact in a cgroup, also of those that no look has seen", () =>
    Effect.gen(function*() {
      const missing = yield* cgroup
      if (missing !== undefined) return yield* Console.log(`skipped: ${missing}`)
      const script = "for i in 1 2 3 4 5 6 7 8; do echo $( (setsid \"$1\" -e \"$2\" &) ); done; echo done; sleep 60"
      const { told, usage } = yield* run(sh(script, process.execPath, burner(50)), { seal: "cgroup" })
      assert.isAbove(told, 0.4)
      assert.isAtLeast(usage.cpuSeconds, told)
      assert.isBelow(usage.cpuSeconds, told + 8)
      const report = yield* Effect.scoped(
        Effect.flatMap(
          ProcessTree.start(
            sh(`while :; do (setsid "$1" -e "$2" >/dev/null &); sleep 0.2; done`, process.execPath, burner(50)),
            {
              seal: "cgroup",
              limits: { cpuSeconds: 1 }
            }
          ),
          (tree) => tree.report
        )
      )
      // Those who have computed have ended: nobody who lives may have a part in it.
      expectExceeded(report, "cpuSeconds", 1, /^(node|sh|)$/)
    }).pipe(Effect.provide(NodeProcessTree.layer)))
})
