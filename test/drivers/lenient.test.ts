import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as FastCheck from "effect/FastCheck"
import { readdirSync } from "node:fs"
import { ask, isEvent, records, type Replay, replay } from "./replay.js"

const captured = (agent: string): ReadonlyArray<string> =>
  readdirSync(new URL("../fixtures/", import.meta.url)).flatMap((file) =>
    file.startsWith(`${agent}-`) && file.endsWith(".jsonl") ? [file.slice(0, -".jsonl".length)] : []
  )

const assertTyped = (played: Replay): void => {
  for (const event of played.events) {
    assert.isTrue(isEvent({ ...event, at: 0, seq: 0 }), JSON.stringify(event))
  }
  assert.isString(played.progress.text)
  for (const amount of Object.values(played.progress.usage)) assert.isTrue(Number.isFinite(amount))
}

/** The same value with its keys in the opposite order, all the way down. */
const turned = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(turned)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).reverse().map(([key, member]) => [key, turned(member)]))
    : value

const isRecord = (value: unknown): value is AgentDriver.JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const json = FastCheck.jsonValue({ maxDepth: 3 })

/** A record in which the value at one place, chosen by `at`, is replaced or taken out. */
const damaged = (value: unknown, at: number, other: unknown): unknown => {
  let index = 0
  const walk = (here: unknown): unknown => {
    if (index++ === at) return other
    if (Array.isArray(here)) return here.map(walk)
    return isRecord(here)
      ? Object.fromEntries(
        Object.entries(here).flatMap(([key, member]) => {
          const next = walk(member)
          return next === undefined ? [] : [[key, next]]
        })
      )
      : here
  }
  return walk(value)
}

/** Records that look like those of an agent from outside, with anything inside. */
const likely = (types: ReadonlyArray<string>) =>
  FastCheck.record({
    type: FastCheck.constantFrom(...types),
    subtype: FastCheck.constantFrom("init", "status", "api_retry", "permission_denied", "success", undefined),
    message: json,
    event: json,
    item: json,
    data: json,
    error: json,
    usage: json,
    modelUsage: json,
    session_id: json,
    is_error: json,
    exitCode: json
  }, { requiredKeys: ["type"] })

const suite = <S>(agent: string, driver: AgentDriver.AgentDriver<S>, types: ReadonlyArray<string>): void => {
  const requests = [ask(), ask({ outputSchema: { type: "object" } })]

  it("captured lines become events, none of them in silence", () => {
    const names = captured(agent)
    assert.isAbove(names.length, 8)
    for (const name of names) {
      const lines = records(name)
      assertTyped(replay(driver, lines))
      let state = driver.protocol.initial(ask(), { uuid: "u", cwd: "/", platform: "linux" })
      lines.forEach((line, index) => {
        const step = driver.protocol.step(state, line)
        state = step.state
        const isRepeated = String(line["type"]).endsWith("background_tasks_changed")
          && lines[index - 1]?.["type"] === line["type"]
        assert.isTrue(step.events.length > 0 || isRepeated, `${name}, line ${index + 1}`)
      })
    }
  })

  it("the order of keys does not matter", () => {
    for (const name of captured(agent)) {
      const lines = records(name)
      const [straight, reversed] = [replay(driver, lines), replay(driver, lines.map(turned).filter(isRecord))]
      assert.deepStrictEqual(reversed.events, straight.events)
      assert.deepStrictEqual(reversed.progress, straight.progress)
    }
  })

  it("any JSON object is read", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.oneof(FastCheck.dictionary(FastCheck.string(), json), likely(types)), {
          maxLength: 8
        }),
        FastCheck.constantFrom(...requests),
        (lines, request) => {
          const played = replay(driver, lines.filter(isRecord), request)
          assertTyped(played)
          played.diagnose({ noise: lines.map((line) => JSON.stringify(line)) })
        }
      ),
      { numRuns: 500 }
    )
  })

  it("a captured run is read, whatever is missing or wrong in one of its places", () => {
    const runs = captured(agent).map(records)
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom(...runs),
        FastCheck.nat(1000),
        FastCheck.nat(200),
        FastCheck.option(json, { nil: undefined }),
        (lines, which, at, other) => {
          const hit = which % lines.length
          assertTyped(
            replay(driver, lines.map((line, i) => i === hit ? damaged(line, at, other) : line).filter(isRecord))
          )
        }
      ),
      { numRuns: 300 }
    )
  })
}

describe("claude", () =>
  suite("claude", Claude.driver, ["system", "assistant", "user", "stream_event", "result", "rate_limit_event"]))

describe("codex", () =>
  suite("codex", Codex.driver, [
    "thread.started",
    "item.started",
    "item.completed",
    "turn.completed",
    "turn.failed",
    "error"
  ]))

describe("copilot", () =>
  suite("copilot", Copilot.driver, [
    "assistant.message",
    "assistant.message_delta",
    "tool.execution_complete",
    "session.error",
    "abort",
    "result"
  ]))
