/** What an answer that was mended has cost in all: the agent is a list of outcomes here. */
import { assert, describe, it } from "@effect/vitest"
import * as AgentOutcome from "effect-agents/AgentOutcome"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Session from "effect-agents/Session"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ask } from "../../src/internal/run/object.js"
import { empty } from "../utils/Reports.js"

const outcome = (fields: Partial<AgentOutcome.AgentOutcome>) =>
  AgentOutcome.AgentOutcome.make({
    agent: "fake",
    session: Session.SessionRef.make({ agent: "fake", id: "s1", cwd: "/" }),
    text: "",
    usage: { inputTokens: 10 },
    attempts: [],
    filesChanged: [],
    stop: "completed",
    exit: { code: 0, signal: null },
    stderrTail: "",
    unparsed: 0,
    durationMs: 1,
    teardown: empty,
    ...fields
  })

const attempt = (attempt: number) => ({ reason: "overloaded", attempt })

const first = outcome({
  structured: { n: "one" },
  subAgents: { inputTokens: 5 },
  attempts: Array.from({ length: 30 }, (_, index) => attempt(index)),
  filesChanged: ["a.ts", "b.ts"]
})

const asking = (outcomes: ReadonlyArray<AgentOutcome.AgentOutcome>) => {
  const left = [...outcomes]
  return ask(
    "fake",
    AgentRequest.make({ prompt: "count" }),
    Schema.Struct({ n: Schema.Number }),
    outcomes.length - 1,
    () => Effect.sync(() => left.shift() ?? first)
  )
}

describe("an answer that was mended", () => {
  it.effect("has what all its runs have used, tried and changed", () =>
    Effect.gen(function*() {
      const second = outcome({
        structured: { n: 1 },
        attempts: [30, 31, 32].map(attempt),
        filesChanged: ["b.ts", "c.ts"]
      })
      const { outcome: whole, value } = yield* asking([first, second])
      assert.deepStrictEqual(value, { n: 1 })
      assert.deepStrictEqual(whole.usage, { inputTokens: 20 })
      assert.deepStrictEqual(whole.subAgents, { inputTokens: 5 })
      assert.deepStrictEqual(whole.filesChanged, ["a.ts", "b.ts", "c.ts"])
      assert.deepStrictEqual(whole.attempts.map(({ attempt }) => attempt), Array.from({ length: 32 }, (_, n) => n + 1))
    }))

  it.effect("and that could not be mended tells the same in its error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        asking([first, outcome({ subAgents: { inputTokens: 1 }, filesChanged: ["c.ts"] })])
      )
      assert.strictEqual(error._tag, "AgentOutputInvalid")
      if (error._tag !== "AgentOutputInvalid") return
      assert.deepStrictEqual(error.partial.usage, { inputTokens: 20 })
      assert.deepStrictEqual(error.partial.subAgents, { inputTokens: 6 })
      assert.deepStrictEqual(error.partial.filesChanged, ["a.ts", "b.ts", "c.ts"])
      assert.strictEqual(error.partial.attempts.length, 30)
    }))
})
