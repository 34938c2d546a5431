import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import * as Fakes from "../utils/Fakes.js"
import { aliveWith, expectGone, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"

const command: Record<Fakes.Name, ReadonlyArray<string>> = {
  claude: ["-p", "--output-format", "stream-json", "--verbose"],
  codex: ["exec", "--json", "--skip-git-repo-check", "-"],
  copilot: ["--output-format", "json", "-p", "hi"]
}

/** Without the library: a fake that does not misbehave proves nothing of what is tested on it. */
const start = (name: Fakes.Name, scenario: Fakes.Scenario): Effect.Effect<ChildProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(Fakes.program(name), command[name], {
        env: { PATH: process.env["PATH"], ...Fakes.environment(scenario) },
        stdio: ["ignore", "ignore", "ignore"]
      })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const field = (pid: number, index: number): string => {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[index] ?? ""
}

const session = (pid: number): number => Number(field(pid, 3))

describe("fake CLIs", () => {
  it.scopedLive("leave every kind of descendant, each of them what it says", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const leader = yield* start("claude", { name: "F-ZOO", mark })
      const seen = yield* waitForSleepers(mark, 12)
      const kind = (number: number) => {
        const one = seen.find(({ command }) => command === `sleep 60.${mark}${number}`)
        assert.isDefined(one, `no descendant ${number}`)
        return one
      }
      const [child, , background, , setsid, daemon, envI, envIDaemon, stubborn, , stopped, wrapper] = Array.from(
        { length: 12 },
        (_, index) => kind(index + 10)
      )
      assert.strictEqual(child?.parent, leader.pid)
      assert.notStrictEqual(background?.parent, leader.pid)
      assert.strictEqual(session(setsid!.pid), setsid!.pid)
      assert.strictEqual(setsid!.parent, leader.pid)
      assert.notStrictEqual(session(daemon!.pid), session(leader.pid!))
      assert.notStrictEqual(daemon!.parent, leader.pid)
      assert.strictEqual(readFileSync(`/proc/${envI!.pid}/environ`, "latin1"), "")
      assert.strictEqual(envI!.parent, leader.pid)
      assert.notInclude(readFileSync(`/proc/${envIDaemon!.pid}/environ`, "latin1"), mark)
      assert.notStrictEqual(envIDaemon!.parent, leader.pid)
      assert.strictEqual(stopped!.state, "T")
      assert.notStrictEqual(wrapper!.parent, leader.pid)
      yield* Effect.sync(() => process.kill(stubborn!.pid, "SIGTERM"))
      yield* Effect.sync(() => process.kill(child!.pid, "SIGTERM"))
      yield* waitUntil(
        "the polite child ends",
        Effect.map(aliveWith(mark), (now) => now.every(({ pid }) => pid !== child!.pid))
      )
      assert.isTrue((yield* aliveWith(mark)).some(({ pid }) => pid === stubborn!.pid))
    }))

  it.live("are reaped at the end of a test that fails", () =>
    Effect.gen(function*() {
      const marks: Array<string> = []
      const exit = yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
        const mark = yield* makeMark
        marks.push(mark)
        yield* start("codex", { name: "F-STUBBORN", mark })
        yield* waitForSleepers(mark, 2)
        assert.fail("this test fails")
      })))
      assert.strictEqual(exit._tag, "Failure")
      assert.strictEqual(marks.length, 1)
      yield* expectGone(marks[0]!)
    }))

  it.scopedLive("end by a signal as they are told to", () =>
    Effect.gen(function*() {
      const ended = (name: Fakes.Name, scenario: Fakes.Scenario) =>
        Effect.flatMap(
          start(name, scenario),
          (child) =>
            Effect.async<string>((resume) =>
              void child.on("exit", (code, signal) => resume(Effect.succeed(`${code ?? signal}`)))
            )
        )
      assert.strictEqual(yield* ended("claude", { name: "CRASH" }), "SIGABRT")
      assert.strictEqual(yield* ended("codex", { name: "F-EARLY" }), "3")
      assert.strictEqual(yield* ended("copilot", { name: "OK" }), "0")
      assert.strictEqual(yield* ended("copilot", { steps: [{ do: "nonsense" }] }), "98")
    }))
})
