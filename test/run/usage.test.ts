/** Figures of several runs, and what they say of the context. */
import { assert, describe, it } from "@effect/vitest"
import * as AgentOutcome from "effect-agents/AgentOutcome"
import * as Option from "effect/Option"

describe("the usage of several runs", () => {
  it("counters are summed, a silent run erases nothing", () => {
    const first = { inputTokens: 10, costUsd: 0.5, contextTokens: 900, contextWindow: 1000 }
    const second = { inputTokens: 5, outputTokens: 7, contextTokens: 100 }
    const sum = { inputTokens: 15, outputTokens: 7, costUsd: 0.5, contextTokens: 100, contextWindow: 1000 }
    assert.deepStrictEqual(AgentOutcome.addUsage(first, second), sum)
    assert.deepStrictEqual(AgentOutcome.addUsage(sum, {}), sum)
    assert.deepStrictEqual(AgentOutcome.addUsage({}, sum), sum)
  })
})

describe("the share of the context that is full", () => {
  it("none unless both figures are known", () => {
    const share = (usage: AgentOutcome.Usage) => Option.getOrUndefined(AgentOutcome.contextUsed(usage))
    assert.strictEqual(share({ contextTokens: 250, contextWindow: 1000 }), 0.25)
    for (const usage of [{}, { contextTokens: 1 }, { contextWindow: 1 }, { contextTokens: 1, contextWindow: 0 }]) {
      assert.isUndefined(share(usage))
    }
  })
})
