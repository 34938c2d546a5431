import { assert, describe, it } from "@effect/vitest"
import type { AgentEvent } from "effect-agents"
import { stamp } from "../../src/internal/run/reading.js"

describe("stamp", () => {
  const text: AgentEvent.Unstamped = { _tag: "Text", text: "a" }

  it("stamps an event that a driver tells twice as two", () => {
    const event = { ...text }
    const events = [stamp(event, 5, 0), stamp(event, 6, 1)]
    assert.deepStrictEqual(events, [{ ...text, at: 5, seq: 0 }, { ...text, at: 6, seq: 1 }])
  })

  it("leaves an event alone that must not change", () => {
    const event = Object.freeze({ ...text })
    assert.deepStrictEqual(stamp(event, 5, 0), { ...text, at: 5, seq: 0 })
    assert.deepStrictEqual(event, text)
  })
})
