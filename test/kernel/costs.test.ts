/**
 * What the guard, the marks and the looks cost. Printed, not judged: only what no machine should need fails.
 */
import * as Command from "@effect/platform/Command"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import type * as ProcessTree from "effect-agents/ProcessTree"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { fileURLToPath } from "node:url"
import * as mark from "../../src/internal/kernel/mark.js"
import { linux } from "../../src/internal/kernel/processTable.js"
import { aliveWith, makeMark, waitUntil } from "../utils/Processes.js"
import { host, inNamespace, missingNamespace } from "./hosts.js"
import { seconds } from "./support.js"

const limit = { timeout: 180_000 }

const median = (numbers: ReadonlyArray<number>): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

const say = (what: string) => Console.log(`${what} (load ${(loadavg()[0] ?? 0).toFixed(0)})`)

const guardProgram = fileURLToPath(new URL("../../dist/internal/kernel/guardMain.js", import.meta.url))

const guardsOf = (pid: number) =>
  Effect.map(aliveWith("guardMain.js"), (seen) => seen.filter(({ parent }) => parent === pid))

/** Milliseconds from the start of a guard until it says that it is ready. */
const ready = Effect.async<number>((resume) => {
  const watch = { id: "00".repeat(12), rlimit: undefined, host: linux().row(process.pid) }
  const before = performance.now()
  const guard = spawn(process.execPath, ["--max-semi-space-size=1", guardProgram, JSON.stringify(watch)], {
    stdio: ["pipe", "pipe", "ignore"]
  })
  guard.stdout.once("data", () => {
    const taken = performance.now() - before
    guard.once("exit", () => resume(Effect.succeed(taken)))
    guard.stdin.end()
  })
})

const times = <A>(count: number, act: () => A): ReadonlyArray<number> =>
  Array.from({ length: count }, () => {
    const before = performance.now()
    act()
    return performance.now() - before
  })

describe("what it costs", limit, () => {
  it.scopedLive("until a guard is ready, which no start waits for", () =>
    Effect.gen(function*() {
      const taken = yield* Effect.replicateEffect(ready, 15)
      yield* say(`a guard is ready after ${median(taken).toFixed(0)} ms, at best ${Math.min(...taken).toFixed(0)}`)
      assert.isBelow(median(taken), 5000)
      const first = (guard: boolean) =>
        Effect.gen(function*() {
          const started = yield* host({ mode: "first", script: "sleep 5", args: [], guard })
          yield* started.exit
          return Number(/^first (\S+)$/m.exec(yield* started.output)?.[1])
        })
      const withGuard = yield* Effect.replicateEffect(first(true), 3)
      const without = yield* Effect.replicateEffect(first(false), 3)
      yield* say(
        `the first start of a host: ${Math.min(...withGuard).toFixed(1)} ms, without a guard ${
          Math.min(...without).toFixed(1)
        }; all others start when it is there`
      )
      assert.isBelow(Math.min(...withGuard), 5000)
    }))

  /** Megabytes of the guard of a hundred trees that nobody else has. */
  const memory = (limits: ProcessTree.Limits | undefined) =>
    Effect.gen(function*() {
      const test = yield* makeMark
      const started = yield* host({
        mode: "wait",
        script: "sleep $1 & wait",
        args: [seconds(test)],
        trees: 100,
        limits,
        sleepers: [test, 100]
      })
      yield* started.says("ready")
      yield* waitUntil("a guard", Effect.map(guardsOf(started.pid), (guards) => guards.length > 0))
      // Some looks at all of them.
      yield* Effect.sleep("2 seconds")
      const guards = yield* guardsOf(started.pid)
      assert.strictEqual(guards.length, 1)
      const rollup = readFileSync(`/proc/${guards[0]?.pid}/smaps_rollup`, "utf8")
      yield* started.signal("SIGTERM")
      yield* started.exit
      return Number(/^Private_Dirty:\s+(\d+)/m.exec(rollup)?.[1]) / 1024
    }).pipe(Effect.scoped)

  it.live("a guard: one, and small, for a hundred trees", () =>
    Effect.gen(function*() {
      const plain = yield* memory(undefined)
      const limited = yield* memory({ processes: 100 })
      yield* say(
        `the guard of 100 trees has ${plain.toFixed(1)} MiB of its own, ${limited.toFixed(1)} if they have limits`
      )
      assert.isBelow(plain, 12)
      assert.isBelow(limited, 100)
    }))

  it("the marks on a start", () => {
    const wanted = mark.rlimitFor("unlimited", 1, 1)?.value ?? ""
    const shim = ["-c", `${mark.limiting} unset PWD; ${mark.becoming}`, wanted, "/bin/true"]
    const [plain, marked]: [Array<number>, Array<number>] = [[], []]
    for (let round = 0; round < 80; round++) {
      plain.push(...times(1, () => spawnSync("/bin/true")))
      marked.push(...times(1, () => spawnSync("/bin/sh", shim)))
    }
    const ratio = median(marked) / median(plain)
    Effect.runSync(
      say(
        `a start with marks: ${median(marked).toFixed(2)} ms, plain ${median(plain).toFixed(2)}: × ${ratio.toFixed(2)}`
      )
    )
    assert.isBelow(ratio, 5)
  })

  const measured = (what: "teardown" | "watching", strangers: number) =>
    Effect.gen(function*() {
      const program = fileURLToPath(new URL("./costProgram.ts", import.meta.url))
      const line = [process.execPath, "--import", "tsx", program, what, String(strangers)]
      const printed = yield* Command.string(inNamespace(line)).pipe(Effect.provide(NodeContext.layer))
      const costs: ReadonlyArray<number> = JSON.parse(/^costs (.*)$/m.exec(printed)?.[1] ?? "[]")
      assert.isNotEmpty(costs, printed)
      return costs
    })

  if (missingNamespace !== undefined) {
    it(`among strangers cannot be measured here: ${missingNamespace}`, () => assert.isString(missingNamespace))
    return
  }

  it.scopedLive("the teardown of a tree of three among five thousand strangers", () =>
    Effect.gen(function*() {
      const costs = yield* measured("teardown", 5000)
      yield* say(
        `a teardown among 5000 others: ${median(costs)} ms of the host's processor, at best ${Math.min(...costs)}`
      )
      assert.isBelow(median(costs), 2000)
    }))

  it.scopedLive("a hundred trees that are looked at, on a machine with a thousand processes", () =>
    Effect.gen(function*() {
      const [own = Number.NaN, guard = Number.NaN] = yield* measured("watching", 700)
      yield* say(
        `limits of 100 trees among 1000 processes: ${guard / 5} ms of the guard's processor a second, ${own / 5} of `
          + "the host's"
      )
      assert.isBelow(guard, 2500)
    }))
})
