/** What a run may take, and what becomes of one that takes more. */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import type * as AgentRun from "effect-agents/AgentRun"
import * as Approval from "effect-agents/Approval"
import * as Teardown from "effect-agents/Teardown"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { expectGone, makeMark } from "../utils/Processes.js"
import { generated, talker } from "./talker.js"

const ask = (prompt: string, ...extraArgs: ReadonlyArray<string>) =>
  AgentRequest.make({ prompt, interactive: true, extraArgs })

const beyond = (prompt: string, limits: AgentRun.Limits, options: AgentRun.Options = {}) =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(Agent.run(ask(prompt), { ...options, limits }))
    if (error._tag !== "AgentLimitExceeded") return assert.fail(String(error))
    assert.isAbove(error.measured, error.allowed)
    assert.strictEqual(error.partial.teardown?.verified, "empty")
    assert.strictEqual(error.partial.session?.id, "one")
    return error
  }).pipe(Effect.provide(talker))

const within = (prompt: string, limits: AgentRun.Limits, options: AgentRun.Options = {}) =>
  Effect.map(Agent.run(ask(prompt), { ...options, limits }), ({ stop }) => assert.strictEqual(stop, "completed")).pipe(
    Effect.provide(talker)
  )

describe("limits of a run", () => {
  it.scopedLive("wall: the whole time, and all of its processes go", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const error = yield* beyond(`tool:100.${mark}1 loop`, { wall: "1 second" })
      assert.deepStrictEqual([error.limit, error.allowed], ["wall", 1000])
      yield* expectGone(mark)
    }))

  it.live("wall: also of one whose answer is complete, while its reader has stopped; the answer holds", () =>
    Effect.scoped(Effect.gen(function*() {
      const steps = [
        { do: "say", record: { type: "answer", text: "done" } },
        { do: "say", record: { type: "new", pad: "x", size: 70_000 }, times: 100 }
      ]
      const program = { steps, cuts: [], deaf: [], stubborn: true }
      const run = yield* Agent.start(ask("play", JSON.stringify(program)), {
        limits: { wall: "1 second" },
        teardown: Teardown.immediate
      })
      const reading = yield* Deferred.make<void>()
      const stopped = Effect.zipRight(Deferred.succeed(reading, void 0), Effect.never)
      yield* Effect.forkScoped(Stream.runForEach(run.events, () => stopped))
      yield* Deferred.await(reading)
      const outcome = yield* Effect.timeoutFail(run.outcome, { duration: "10 seconds", onTimeout: () => "stuck" })
      assert.deepStrictEqual([outcome.stop, outcome.teardown.verified], ["completed", "empty"])
    })).pipe(Effect.provide(generated)))

  it.live("idle: nothing for so long, though it goes on trying to reach its provider", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* beyond("retry", { idle: "1 second" })).limit, "idle")
      const other = yield* beyond("retry", { idle: "1 second", wall: "3 seconds", retriesAreActivity: true })
      assert.strictEqual(other.limit, "wall")
    }))

  it.live("idle: an open tool call is not idleness, but has a limit of its own", () =>
    Effect.gen(function*() {
      const error = yield* beyond("call:a", { idle: "1 second", tool: "2500 millis" })
      assert.deepStrictEqual([error.limit, error.partial.openToolCalls.length], ["tool", 1])
      assert.strictEqual((yield* beyond("call:a returned:a", { idle: "1 second" })).limit, "idle")
    }))

  it.live("idle, tool: nobody is hurried by a question that waits", () =>
    within("call:q ask", { idle: "1 second", tool: "1 second" }, {
      approve: () => Effect.as(Effect.sleep("2500 millis"), Approval.allow())
    }))

  it.live("firstEvent: an agent that never speaks", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Agent.run(ask("stay", "silent"), { limits: { firstEvent: "1 second" } }))
      assert.strictEqual(error._tag === "AgentLimitExceeded" ? error.limit : error._tag, "firstEvent")
    }).pipe(Effect.provide(talker)))

  it.live("steps: an agent that goes round in circles", () =>
    Effect.gen(function*() {
      const error = yield* beyond("loop", { steps: 20 })
      assert.deepStrictEqual([error.limit, error.measured], ["steps", 21])
    }))

  it.live("turns: the model is asked once, and again after each round of tools", () =>
    Effect.gen(function*() {
      const twice = "call:a call:b returned:a returned:b call:c returned:c"
      assert.strictEqual((yield* beyond(`${twice} call:d stay`, { turns: 2 })).limit, "turns")
      yield* within(`${twice} answer`, { turns: 2 })
    }))

  it.live("one that is no number lets nothing through", () =>
    Effect.gen(function*() {
      for (const limit of ["turns", "steps", "costUsd", "tokens"] as const) {
        const limits: AgentRun.Limits = { [limit]: Number.NaN, wall: "10 seconds" }
        const error = yield* Effect.flip(Agent.run(ask("costs:0.5 stay"), { limits }))
        assert.deepInclude({ ...error }, { _tag: "AgentLimitExceeded", limit })
      }
    }).pipe(Effect.provide(talker)))

  it.live("costUsd: as far as it is told", () =>
    Effect.gen(function*() {
      const error = yield* beyond("costs:0.5 costs:2.5 stay", { costUsd: 2 })
      assert.deepStrictEqual([error.limit, error.allowed, error.measured], ["costUsd", 2, 2.5])
    }))

  it.live("an answer that is complete is not thrown away", () =>
    within("costs:1 answer", { costUsd: 5, wall: "20 seconds", idle: "10 seconds", steps: 1 }))
})
