/** Every limit, in a run that hears its prompt alone, in one that is spoken with, and in a conversation. */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentError from "effect-agents/AgentError"
import type * as AgentEvent from "effect-agents/AgentEvent"
import * as AgentRequest from "effect-agents/AgentRequest"
import type * as AgentRun from "effect-agents/AgentRun"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { expectGone, makeMark, waitForSleepers } from "../utils/Processes.js"
import { listener, talker } from "./talker.js"

type Limit = AgentError.AgentLimitExceeded["limit"]

/** What the agent does until it is too much for `allowed`, as it stands in the error. */
interface Row {
  readonly limits: AgentRun.Limits
  readonly allowed: number
  readonly acts: string
  /** It never says a word. */
  readonly silent?: boolean
}

const mib = 2 ** 20

/** By their names, so that none can be left out. */
const rows: Readonly<Record<Limit, Row>> = {
  wall: { limits: { wall: "2 seconds" }, allowed: 2000, acts: "retry" },
  firstEvent: { limits: { firstEvent: "1 second" }, allowed: 1000, acts: "", silent: true },
  idle: { limits: { idle: "2 seconds" }, allowed: 2000, acts: "" },
  tool: { limits: { tool: "1 second", idle: "500 millis" }, allowed: 1000, acts: "call:a" },
  turns: { limits: { turns: 2 }, allowed: 2, acts: "call:a returned:a call:b returned:b call:c" },
  steps: { limits: { steps: 2 }, allowed: 2, acts: "call:a call:b" },
  costUsd: { limits: { costUsd: 2 }, allowed: 2, acts: "costs:0.5 costs:2.5" },
  tokens: { limits: { tokens: 1000 }, allowed: 1000, acts: "uses:1000 uses:1001" },
  processes: { limits: { processes: 2 }, allowed: 2, acts: "tool:60" },
  memoryBytes: { limits: { memoryBytes: 300 * mib }, allowed: 300 * mib, acts: "eat:400" },
  cpuSeconds: { limits: { cpuSeconds: 1 }, allowed: 1, acts: "spin" },
  openFiles: { limits: { openFiles: 300 }, allowed: 300, acts: "opens:400" }
}

const isExceeded = (error: unknown): error is AgentError.AgentLimitExceeded =>
  error instanceof AgentError.AgentLimitExceeded

/** Leaves a process of a session of its own behind, says half of the answer, and goes too far. */
const prompt = ({ acts, silent }: Row, mark: string) =>
  `tool:60.${mark}${silent === true ? "" : " says:half"} ${acts}`.trim()

const args = ({ silent }: Row) => ["stays", ...(silent === true ? ["silent"] : [])]

const expectError = (error: AgentError.AgentLimitExceeded, limit: Limit, { allowed, silent }: Row) => {
  assert.deepStrictEqual([error.limit, error.allowed], [limit, allowed])
  assert.isAbove(error.measured, allowed)
  assert.include(error.message, limit)
  assert.strictEqual(error.partial.text, silent === true ? "" : "half")
  assert.strictEqual(error.partial.session?.id, silent === true ? undefined : "one")
  assert.strictEqual(error.partial.teardown?.verified, "empty")
}

const entries = Object.entries(rows) as ReadonlyArray<[Limit, Row]>

describe("every limit", { concurrent: true }, () => {
  for (const [limit, row] of entries) {
    for (const interactive of [false, true]) {
      it.scopedLive(`${limit}: ${interactive ? "in a dialogue" : "in one shot"}`, () =>
        Effect.gen(function*() {
          const mark = yield* makeMark
          const request = AgentRequest.make({ prompt: prompt(row, mark), interactive, extraArgs: args(row) })
          const run = yield* Agent.start(request, { limits: row.limits })
          const events: Array<AgentEvent.AgentEvent> = []
          const read = yield* Effect.flip(
            Stream.runForEach(run.events, (event) => Effect.sync(() => events.push(event)))
          )
          yield* expectGone(mark)
          if (!isExceeded(read)) return assert.fail(String(read))
          expectError(read, limit, row)
          // The one end, whoever asks for it.
          assert.strictEqual(yield* Effect.flip(run.outcome), read)
          assert.strictEqual(yield* Effect.flip(run.outcome), read)
          assert.strictEqual(yield* Effect.flip(Stream.runDrain(run.events)), read)
          assert.strictEqual((yield* run.tree.report).verified, "empty")
          assert.isEmpty(events.filter(({ _tag }) => _tag === "Finished"))
        }).pipe(Effect.provide(interactive ? talker : listener)))
    }

    it.scopedLive(`${limit}: in a turn of a conversation, and the next one goes on`, () =>
      Effect.gen(function*() {
        const mark = yield* makeMark
        const conversation = yield* Agent.conversation({ extraArgs: args(row) }, { limits: row.limits })
        const error = yield* Effect.flip(conversation.turn(prompt(row, mark)))
        yield* expectGone(mark)
        if (!isExceeded(error)) return assert.fail(String(error))
        expectError(error, limit, row)
        if (row.silent !== true) assert.strictEqual((yield* conversation.turn("answer")).stop, "completed")
      }).pipe(Effect.provide(talker)))
  }

  for (const interactive of [false, true]) {
    const way = interactive ? "in a dialogue" : "in one shot"
    it.scopedLive(`afterResult: ${way}, the answer is kept and what was left at work is ended`, () =>
      Effect.gen(function*() {
        const mark = yield* makeMark
        const request = AgentRequest.make({ prompt: `tool:60.${mark} answer`, interactive, extraArgs: ["stays"] })
        const run = yield* Agent.start(request, { limits: { afterResult: "1 second" } })
        yield* waitForSleepers(mark, 1)
        const outcome = yield* Effect.timeoutFail(run.outcome, { duration: "8 seconds", onTimeout: () => "too late" })
        yield* expectGone(mark)
        assert.deepStrictEqual([outcome.stop, outcome.teardown.verified], ["completed", "empty"])
        assert.strictEqual(yield* run.outcome, outcome)
        yield* Stream.runDrain(run.events)
      }).pipe(Effect.provide(interactive ? talker : listener)))
  }
})
