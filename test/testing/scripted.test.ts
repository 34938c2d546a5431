/** A scripted agent, under the clock of the test. */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Approval from "effect-agents/Approval"
import * as Session from "effect-agents/Session"
import { ScriptedAgent } from "effect-agents/testing"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"

const request = AgentRequest.make({ prompt: "Review" })

const playing = (script: ScriptedAgent.Script) => Effect.provide(ScriptedAgent.layer(script))

const asking: ScriptedAgent.Script = () => [
  {
    _tag: "Ask",
    tool: "Bash",
    input: { command: "make" },
    allowed: [{ _tag: "Answer", text: "made" }],
    denied: [{ _tag: "Answer", text: "left" }]
  }
]

describe("a scripted agent", () => {
  it.effect("waits on the clock of the test, and tells what a real one would", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(Stream.runCollect(Agent.stream(request)))
      yield* TestClock.adjust("59 minutes")
      assert.isNull(yield* fiber.poll.pipe(Effect.map((polled) => polled._tag === "None" ? null : polled)))
      yield* TestClock.adjust("1 minute")
      const events = Chunk.toReadonlyArray(yield* Fiber.join(fiber))
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Started", "Text", "Text", "Finished"])
      assert.deepStrictEqual(events.map(({ at }) => at), [0, 0, 3_600_000, 3_600_000])
    }).pipe(
      playing(() => [
        { _tag: "Text", text: "a" },
        { _tag: "Wait", duration: "1 hour" },
        { _tag: "Text", text: "b" },
        { _tag: "Answer" }
      ])
    ))

  it.effect("can be probed, without a turn of its script", () =>
    Effect.gen(function*() {
      const { account, agent, problems, version } = yield* Agent.probe()
      assert.deepStrictEqual({ account, agent, problems, version }, {
        account: { login: "unknown" },
        agent: "scripted",
        problems: [],
        version: "1.0.0"
      })
    }).pipe(playing(() => assert.fail("a turn"))))

  it.effect("is ended at a limit", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(Effect.flip(Agent.run(request, { limits: { wall: "1 minute" } })))
      yield* TestClock.adjust("61 seconds")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag === "AgentLimitExceeded" ? error.limit : error._tag, "wall")
    }).pipe(playing(() => [{ _tag: "Wait", duration: "1 day" }])))

  it.effect("asks, and goes on by the answer; nobody there is a no", () =>
    Effect.gen(function*() {
      const answers = yield* Effect.forEach([Approval.allow(), Approval.deny()], (decision) =>
        Agent.run(request, { approve: () => Effect.succeed(decision) }))
      const alone = yield* Agent.run(request)
      assert.deepStrictEqual(
        [...answers, alone].map(({ text }) =>
          text
        ),
        ["made", "left", "left"]
      )
    }).pipe(playing(asking)))

  it.effect("fails as a real one does", () =>
    Effect.gen(function*() {
      const tags = yield* Effect.forEach(["limited", "crash", "silent", "bug"], (prompt) =>
        Effect.map(Effect.flip(Agent.run(AgentRequest.make({ prompt }))), (error) => [error._tag, error.message]))
      assert.deepStrictEqual(
        tags.map(([tag]) =>
          tag
        ),
        [
          "AgentRateLimited",
          "AgentFailed",
          "AgentIncomplete",
          "AgentFailed"
        ]
      )
      assert.include(tags[1]?.[1], "out of memory")
      assert.include(tags[3]?.[1], "no such turn")
    }).pipe(
      playing(({ prompt }) => {
        if (prompt === "bug") throw new Error("no such turn")
        return prompt === "limited"
          ? [{ _tag: "Fail", kind: "rate-limited", detail: "slow down" }]
          : prompt === "crash"
          ? [{ _tag: "Exit", code: 137, stderr: "out of memory" }]
          : []
      })
    ))

  it.effect("counts the turns of a conversation, over runs that resume and branch it", () =>
    Effect.gen(function*() {
      const first = yield* Agent.run(request)
      const ask = (session: Session.Session) => Agent.run(AgentRequest.make({ prompt: "on", session }))
      const second = yield* ask(Session.resume(first.session))
      const branch = yield* ask(Session.fork(first.session))
      assert.deepStrictEqual([first, second, branch].map(({ text }) => text), ["1", "2", "3"])
      assert.strictEqual(second.session.id, first.session.id)
      assert.notStrictEqual(branch.session.id, first.session.id)
      const named = yield* Effect.forEach([1, 2], () => ask(Session.named("project", "review")))
      assert.deepStrictEqual(named.map(({ text }) => text), ["1", "2"])
    }).pipe(playing(({ number }) => [{ _tag: "Answer", text: `${number}` }])))

  it.effect("has conversations, whose turns can be interrupted", () =>
    Effect.scoped(Effect.gen(function*() {
      const { start, turn } = yield* Agent.conversation({})
      assert.strictEqual((yield* turn("one")).text, "one 1")
      yield* Effect.scoped(Effect.gen(function*() {
        const { interrupt, outcome } = yield* start("long")
        yield* interrupt
        assert.strictEqual((yield* outcome).stop, "interrupted")
      }))
      assert.strictEqual((yield* turn("three")).text, "three 3")
    })).pipe(
      playing(({ number, prompt }) => [
        ...(prompt === "long" ? [{ _tag: "Wait", duration: "1 day" } as const] : []),
        { _tag: "Answer", text: `${prompt} ${number}` }
      ])
    ))

  it.effect("gives values, and repairs one that does not fit", () =>
    Effect.gen(function*() {
      const { repairs, value } = yield* Agent.object(request, Schema.Struct({ line: Schema.Int }))
      assert.deepStrictEqual({ repairs, value }, { repairs: 1, value: { line: 2 } })
    }).pipe(playing(({ number }) => [{ _tag: "Answer", structured: { line: number === 1 ? "two" : 2 } }])))

  it.effect("ends when its run is interrupted", () =>
    Effect.gen(function*() {
      const late = yield* Effect.fork(Effect.timeoutOption(Agent.run(request), "1 minute"))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(late))._tag, "None")
    }).pipe(playing(() => [{ _tag: "Wait", duration: "1 day" }])))
})
