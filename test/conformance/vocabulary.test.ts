/**
 * The ways in which agent CLIs have been seen to misbehave, one by one.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as Teardown from "effect-agents/Teardown"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { aliveWith, waitForSleepers, waitUntil } from "../utils/Processes.js"
import { conformance, failsWith, marked, tags } from "./harness.js"

const grace = Duration.millis(300)

/** The most that a teardown may take: its grace, and what it takes to kill and to look on a busy machine. */
const bound = Duration.toMillis(grace) + 1_500

const answer = "Hello from the fake."

conformance("vocabulary", (agent) => {
  const { layer, request } = agent

  // Those that hang for ever with a tree of their own: how many of it sleep, and whether it ends before the grace does.
  const trees = [
    { name: "F-TREE", sleepers: 1, polite: true },
    { name: "F-SETSID", sleepers: 2, polite: true },
    { name: "F-DAEMON", sleepers: 2, polite: true },
    { name: "F-WRAP", sleepers: 1, polite: true },
    { name: "F-LATE-DIE", sleepers: 1, polite: false },
    { name: "F-STUBBORN", sleepers: 2, polite: false },
    { name: "F-ZOO", sleepers: 12, polite: false }
  ]

  for (const { name, polite, sleepers } of trees) {
    it.scopedLive(`${name} is gone when the interruption returns`, () =>
      marked((mark) =>
        Effect.gen(function*() {
          const run = yield* Effect.fork(Agent.run(request({ name, mark })))
          yield* waitForSleepers(mark, sleepers)
          const before = yield* Clock.currentTimeMillis
          const exit = yield* Fiber.interrupt(run)
          const took = (yield* Clock.currentTimeMillis) - before
          assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause), String(exit))
          assert.deepStrictEqual(yield* aliveWith(mark), [])
          assert.isBelow(took, bound)
          if (!polite) assert.isAtLeast(took, Duration.toMillis(grace) - 20, "the grace was not given")
        })
      ).pipe(Effect.provide(layer({ teardown: Teardown.graceful(grace) }))))
  }

  it.scopedLive("F-LEFTOVERS: a clean end, and whatever it left is ended, reported, and no failure", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const outcome = yield* Agent.run(request({ name: "F-LEFTOVERS", mark }))
        assert.strictEqual(outcome.text, answer)
        assert.deepStrictEqual(outcome.exit, { code: 0, signal: null })
        assert.strictEqual(outcome.teardown.reason, "completed")
        assert.strictEqual(outcome.teardown.verified, "empty")
        assert.deepStrictEqual(outcome.teardown.survivors, [])
        assert.isAtLeast(outcome.teardown.killed.filter(({ command }) => command === "sleep").length, 12)
      })
    ).pipe(Effect.provide(layer({ teardown: Teardown.graceful(grace) }))))

  it.scopedLive("F-MUTE: half a run can be watched, and ended", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const run = yield* Effect.fork(
          Agent.stream(request({ name: "F-MUTE", mark })).pipe(
            Stream.takeUntil((event) => event._tag === "ToolCall"),
            Stream.runCollect
          )
        )
        const events = yield* Fiber.join(run)
        assert.includeMembers([...tags(events)], ["Started", "Text", "ToolCall"])
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("F-STDIN: a CLI that reads its input to the end gets one", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Agent.run(request({ name: "F-STDIN" }))).text, answer)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("F-ASK: a question that nobody can answer ends the run", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Agent.run(request({ name: "F-ASK" })))
      assert.include(["AgentFailed", "AgentIncomplete"], error._tag)
      assert.isTrue("partial" in error && error.partial.stderrTail.includes("nobody answered"))
    }).pipe(Effect.provide(layer())))

  it.scopedLive("F-NOISE: what is not a record is a notice, and the rest is read", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const outcome = yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(request({ name: "F-NOISE", text: "grüße 🙂" }))
        yield* Stream.runForEach(run.events, (event) =>
          Effect.sync(() => {
            events.push(event._tag === "Notice" ? `Notice ${event.text}` : event._tag)
          }))
        return yield* run.outcome
      }))
      assert.strictEqual(outcome.text, "grüße 🙂")
      assert.includeMembers(events, ["Started", "ToolCall", "ToolResult", "Text", "Finished"])
      assert.includeMembers(events, ["Notice Welcome to the fake shell!", "Notice npm notice a new version is out"])
      // The two lines of the banner, the bytes that are no text, and the half line at the end.
      assert.strictEqual(outcome.unparsed, 4)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("F-BYTES: characters that come in pieces are whole", () =>
    Effect.gen(function*() {
      const text = "ß € 🙂 日本語 — naïve".repeat(3)
      const outcome = yield* Agent.run(request({ name: "F-BYTES", text }))
      assert.strictEqual(outcome.text, text)
      assert.strictEqual(outcome.unparsed, 0)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("a character that is cut at the end of the output is not lost", () =>
    Effect.gen(function*() {
      const steps = [{ do: "start" }, { do: "raw", bytes: "6e 6f 74 65 20 f0 9f" }]
      const events: Array<string> = []
      const error = yield* Effect.flip(Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(request({ steps }))
        yield* Stream.runForEach(run.events, (event) =>
          Effect.sync(() => {
            if (event._tag === "Notice") events.push(event.text)
          }))
        return yield* run.outcome
      })))
      assert.strictEqual(error._tag, "AgentIncomplete")
      assert.deepStrictEqual(events, ["note \ufffd"])
    }).pipe(Effect.provide(layer())))

  for (const mib of [1, 32]) {
    it.scopedLive(`F-BIG: a line of ${mib} MiB is a line`, () =>
      Effect.gen(function*() {
        const events = yield* Stream.runCollect(Agent.stream(request({ name: "F-BIG", mib })))
        const texts = Chunk.toReadonlyArray(events).flatMap((event) => event._tag === "Text" ? [event.text] : [])
        assert.strictEqual(texts.join("").length, mib * 512 * 1024)
      }).pipe(Effect.provide(layer())))
  }

  it.scopedLive("F-BIG: a line beyond the limit is a typed error", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const error = yield* failsWith("AgentLineTooLong", Agent.run(request({ name: "F-BIG", mark, mib: 128 })))
        assert.strictEqual(error.limitBytes, 64 * 1024 * 1024)
        assert.strictEqual(error.partial.teardown?.verified, "empty")
      })
    ).pipe(Effect.provide(layer())), 60_000)

  it.scopedLive("F-BIG: the limit can be set", () =>
    Effect.gen(function*() {
      const error = yield* failsWith("AgentLineTooLong", Agent.run(request({ name: "F-BIG", mib: 1 })))
      assert.strictEqual(error.limitBytes, 100_000)
    }).pipe(Effect.provide(layer({ maxLineBytes: 100_000 }))))

  it.scopedLive("F-ERRFLOOD: 200 MiB of complaints block nothing, and their end is kept", () =>
    Effect.gen(function*() {
      const outcome = yield* Agent.run(request({ name: "F-ERRFLOOD" }))
      assert.strictEqual(outcome.text, answer)
      assert.isTrue(outcome.stderrTail.endsWith("fake: the flood is over\n"))
      assert.isAtMost(outcome.stderrTail.length, 64 * 1024)
    }).pipe(Effect.provide(layer())), 60_000)

  it.scopedLive("F-NEW: types and fields that nobody knows are events, not errors", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const outcome = yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(request({ name: "F-NEW" }))
        yield* Stream.runForEach(run.events, (event) =>
          Effect.sync(() => {
            if (event._tag === "Unknown") events.push(event.type)
          }))
        return yield* run.outcome
      }))
      assert.strictEqual(outcome.text, answer)
      assert.strictEqual(outcome.unparsed, 0)
      assert.include(events, "telemetry_v9")
    }).pipe(Effect.provide(layer())))

  for (const kind of ["rate", "overloaded", "turn"] as const) {
    it.scopedLive(`F-OK-BUT: exit 0, and inside it says ${kind}`, () =>
      Effect.gen(function*() {
        const tag = { rate: "AgentRateLimited", overloaded: "AgentOverloaded", turn: "AgentTurnFailed" } as const
        const error = yield* failsWith(tag[kind], Agent.run(request({ name: "F-OK-BUT", kind })))
        assert.strictEqual(error.partial.exit.code, 0)
      }).pipe(Effect.provide(layer())))
  }

  it.scopedLive("F-DUP: a message that comes again is counted once", () =>
    Effect.gen(function*() {
      const once = yield* Agent.run(request({ name: "OK" }))
      const again = yield* Agent.run(request({ name: "F-DUP" }))
      assert.strictEqual(again.text, answer)
      assert.strictEqual(again.usage.inputTokens, once.usage.inputTokens)
      assert.strictEqual(again.usage.outputTokens, once.usage.outputTokens)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("F-SIGEXIT: a death in the middle and exit code 0 are no success", () =>
    failsWith("AgentIncomplete", Agent.run(request({ name: "F-SIGEXIT" }))).pipe(Effect.provide(layer())))

  it.scopedLive("a CLI that ends with exit 0 when it is interrupted was interrupted", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const run = yield* Effect.fork(Agent.run(request({ name: "POLITE", mark })))
        yield* waitForSleepers(mark, 1)
        const exit = yield* Fiber.interrupt(run)
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause), String(exit))
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("a leader that somebody kills takes its tree along", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const run = yield* Effect.fork(Effect.flip(Agent.run(request({ name: "F-DAEMON", mark }))))
        yield* waitForSleepers(mark, 2)
        const leader = (yield* aliveWith(mark)).find(({ command }) => command.includes("fake-cli.mjs"))
        assert.isDefined(leader)
        yield* Effect.sync(() => process.kill(leader.pid, "SIGKILL"))
        const error = yield* Fiber.join(run)
        assert.strictEqual(error._tag, "AgentFailed")
        assert.isTrue(error._tag === "AgentFailed" && error.signal === "SIGKILL")
        yield* waitUntil("it is empty", Effect.map(aliveWith(mark), (left) => left.length === 0), {
          deadline: "0 millis"
        })
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("two turns for one prompt: the answer is the last one's", () =>
    Effect.gen(function*() {
      const outcome = yield* Agent.run(request({ name: "TWICE", text: "now it is" }))
      assert.strictEqual(outcome.text, "now it is")
    }).pipe(Effect.provide(layer())))
})
