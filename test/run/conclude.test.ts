import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import type * as AgentRun from "effect-agents/AgentRun"
import * as Claude from "effect-agents/Claude"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Session from "effect-agents/Session"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { conclude } from "../../src/internal/run/conclude.js"
import * as Limits from "../../src/internal/run/limits.js"
import { records } from "../drivers/replay.js"
import { empty as report } from "../utils/Reports.js"
import * as Request from "../utils/Request.js"

const { driver } = Claude
const asked = "0199a213-81c0-4800-8aa1-bbab2a035a53"
const context = { uuid: "0199a213-81c0-4800-8aa1-000000000000", cwd: "/", platform: "linux" }

/** What becomes of a run in which the agent says this. */
const concluded = (
  request: AgentDriver.Request,
  records: ReadonlyArray<AgentDriver.JsonRecord>,
  exit = { code: 0, signal: null },
  limits: AgentRun.Limits = {}
) => {
  const spent = Limits.begun(0)
  const state = records.reduce((state, record) => {
    const step = driver.protocol.step(state, record)
    Limits.spend(spent, limits, step.events, 0)
    return step.state
  }, driver.protocol.initial(request, context))
  return conclude({
    driver,
    request,
    cwd: "/",
    state,
    started: true,
    records: records.length,
    unparsed: 1,
    noise: ["a banner"],
    rateLimit: { status: "allowed" },
    attempts: [],
    filesChanged: [],
    cut: false,
    exit,
    exitedAlone: true,
    stderrTail: "",
    stopped: { _tag: "Ended" },
    interrupted: false,
    spent,
    limits,
    teardown: report,
    durationMs: 1
  })
}

/** What becomes of a run in which the agent names `session` and answers. */
const answered = (request: AgentDriver.Request, session: string, exit = { code: 0, signal: null }) =>
  concluded(request, [
    { type: "system", subtype: "init", session_id: session, model: "m" },
    { type: "result", subtype: "success", is_error: false, result: "done", session_id: session, usage: {} }
  ], exit)

const ask = (session: Session.Session) => Request.make({ prompt: "x", session })

describe("the end of a run", () => {
  it("is no success when a branch was asked for and the conversation itself went on", () => {
    const wrong = answered(ask(Session.fork(asked)), asked)
    assert.isTrue(Either.isLeft(wrong) && wrong.left._tag === "AgentTurnFailed" && wrong.left.stop === "other")
    assert.isTrue(Either.isRight(answered(ask(Session.fork(asked)), context.uuid)))
    assert.isTrue(Either.isRight(answered(ask(Session.resume(asked)), asked)))
  })

  it("carries what was said of the quota, and the first line that was no record", () => {
    const outcome = answered(ask(Session.fresh()), asked)
    assert.deepStrictEqual(Either.getOrThrow(outcome).rateLimit, { status: "allowed" })
    assert.strictEqual(Either.getOrThrow(outcome).firstUnparsed, "a banner")
  })

  it("keeps the answer of an agent that ended badly after it", () => {
    const bad = answered(ask(Session.fresh()), asked, { code: 3, signal: null })
    assert.isTrue(Either.isLeft(bad) && bad.left._tag === "AgentFailed" && bad.left.code === 3)
    assert.strictEqual(Either.isLeft(bad) && "partial" in bad.left ? bad.left.partial.text : "", "done")
  })
})

describe("a turn that the agent itself ends for a limit", () => {
  const ended = { code: 1, signal: null }
  const ofTurns = records("claude-max-turns")
  const ofMoney = (stop_reason: string, fields: AgentDriver.JsonRecord = {}) => [
    { type: "system", subtype: "init", session_id: asked, model: "m" },
    { type: "assistant", message: { id: "m", content: [{ type: "text", text: "done" }] }, session_id: asked },
    {
      type: "result",
      subtype: "error_max_budget_usd",
      is_error: true,
      stop_reason,
      errors: ["Reached maximum budget ($0.5)"],
      total_cost_usd: 0.6,
      session_id: asked,
      ...fields
    }
  ]
  const failed = (...args: Parameters<typeof concluded>) => Either.getOrThrow(Either.flip(concluded(...args)))

  it("is what our own count would have made of it", () => {
    const turns = failed(ask(Session.fresh()), ofTurns, ended, { turns: 3 })
    assert.deepInclude({ ...turns }, { _tag: "AgentLimitExceeded", limit: "turns", allowed: 3, measured: 4 })
    const money = failed(ask(Session.fresh()), ofMoney("tool_use"), ended, { costUsd: 0.5 })
    assert.deepInclude({ ...money }, { _tag: "AgentLimitExceeded", limit: "costUsd", allowed: 0.5, measured: 0.6 })
    for (const error of [turns, money]) {
      if (error._tag !== "AgentLimitExceeded") return assert.fail(error.message)
      assert.isString(error.partial.session?.id)
      assert.isAbove(error.partial.usage.costUsd ?? 0, 0)
    }
    assert.strictEqual(money._tag === "AgentLimitExceeded" && money.partial.text, "done")
  })

  it("is none of the run's where it was another", () => {
    for (const limits of [{}, { turns: 4 }, { costUsd: 1 }]) {
      for (const said of [ofTurns, ofMoney("tool_use")]) {
        assert.strictEqual(failed(ask(Session.fresh()), said, ended, limits)._tag, "AgentTurnFailed")
      }
    }
  })

  it("is an answer all the same, where that took the last of the money", () => {
    const outcome = Either.getOrThrow(concluded(ask(Session.fresh()), ofMoney("end_turn"), ended, { costUsd: 0.5 }))
    assert.deepInclude({ ...outcome }, { text: "done", stop: "max-budget" })
    const schema = Request.make({ prompt: "x", outputSchema: { type: "object" } })
    assert.strictEqual(failed(schema, ofMoney("end_turn"), ended, { costUsd: 0.5 })._tag, "AgentLimitExceeded")
  })
})

describe("the reference of a conversation", () => {
  it.scopedLive("is refused by any other agent, before anything is started", () =>
    Effect.gen(function*() {
      const claude = yield* Claude.make({ program: "/nowhere" })
      for (const make of [Session.resume, Session.fork]) {
        const error = yield* Effect.flip(claude.start(ask(make({ agent: "codex", id: asked }))))
        assert.strictEqual(error._tag, "AgentUnsupported")
        assert.include(error.message, "codex")
      }
      const own = yield* Effect.flip(claude.start(ask(Session.resume({ agent: claude.name, id: asked }))))
      assert.strictEqual(own._tag, "AgentNotInstalled")
    }).pipe(Effect.provide(Layer.fresh(NodeProcessTree.layer))))
})
