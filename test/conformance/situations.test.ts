/**
 * What can happen to a run, and what its caller gets: every row of the table in the README.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentError from "effect-agents/AgentError"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Session from "effect-agents/Session"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { conformance, failsWith, marked, tags } from "./harness.js"

const unknownId = "11111111-1111-4111-8111-111111111111"

conformance("situations", (agent) => {
  const { layer, name, request } = agent

  it.scopedLive("the CLI is not found: where it was looked for, and how to install it", () =>
    Effect.gen(function*() {
      const byPath = yield* failsWith("AgentNotInstalled", Agent.run(request({ name: "OK" }))).pipe(
        Effect.provide(layer({ program: "/nowhere/at/all/agent" }))
      )
      assert.deepStrictEqual(byPath.looked, ["/nowhere/at/all/agent"])
      assert.strictEqual(byPath.agent, name)
      assert.include(byPath.hint, "npm")
      assert.isFalse(byPath.isTransient)
      const byName = yield* failsWith("AgentNotInstalled", Agent.run(request({ name: "OK" }))).pipe(
        Effect.provide(layer({ program: "no-agent-of-this-name" }))
      )
      assert.isNotEmpty(byName.looked)
    }))

  it.scopedLive("the working directory is missing: it is named", () =>
    Effect.gen(function*() {
      const cwd = join(yield* TempDir.make, "gone")
      const error = yield* failsWith("AgentSpawnError", Agent.run(request({ name: "OK" }, { cwd })))
      assert.strictEqual(error.reason, "cwd")
      assert.strictEqual(error.cwd, cwd)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the program is not executable", () =>
    Effect.gen(function*() {
      const program = join(yield* TempDir.make, "agent")
      yield* Effect.sync(() => {
        writeFileSync(program, "#!/bin/sh\nexit 0\n")
        chmodSync(program, 0o644)
      })
      const error = yield* failsWith("AgentSpawnError", Agent.run(request({ name: "OK" }))).pipe(
        Effect.provide(layer({ program }))
      )
      assert.strictEqual(error.reason, "not-executable")
    }))

  it.scopedLive("what does not fit on a command line is refused, not cut", () =>
    Effect.gen(function*() {
      const error = yield* failsWith(
        "AgentInputTooLarge",
        Agent.run(request({ name: "OK" }, { extraArgs: ["x".repeat(200 * 1024)] }))
      )
      assert.isAtLeast(error.size, 200 * 1024)
      assert.isBelow(error.limit, error.size)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("what the operating system refuses in the very call is an error, not a defect", () =>
    Effect.gen(function*() {
      yield* failsWith("AgentSpawnError", Agent.run(request({ name: "OK" }, { extraArgs: ["a\0b"] })))
      yield* failsWith("AgentSpawnError", Agent.run(request({ name: "OK" }, { env: { BROKEN: "a\0b" } })))
      const error = yield* failsWith(
        "AgentInputTooLarge",
        Agent.run(request({ name: "OK" }, { env: { BIG: "x".repeat(200 * 1024) } }))
      )
      assert.isAbove(error.size, error.limit)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("not logged in: how to", () =>
    Effect.gen(function*() {
      const error = yield* failsWith("AgentNotAuthenticated", Agent.run(request({ name: "NOT-LOGGED-IN" })))
      assert.include(error.hint, "login")
      assert.isFalse(error.isTransient)
      assert.strictEqual(error.partial.teardown?.verified, "empty")
    }).pipe(Effect.provide(layer())))

  const beyond = {
    claude: [],
    codex: [{ session: Session.fresh(unknownId) }, { thinking: false }],
    copilot: [{ session: Session.fork(unknownId) }, { thinking: false }]
  }[name]

  if (beyond.length > 0) {
    it.scopedLive("what the CLI cannot do is refused before anything is started", () =>
      Effect.gen(function*() {
        const dump = join(yield* TempDir.make, "dump.json")
        for (const fields of beyond) {
          const error = yield* failsWith("AgentUnsupported", Agent.run(request({ name: "OK", dump }, fields)))
          assert.strictEqual(error.agent, name)
          assert.isFalse(existsSync(dump), `it was started: ${error.what}`)
        }
        yield* Agent.run(request({ name: "OK", dump }))
        assert.isTrue(existsSync(dump), "the file would tell")
      }).pipe(Effect.provide(layer())))
  }

  for (const code of [0, 1]) {
    it.scopedLive(`the provider says that the quota is used up, exit ${code}`, () =>
      Effect.gen(function*() {
        const error = yield* failsWith("AgentRateLimited", Agent.run(request({ name: "FAIL", kind: "rate", code })))
        assert.isTrue(AgentError.isTransient(error))
        assert.strictEqual(error.status, 429)
        assert.include(error.partial.text, "So far.")
        assert.strictEqual(error.partial.exit.code, code)
        assert.strictEqual(error.partial.teardown?.verified, "empty")
      }).pipe(Effect.provide(layer())))

    it.scopedLive(`the provider is overloaded, failed, or the connection was lost, exit ${code}`, () =>
      Effect.gen(function*() {
        for (const kind of ["overloaded", "server", "connection"]) {
          const error = yield* failsWith("AgentOverloaded", Agent.run(request({ name: "FAIL", kind, code })))
          assert.isTrue(AgentError.isTransient(error))
        }
      }).pipe(Effect.provide(layer())))

    it.scopedLive(`what was done and tried before it failed, exit ${code}`, () =>
      Effect.gen(function*() {
        const state = yield* TempDir.make
        const before = [
          { do: "keep" },
          { do: "start" },
          { do: "edit", id: "e1", path: "src/a.ts" },
          { do: "edit", id: "e2", path: "src/refused.ts", ok: false },
          { do: "edit", id: "e3", path: "src/b.ts" },
          ...Array.from({ length: 40 }, (_, index) => ({ do: "retry", attempt: index + 1, delay: 1000 })),
          { do: "tool", id: "call_1", command: "make" }
        ]
        const error = yield* failsWith(
          "AgentOverloaded",
          Agent.run(request({ state, steps: [...before, { do: "fail", kind: "overloaded", code }] }))
        )
        assert.deepStrictEqual(error.partial.filesChanged, ["src/a.ts", "src/b.ts"])
        assert.deepStrictEqual(error.partial.openToolCalls.map(({ id }) => id), ["call_1"])
        assert.strictEqual(error.partial.attempts.length, 32, "the newest, not all that there ever were")
        const last = error.partial.attempts.at(-1)
        assert.deepStrictEqual([last?.attempt, last?.status, last?.delayMs], [
          40,
          529,
          name === "claude" ? 1000 : undefined
        ])
        assert.strictEqual(readdirSync(state).length, 1, "nothing is tried again by itself")
        // The same of a run that went well.
        const outcome = yield* Agent.run(request({ state, steps: [...before, { do: "end", text: "done" }] }))
        assert.deepStrictEqual(outcome.filesChanged, ["src/a.ts", "src/b.ts"])
        assert.strictEqual(outcome.attempts.length, 32)
      }).pipe(Effect.provide(layer())))

    it.scopedLive(`the turn itself failed, exit ${code}`, () =>
      Effect.gen(function*() {
        const error = yield* failsWith("AgentTurnFailed", Agent.run(request({ name: "FAIL", kind: "turn", code })))
        assert.isFalse(AgentError.isTransient(error))
        assert.isNotEmpty(error.detail)
        if (name !== "codex") assert.strictEqual(error.status, 403)
        else assert.strictEqual(error.detail, "bad request")
      }).pipe(Effect.provide(layer())))
  }

  it.scopedLive("the CLI rejects a flag", () =>
    Effect.gen(function*() {
      const error = yield* failsWith(
        "AgentFlagRejected",
        Agent.run(request({ name: "OK" }, { extraArgs: ["--no-such-flag"] }))
      )
      if (name !== "copilot") assert.include(error.detail, "--no-such-flag")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the CLI ends without saying that the turn is over: what it had said is kept", () =>
    Effect.gen(function*() {
      const error = yield* failsWith("AgentIncomplete", Agent.run(request({ name: "NO-TERMINAL", session: unknownId })))
      assert.strictEqual(error.partial.text, "So far.")
      assert.deepStrictEqual(error.partial.openToolCalls.map(({ id }) => id), ["call_1"])
      assert.deepStrictEqual(error.partial.exit, { code: 0, signal: null })
      if (name !== "copilot") assert.strictEqual(error.partial.session?.id, unknownId)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the time is up: what was in work, said and used is told", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const error = yield* failsWith(
          "AgentLimitExceeded",
          Agent.run(request({ name: "F-MUTE", mark, session: unknownId }), { limits: { tool: "200 millis" } })
        )
        assert.strictEqual(error.limit, "tool")
        assert.strictEqual(error.partial.text, "Half of it.")
        assert.deepStrictEqual(error.partial.openToolCalls.map(({ id }) => id), ["call_1"])
        if (name !== "copilot") assert.strictEqual(error.partial.session?.id, unknownId)
        if (name === "claude") assert.isAbove(error.partial.usage.inputTokens ?? 0, 0)
        assert.strictEqual(error.partial.teardown?.verified, "empty")
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("nothing is tried again", () =>
    Effect.gen(function*() {
      const { reports } = yield* ProcessTree.Spawner
      const ended = yield* Ref.make(0)
      yield* Effect.forkScoped(Stream.runForEach(reports, () => Ref.update(ended, (n) => n + 1)))
      yield* Effect.yieldNow()
      yield* failsWith("AgentOverloaded", Agent.run(request({ name: "FAIL", kind: "overloaded", code: 1 })))
      yield* waitUntil("the report", Effect.map(Ref.get(ended), (n) => n > 0))
      assert.strictEqual(yield* Ref.get(ended), 1)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the last line is cut", () =>
    Effect.gen(function*() {
      const error = yield* failsWith("AgentIncomplete", Agent.run(request({ name: "CUT-LINE" })))
      assert.strictEqual(error.partial.text, "So far.")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the CLI says nothing at all", () =>
    Effect.gen(function*() {
      const error = yield* failsWith("AgentIncomplete", Agent.run(request({ name: "SILENT" })))
      assert.strictEqual(error.partial.text, "")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the CLI crashes", () =>
    Effect.gen(function*() {
      const error = yield* failsWith("AgentFailed", Agent.run(request({ name: "CRASH" })))
      assert.strictEqual(error.signal, "SIGABRT")
      assert.isNull(error.code)
      assert.include(error.stderrTail, "assertion failed")
      assert.strictEqual(error.partial.text, "So far.")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the CLI gives up for a reason of its own", () =>
    Effect.gen(function*() {
      const error = yield* failsWith("AgentFailed", Agent.run(request({ name: "GIVES-UP" })))
      assert.strictEqual(error.code, 7)
      assert.include(error.stderrTail, "disk quota exceeded")
      assert.include(error.message, "disk quota exceeded")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the session is unknown", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const error = yield* failsWith(
        "AgentSessionNotFound",
        Agent.run(request({ name: "TALK", state }, { session: Session.resume(unknownId) }))
      )
      assert.strictEqual(error.id, unknownId)
      assert.isUndefined(error.startedInstead)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the CLI leaves before it has read its input", () =>
    Effect.gen(function*() {
      const prompt = "x".repeat(1024 * 1024)
      const error = yield* failsWith("AgentFailed", Agent.run(request({ name: "F-EARLY" }, { prompt })))
      assert.strictEqual(error.code, 3)
      assert.include(error.stderrTail, "no space left for this session")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the CLI leaves, and a grandchild holds its output", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const before = yield* Clock.currentTimeMillis
        const outcome = yield* Agent.run(request({ name: "F-HOLDER", mark }))
        assert.isBelow((yield* Clock.currentTimeMillis) - before, 5_000)
        assert.strictEqual(outcome.text, "Hello from the fake.")
        assert.deepStrictEqual(outcome.exit, { code: 0, signal: null })
        assert.strictEqual(outcome.teardown.verified, "empty")
        assert.deepStrictEqual(outcome.teardown.killed.map(({ command }) => command), ["sleep"])
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the turn is over, but the CLI never exits: still a success", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const before = yield* Clock.currentTimeMillis
        const outcome = yield* Agent.run(request({ name: "F-AFTER", mark }), {
          limits: { afterResult: "500 millis" }
        })
        assert.isBelow((yield* Clock.currentTimeMillis) - before, 5_000)
        assert.strictEqual(outcome.text, "Hello from the fake.")
        assert.strictEqual(outcome.stop, "completed")
        assert.strictEqual(outcome.teardown.verified, "empty")
        assert.isNotEmpty(outcome.teardown.killed)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("all is well: the answer, the usage, the session, and nothing left", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const outcome = yield* Agent.run(request({ name: "OK", mark, session: unknownId }))
        assert.strictEqual(outcome.agent, name)
        assert.strictEqual(outcome.text, "Hello from the fake.")
        assert.strictEqual(outcome.session.id, unknownId)
        assert.strictEqual(outcome.session.agent, name)
        assert.strictEqual(outcome.session.cwd, process.cwd())
        assert.strictEqual(outcome.stop, "completed")
        assert.deepStrictEqual(outcome.exit, { code: 0, signal: null })
        assert.strictEqual(outcome.unparsed, 0)
        assert.isAbove(outcome.durationMs, 0)
        assert.strictEqual(outcome.teardown.verified, "empty")
        assert.strictEqual(outcome.teardown.reason, "completed")
        assert.deepStrictEqual(outcome.teardown.killed, [])
        const { cacheReadTokens, cacheWriteTokens, costUsd, inputTokens, outputTokens, premiumRequests } = outcome.usage
        assert.deepStrictEqual(
          { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, premiumRequests },
          {
            claude: {
              inputTokens: 100,
              outputTokens: 10,
              cacheReadTokens: 30,
              cacheWriteTokens: 20,
              costUsd: 0.00045,
              premiumRequests: undefined
            },
            codex: {
              inputTokens: 100,
              outputTokens: 10,
              cacheReadTokens: 30,
              cacheWriteTokens: 20,
              costUsd: undefined,
              premiumRequests: undefined
            },
            copilot: {
              inputTokens: undefined,
              outputTokens: undefined,
              cacheReadTokens: undefined,
              cacheWriteTokens: undefined,
              costUsd: undefined,
              premiumRequests: 1
            }
          }[name]
        )
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("the events tell what happened, numbered without a gap", () =>
    Effect.gen(function*() {
      const events = yield* Agent.stream(request({ name: "OK" })).pipe(
        Stream.runCollect,
        Effect.map(Chunk.toReadonlyArray)
      )
      assert.deepStrictEqual(events.map(({ seq }) => seq), events.map((_, index) => index))
      assert.isTrue(events.every(({ at }, index) => index === 0 || at >= events[index - 1]!.at))
      const order = tags(events).filter((tag) => ["ToolCall", "ToolResult", "Text", "Finished"].includes(tag))
      assert.deepStrictEqual(order, ["ToolCall", "ToolResult", "Text", "Finished"])
      assert.include(tags(events), "Started")
      assert.strictEqual(tags(events).at(-1), "Finished")
    }).pipe(Effect.provide(layer())))
})
