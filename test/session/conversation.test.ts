/**
 * Conversations of several turns in a named session.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Session from "effect-agents/Session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { failsWith } from "../conformance/harness.js"
import { listener, talker } from "../run/talker.js"
import * as TempDir from "../utils/TempDir.js"
import { inFiles, key, store } from "./support.js"

const session = Session.named(key.project, key.name)

const said = (turn: { readonly text: string }): { readonly turn: number; readonly resumed: boolean } =>
  JSON.parse(turn.text)

const id = Effect.flatMap(store, ({ get }) => Effect.map(get(key), Option.map((record) => record.id)))

const other = Effect.suspend(() => Agent.run(AgentRequest.make({ prompt: "answer", session })))

describe("a conversation in a named session", () => {
  it.scopedLive("holds the name while its process is warm, and is continued by the next one", () =>
    Effect.gen(function*() {
      const layer = Layer.provideMerge(talker, inFiles(yield* TempDir.make))
      yield* Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          const conversation = yield* Agent.conversation({ session })
          const first = said(yield* conversation.turn("answer"))
          assert.deepStrictEqual(yield* id, Option.some("one"))
          yield* failsWith("AgentSessionBusy", other)
          const second = said(yield* conversation.turn("answer"))
          assert.deepStrictEqual([first.turn, second.turn, first.resumed], [1, 2, false])
        }))
        assert.isTrue(said(yield* other).resumed)
      }).pipe(Effect.provide(layer))
    }))

  it.scopedLive("goes on by the name where every turn is a process", () =>
    Effect.gen(function*() {
      const layer = Layer.provideMerge(listener, inFiles(yield* TempDir.make))
      yield* Effect.gen(function*() {
        const conversation = yield* Agent.conversation({
          session: Session.named(key.project, key.name, { fork: true })
        })
        assert.isFalse(said(yield* conversation.turn("answer")).resumed)
        // Nobody has it between the turns.
        assert.isTrue(said(yield* other).resumed)
        // Forked once, where there was nothing to fork; from then on it is that branch.
        assert.isTrue(said(yield* conversation.turn("answer")).resumed)
        yield* Effect.scoped(Effect.gen(function*() {
          yield* Effect.flatMap(store, ({ lease }) => lease(key, "another"))
          yield* failsWith("AgentSessionBusy", conversation.turn("answer"))
        }))
        assert.isTrue(said(yield* conversation.turn("answer")).resumed)
      }).pipe(Effect.provide(layer))
    }))
})
