/** Several turns with one agent, judged by its processes. */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import type * as AgentOutcome from "effect-agents/AgentOutcome"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { aliveWith, expectGone, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import { listener, talker } from "./talker.js"

const Said = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({
    turn: Schema.Number,
    pid: Schema.Number,
    resumed: Schema.Boolean,
    messages: Schema.Array(Schema.String)
  }))
)

const said = (turn: AgentOutcome.Turn) => Said(turn.text)

const open = Agent.conversation({})

describe("a conversation", () => {
  it.scopedLive("is one process for all of its turns", () =>
    Effect.gen(function*() {
      const conversation = yield* open
      const first = yield* conversation.turn("answer")
      const second = yield* conversation.turn("answer")
      assert.deepStrictEqual([said(first).turn, said(second).turn], [1, 2])
      assert.strictEqual(said(first).pid, said(second).pid)
      assert.strictEqual((yield* conversation.session)?.id, "one")
      assert.strictEqual(second.session.id, "one")
    }).pipe(Effect.provide(talker)))

  it.scopedLive("tells the events of each turn apart, and takes messages into it", () =>
    Effect.gen(function*() {
      const conversation = yield* open
      yield* conversation.turn("answer")
      yield* Effect.scoped(Effect.gen(function*() {
        const turn = yield* conversation.start("ask stay")
        const events = yield* Effect.fork(Stream.runCollect(turn.events))
        yield* turn.send("finish")
        assert.deepStrictEqual(said(yield* turn.outcome).messages, ["finish"])
        assert.deepStrictEqual(Array.from(yield* Fiber.join(events), ({ _tag }) => _tag), ["ApprovalRequested"])
      }))
    }).pipe(Effect.provide(talker)))

  it.scopedLive("lets one turn wait for the other", () =>
    Effect.gen(function*() {
      const conversation = yield* open
      const begun = yield* Deferred.make<void>()
      const held = yield* Effect.fork(Effect.scoped(
        Effect.flatMap(conversation.start("stay"), (turn) =>
          Deferred.succeed(begun, void 0).pipe(
            Effect.zipRight(Effect.sleep("50 millis")),
            Effect.zipRight(turn.send("finish")),
            Effect.zipRight(turn.outcome)
          ))
      ))
      yield* Deferred.await(begun)
      const waiting = yield* Effect.fork(conversation.turn("answer"))
      assert.strictEqual(said(yield* Fiber.join(held)).turn, 1)
      assert.strictEqual(said(yield* Fiber.join(waiting)).turn, 2)
    }).pipe(Effect.provide(talker)))

  it.scopedLive("goes on after a turn that was interrupted, whose tools are ended and whose servers are not", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      yield* Effect.scoped(Effect.gen(function*() {
        const conversation = yield* open
        const turn = yield* Effect.fork(conversation.turn(`server:100.${mark}1 tool:100.${mark}2 stay`))
        yield* waitForSleepers(mark, 2)
        yield* Fiber.interrupt(turn)
        const left = yield* aliveWith(mark)
        assert.deepStrictEqual(left.map(({ command }) => command), [`sleep 100.${mark}1`])
        assert.strictEqual(said(yield* conversation.turn("answer")).turn, 2)
      }))
      yield* expectGone(mark)
    }).pipe(Effect.provide(talker)))

  it.scopedLive("goes on in a new process after the end of its own, and leaves nothing of it", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const conversation = yield* open
      yield* conversation.turn("answer")
      const error = yield* Effect.flip(conversation.turn(`tool:100.${mark}3 die`))
      assert.strictEqual(error._tag, "AgentFailed")
      const third = said(yield* conversation.turn("answer"))
      assert.deepStrictEqual([third.turn, third.resumed], [1, true])
      yield* expectGone(mark)
    }).pipe(Effect.provide(talker)))

  it.scopedLive("waits for its turn without holding up whoever gives up waiting", () =>
    Effect.gen(function*() {
      const conversation = yield* open
      const held = yield* Effect.fork(conversation.turn("stay"))
      yield* waitUntil("the turn", Effect.map(conversation.session, () => true))
      const waiting = yield* Effect.fork(conversation.turn("answer"))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(held)
      assert.isDefined((yield* conversation.turn("answer")).text)
    }).pipe(Effect.provide(talker)))

  it.scopedLive("is a run a turn where the agent has no dialogue", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const conversation = yield* open
      const first = said(yield* conversation.turn("answer"))
      const second = said(yield* conversation.turn(`tool:100.${mark}4 answer`))
      yield* expectGone(mark)
      assert.notStrictEqual(first.pid, second.pid)
      assert.deepStrictEqual([first.resumed, second.resumed], [false, true])
    }).pipe(Effect.provide(listener)))
})
