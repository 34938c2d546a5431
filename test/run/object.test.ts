/** What an answer that was mended has cost in all: the agent is a list of outcomes here. */
import { assert, describe, it } from "@effect/vitest"
import * as AgentError from "effect-agents/AgentError"
import type * as AgentOutcome from "effect-agents/AgentOutcome"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { finished } from "../../src/internal/run/conclude.js"
import { ask } from "../../src/internal/run/object.js"
import { outcome as anOutcome } from "../utils/Reports.js"

const outcome = (fields: Partial<AgentOutcome.AgentOutcome>) => anOutcome({ usage: { inputTokens: 10 }, ...fields })

const attempt = (attempt: number) => ({ reason: "overloaded", attempt })

const first = outcome({
  structured: { n: "one" },
  subAgents: { inputTokens: 5 },
  attempts: Array.from({ length: 30 }, (_, index) => attempt(index)),
  filesChanged: ["a.ts", "b.ts"]
})

const asking = <E>(runs: ReadonlyArray<Effect.Effect<AgentOutcome.AgentOutcome, E>>) => {
  const left = [...runs]
  return ask(
    "fake",
    AgentRequest.make({ prompt: "count" }),
    Schema.Struct({ n: Schema.Number }),
    runs.length - 1,
    () => Effect.suspend(() => left.shift() ?? Effect.die("one run too many"))
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
      const { outcome: whole, value } = yield* asking([first, second].map(Effect.succeed))
      assert.deepStrictEqual(value, { n: 1 })
      assert.deepStrictEqual(whole.usage, { inputTokens: 20 })
      assert.deepStrictEqual(whole.subAgents, { inputTokens: 5 })
      assert.deepStrictEqual(whole.filesChanged, ["a.ts", "b.ts", "c.ts"])
      assert.deepStrictEqual(whole.attempts.map(({ attempt }) => attempt), Array.from({ length: 32 }, (_, n) => n + 1))
    }))

  it.effect("and that could not be mended tells the same in its error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        asking([first, outcome({ subAgents: { inputTokens: 1 }, filesChanged: ["c.ts"] })].map(Effect.succeed))
      )
      assert.strictEqual(error._tag, "AgentOutputInvalid")
      if (error._tag !== "AgentOutputInvalid") return
      assert.deepStrictEqual(error.partial.usage, { inputTokens: 20 })
      assert.deepStrictEqual(error.partial.subAgents, { inputTokens: 6 })
      assert.deepStrictEqual(error.partial.filesChanged, ["a.ts", "b.ts", "c.ts"])
      assert.strictEqual(error.partial.attempts.length, 30)
    }))

  it.effect("and whose repair fails otherwise tells the same, and all that this failure says", () =>
    Effect.gen(function*() {
      const last = outcome({ subAgents: { inputTokens: 1 }, filesChanged: ["c.ts"] })
      const limited = new AgentError.AgentRateLimited({
        agent: "fake",
        detail: "slow down",
        status: 429,
        partial: { ...finished(last), text: "so far" },
        resetsAt: 7
      })
      const error = yield* Effect.flip(asking([Effect.succeed(first), Effect.succeed(first), limited]))
      assert.instanceOf(error, AgentError.AgentRateLimited)
      if (error._tag !== "AgentRateLimited") return
      const { partial, ...fields } = error
      const { partial: _, ...before } = limited
      assert.deepStrictEqual(fields, before)
      assert.deepStrictEqual(partial, {
        ...limited.partial,
        usage: { inputTokens: 30 },
        subAgents: { inputTokens: 11 },
        attempts: Array.from({ length: 32 }, (_, index) => attempt((index + 28) % 30)),
        filesChanged: ["a.ts", "b.ts", "c.ts"]
      })
    }))

  it.effect("a failure that tells nothing of a run, or is the caller's own, is as it was", () =>
    Effect.gen(function*() {
      const unsupported = new AgentError.AgentUnsupported({ agent: "fake", what: "this" })
      for (const error of [unsupported, { _tag: "theirs", partial: 1 } as const]) {
        assert.strictEqual(yield* Effect.flip(asking([Effect.succeed(first), Effect.fail(error)])), error)
      }
    }))
})
