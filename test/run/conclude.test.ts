import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Claude from "effect-agents/Claude"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Session from "effect-agents/Session"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { conclude } from "../../src/internal/run/conclude.js"
import { empty as report } from "../utils/Reports.js"
import * as Request from "../utils/Request.js"

const { driver } = Claude
const asked = "0199a213-81c0-4800-8aa1-bbab2a035a53"
const context = { uuid: "0199a213-81c0-4800-8aa1-000000000000", cwd: "/", platform: "linux" }

/** What becomes of a run in which the agent names `session` and answers. */
const answered = (request: AgentDriver.Request, session: string, exit = { code: 0, signal: null }) => {
  const records = [
    { type: "system", subtype: "init", session_id: session, model: "m" },
    { type: "result", subtype: "success", is_error: false, result: "done", session_id: session, usage: {} }
  ]
  const state = records.reduce(
    (state, record) => driver.protocol.step(state, record).state,
    driver.protocol.initial(request, context)
  )
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
    teardown: report,
    durationMs: 1
  })
}

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
