/**
 * What an agent tells of itself, and what becomes of one that does not: real processes that answer as the CLIs do.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as Installation from "effect-agents/Installation"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expectGone, makeMark, waitForSleepers } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { seconds } from "../kernel/support.js"

/** All that the help of any of them tells. */
const everything = [Claude.driver, Codex.driver, Copilot.driver]
  .flatMap(({ probe }) => probe?.help ?? [])
  .flatMap(({ words }) => Object.values(words).flat())
  .map((word) => `  ${word}, <value>  what it does`)
  .join("\n")

/**
 * A CLI that prints its version, its help, and to each line that it is told the next of the `answers`. Each start adds a
 * line with its arguments and its variable WHO to `log`.
 */
const cli = Effect.fnUntraced(
  function*(version: string, answers: ReadonlyArray<object>, before = "", help = everything) {
    const directory = yield* TempDir.make
    const program = join(directory, "cli")
    const log = join(directory, "log")
    writeFileSync(log, "")
    writeFileSync(
      program,
      `#!${process.execPath}
const fs = require("node:fs")
fs.appendFileSync(${JSON.stringify(log)}, process.argv.slice(2).join(" ") + "|" + (process.env.WHO ?? "") + "\\n")
${before}
if (process.argv.includes("--version")) {
  console.log(${JSON.stringify(version)})
} else if (process.argv.includes("--help")) {
  console.log(${JSON.stringify(help)})
} else {
  let answers = ${JSON.stringify(answers)}
  require("node:readline").createInterface({ input: process.stdin })
    .on("line", () => { const next = answers.shift(); if (next) console.log("noise\\n" + JSON.stringify(next)) })
    .on("close", () => process.exit())
}
`
    )
    chmodSync(program, 0o755)
    return {
      program,
      starts: Effect.sync(() => readFileSync(log, "utf8").trim().split("\n").filter((line) => line !== ""))
    }
  }
)

const drivers = { claude: Claude, codex: Codex, copilot: Copilot } as const

const processes = NodeProcessTree.layerWith({ sweepStale: false })

const layerOf = (name: keyof typeof drivers, program: string) =>
  Layer.provide(drivers[name].layer({ program }), processes)

const probing = (name: keyof typeof drivers, program: string) => Effect.provide(Agent.probe(), layerOf(name, program))

const account: Record<keyof typeof drivers, {
  readonly version: string
  readonly yes: ReadonlyArray<object>
  readonly no: ReadonlyArray<object>
  readonly is: Installation.Account
}> = {
  claude: {
    version: "2.1.999 (Claude Code)",
    yes: [{
      type: "control_response",
      response: {
        subtype: "success",
        response: {
          models: [
            { value: "default", displayName: "Default", supportsEffort: true, supportedEffortLevels: ["low", "high"] },
            { value: "small", displayName: "Small" },
            { displayName: "without an id" }
          ],
          account: { tokenSource: "claude.ai", apiProvider: "firstParty" }
        }
      }
    }],
    no: [{ type: "control_response", response: { response: { account: { tokenSource: "none" } } } }],
    is: {
      login: "yes",
      by: "claude.ai",
      models: [
        { id: "default", name: "Default", efforts: ["low", "high"], isDefault: true },
        { id: "small", name: "Small" }
      ]
    }
  },
  codex: {
    version: "codex-cli 0.171.4",
    yes: [
      { id: "initialize", result: {} },
      { method: "remoteControl/status/changed", params: {} },
      {
        id: "model/list",
        result: {
          data: [
            {
              model: "big",
              displayName: "Big",
              isDefault: true,
              supportedReasoningEfforts: [{ reasoningEffort: "low" }]
            },
            { model: "secret", hidden: true }
          ]
        }
      },
      { id: "account/read", result: { account: { type: "chatgpt" }, requiresOpenaiAuth: true } },
      {
        id: "account/rateLimits/read",
        result: { rateLimits: { primary: { usedPercent: 12, resetsAt: 1_800_000_000 }, secondary: null } }
      }
    ],
    no: [
      { id: "initialize", result: {} },
      { id: "account/read", result: { account: null, requiresOpenaiAuth: true } },
      { id: "model/list", error: { code: -1, message: "no" } },
      { id: "account/rateLimits/read", error: { code: -32600, message: "no" } },
      {}
    ],
    is: {
      login: "yes",
      by: "chatgpt",
      models: [{ id: "big", name: "Big", efforts: ["low"], isDefault: true }],
      quota: [{ name: "primary", usedPercent: 12, resetsAt: 1_800_000_000_000 }]
    }
  },
  copilot: {
    version: "GitHub Copilot CLI 1.0.300.\nRun 'copilot update' to check for updates.",
    yes: [
      { jsonrpc: "2.0", id: 1, result: {} },
      {
        jsonrpc: "2.0",
        id: 2,
        result: {
          sessionId: "s",
          models: { currentModelId: "b", availableModels: [{ modelId: "a", name: "A" }, { modelId: "b", name: "B" }] }
        }
      }
    ],
    no: [{ jsonrpc: "2.0", id: 1, result: {} }, { jsonrpc: "2.0", id: 2, error: { code: -32000, message: "no" } }],
    is: { login: "yes", models: [{ id: "a", name: "A" }, { id: "b", name: "B", isDefault: true }] }
  }
}

describe.each(["claude", "codex", "copilot"] as const)("a probe of %s", (name) => {
  const { is, no, version, yes } = account[name]

  it.scopedLive("tells the version, the login, the models", () =>
    Effect.gen(function*() {
      const { program } = yield* cli(version, yes)
      const found = yield* probing(name, program)
      assert.strictEqual(found.agent, name)
      assert.strictEqual(found.program, program)
      assert.include(version, found.version ?? "nothing")
      assert.match(found.version ?? "", /^\d+\.\d+\.\d+$/)
      assert.strictEqual(found.verification, "verified")
      assert.deepStrictEqual({ ...found.account }, is)
      assert.deepStrictEqual(found.problems, [])
    }))

  it.scopedLive("tells that nobody is logged in", () =>
    Effect.gen(function*() {
      const { program } = yield* cli("9.0.1", no)
      const found = yield* probing(name, program)
      assert.deepStrictEqual({ ...found.account }, { login: "no" })
      assert.strictEqual(found.verification, "newer")
      assert.strictEqual(new Installation.Installation({ ...found, version: "0.0.9" }).verification, "older")
    }))

  it.scopedLive("tells what the installed version offers, and not what its help does not tell of", () =>
    Effect.gen(function*() {
      const all = yield* Effect.flatMap(cli(version, yes), ({ program }) => probing(name, program))
      assert.includeMembers([...all.capabilities ?? []], ["effort", "interactive", "mcpServers", "resume"])
      const without = everything.replace(/--(effort|reasoning-effort|config)(?=,)/g, "--$1-of-another")
      const less = yield* Effect.flatMap(cli(version, yes, "", without), ({ program }) => probing(name, program))
      assert.notInclude([...less.capabilities ?? []], "effort")
      assert.includeMembers([...less.capabilities ?? []], ["interactive", "resume"])
      const silent = yield* Effect.flatMap(cli(version, yes, "", ""), ({ program }) => probing(name, program))
      assert.isUndefined(silent.capabilities)
      assert.match(silent.problems[0] ?? "", /--help.*: 0 of all answers before it ended$/)
      assert.strictEqual(silent.account.login, "yes")
    }))

  it.scopedLive("knows nothing of one that ends without a word, and says so", () =>
    Effect.gen(function*() {
      const { program } = yield* cli("", [], "process.exit(3)")
      const found = yield* probing(name, program)
      assert.isUndefined(found.version)
      assert.deepStrictEqual({ ...found.account }, { login: "unknown" })
      assert.isUndefined(found.capabilities)
      assert.strictEqual(found.problems.length, name === "codex" ? 4 : 3)
      assert.match(found.problems[0] ?? "", new RegExp(`^${name} --version.*: 0 of 1 answers before it ended$`))
      assert.match(found.problems.at(-1) ?? "", /: 0 of [13] answers before it ended$/)
    }))
})

describe("a probe", () => {
  it.scopedLive("knows nothing of one that hangs, and says so in time", () =>
    Effect.gen(function*() {
      const { program } = yield* cli(
        "2.1.0",
        [],
        "for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)"
      )
      const found = yield* Effect.provide(Agent.probe({ timeout: "300 millis" }), layerOf("claude", program))
      assert.isUndefined(found.version)
      assert.deepStrictEqual({ ...found.account }, { login: "unknown" })
      assert.strictEqual(found.problems.length, 3)
      assert.isTrue(
        found.problems.every((problem) => /: 0 of (?:1|all) answers within 300 ms$/.test(problem)),
        String(found.problems)
      )
    }))

  it.scopedLive("does not hold up the host with a version of nothing but digits", () =>
    Effect.gen(function*() {
      const { program } = yield* cli("1".repeat(100_000), account.claude.yes)
      const [taken, found] = yield* Effect.timed(probing("claude", program))
      assert.isUndefined(found.version)
      // What took the square of its length took ten seconds and more.
      assert.isBelow(Duration.toSeconds(taken), 5)
    }))

  it.scoped("is asked once, until it is old, and again for another environment", () =>
    Effect.gen(function*() {
      const { program, starts } = yield* cli("2.1.0", account.claude.yes)
      const asked = (times: number, options?: Agent.ProbeOptions) =>
        Effect.gen(function*() {
          yield* Agent.probe(options)
          assert.strictEqual((yield* starts).length, times * 3)
        })
      yield* Effect.gen(function*() {
        yield* Effect.all([asked(1), asked(1), asked(1, { env: {} })], { concurrency: "unbounded" })
        yield* asked(2, { env: { WHO: "me" } })
        assert.isTrue((yield* starts).slice(3).every((line) => line.endsWith("|me")))
        yield* asked(3, { envPolicy: { only: ["PATH"] } })
        yield* asked(3, { envPolicy: { only: ["PATH"] } })
        yield* TestClock.adjust("4 minutes")
        yield* asked(3)
        yield* TestClock.adjust("2 minutes")
        yield* asked(4)
      }).pipe(
        Effect.provide(layerOf("claude", program))
      )
    }))

  // On a clock that stands still, as it does for all who ask again within a millisecond.
  it.scoped("that fails, or finds nobody logged in, is asked again", () =>
    Effect.gen(function*() {
      const program = join(yield* TempDir.make, "cli")
      const becomes = (answers: ReadonlyArray<object>) =>
        Effect.map(cli("2.1.0", answers), (next) => {
          writeFileSync(program, readFileSync(next.program), { mode: 0o755 })
        })
      yield* Effect.gen(function*() {
        assert.strictEqual((yield* Effect.flip(Agent.probe()))._tag, "AgentNotInstalled")
        yield* becomes(account.claude.no)
        assert.strictEqual((yield* Agent.probe()).account.login, "no")
        yield* becomes(account.claude.yes)
        assert.strictEqual((yield* Agent.probe()).account.login, "yes")
      }).pipe(
        Effect.provide(layerOf("claude", program))
      )
    }))

  it.scopedLive("tells what it heard in time, and that it was not all", () =>
    Effect.gen(function*() {
      const { program } = yield* cli("0.171.0", account.codex.yes.slice(0, 4))
      const found = yield* Effect.provide(Agent.probe({ timeout: "1 second" }), layerOf("codex", program))
      assert.deepStrictEqual({ ...found.account, models: found.account.models?.length }, {
        login: "yes",
        by: "chatgpt",
        models: 1
      })
      assert.deepStrictEqual(found.problems, ["codex app-server: 2 of 3 answers within 1000 ms"])
    }))

  it.scopedLive("does not end for whoever waits for the same, when the first is interrupted", () =>
    Effect.gen(function*() {
      const gate = join(yield* TempDir.make, "gate")
      const waits = `while (!fs.existsSync(${
        JSON.stringify(gate)
      })) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)`
      const { program, starts } = yield* cli("2.1.0", account.claude.yes, waits)
      yield* Effect.gen(function*() {
        const first = yield* Effect.fork(Agent.probe())
        yield* Effect.repeat(starts, { until: (lines) => lines.length === 1, schedule: Schedule.spaced("20 millis") })
        const second = yield* Effect.fork(Agent.probe())
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(first)
        writeFileSync(gate, "")
        assert.strictEqual((yield* Fiber.join(second)).version, "2.1.0")
      }).pipe(
        Effect.provide(layerOf("claude", program))
      )
    }))

  it.scopedLive("fails as a run does, and tells no secret, where nothing can be started", () =>
    Effect.gen(function*() {
      const { program, starts } = yield* cli("2.1.0", account.claude.yes)
      const error = yield* Effect.flip(
        Effect.provide(Agent.probe({ env: { TOKEN: "secret\0" } }), layerOf("claude", program))
      )
      assert.strictEqual(error._tag, "AgentSpawnError")
      assert.notInclude(error.message, "secret")
      assert.include(error.message, "the variable TOKEN of the environment holds a NUL character")
      const gone = yield* Effect.flip(
        Effect.provide(Agent.probe({ cwd: join(program, "no") }), layerOf("claude", program))
      )
      assert.strictEqual(gone._tag === "AgentSpawnError" && gone.reason, "cwd")
      assert.deepStrictEqual(yield* starts, [])
    }))

  it.scopedLive("leaves nothing that was started for it, answered or interrupted", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const leaves = `require("node:child_process").spawn("setsid", ["sleep", "${seconds(mark)}"], { stdio: "ignore" })`
      const { program } = yield* cli("2.1.0", account.claude.no, leaves)
      yield* probing("claude", program)
      yield* expectGone(mark)
      const { program: silent } = yield* cli("2.1.0", [], leaves)
      const fiber = yield* Effect.fork(probing("claude", silent))
      yield* waitForSleepers(mark, 1)
      yield* Fiber.interrupt(fiber)
      yield* expectGone(mark)
    }))

  it.scopedLive("of a driver that asks nothing tells the version alone", () =>
    Effect.gen(function*() {
      const { program, starts } = yield* cli("agent 1.2.3-beta.4", [])
      const { probe: _, ...driver } = Claude.driver
      const found = yield* Agent.probe().pipe(
        Effect.provide(Layer.provide(Agent.layer(driver, { program }), processes))
      )
      assert.strictEqual(found.version, "1.2.3-beta.4")
      assert.isUndefined(found.verified)
      assert.strictEqual(found.verification, "unknown")
      assert.isUndefined(found.capabilities)
      assert.deepStrictEqual(yield* starts, ["--version|"])
    }))
})
