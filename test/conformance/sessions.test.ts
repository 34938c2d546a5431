/**
 * Conversations: new, continued, branched.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as Session from "effect-agents/Session"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import * as TempDir from "../utils/TempDir.js"
import { conformance, failsWith } from "./harness.js"

conformance("sessions", (agent) => {
  const { layer, name, request } = agent
  const talk = (state: string, prompt: string, session?: Session.Session) =>
    Agent.run(request({ name: "TALK", state }, { prompt, ...(session === undefined ? {} : { session }) }))

  it.scopedLive("two turns, the second knows of the first", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const first = yield* talk(state, "My name is Ada")
      const second = yield* talk(state, "What is my name?", Session.resume(first.session))
      assert.strictEqual(second.session.id, first.session.id)
      assert.strictEqual(second.text, "My name is Ada / What is my name?")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("two new conversations know nothing of each other", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const first = yield* talk(state, "My name is Ada")
      const second = yield* talk(state, "What is my name?")
      assert.notStrictEqual(second.session.id, first.session.id)
      assert.strictEqual(second.text, "What is my name?")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("of several at once each continues its own", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const names = ["Ada", "Ben", "Eve"]
      const firsts = yield* Effect.forEach(names, (name) => talk(state, name), { concurrency: "unbounded" })
      const seconds = yield* Effect.forEach(firsts, ({ session }) => talk(state, "And?", Session.resume(session)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(seconds.map(({ text }) => text), names.map((name) => `${name} / And?`))
    }).pipe(Effect.provide(layer())))

  if (name !== "copilot") {
    it.scopedLive("a branch has an id of its own, and the original stays as it is", () =>
      Effect.gen(function*() {
        const state = yield* TempDir.make
        const first = yield* talk(state, "My name is Ada")
        const branch = yield* talk(state, "I changed it", Session.fork(first.session))
        assert.notStrictEqual(branch.session.id, first.session.id)
        assert.strictEqual(branch.text, "My name is Ada / I changed it")
        const original = yield* talk(state, "What is it?", Session.resume(first.session))
        assert.strictEqual(original.text, "My name is Ada / What is it?")
        const branched = yield* talk(state, "What is it?", Session.resume(branch.session))
        assert.strictEqual(branched.text, "My name is Ada / I changed it / What is it?")
      }).pipe(Effect.provide(layer())))
  }

  if (name !== "codex") {
    it.scopedLive("a new conversation takes the id of the caller", () =>
      Effect.gen(function*() {
        const state = yield* TempDir.make
        const id = randomUUID()
        const first = yield* talk(state, "My name is Ada", Session.fresh(id))
        assert.strictEqual(first.session.id, id)
        assert.strictEqual((yield* talk(state, "And?", Session.resume(id))).text, "My name is Ada / And?")
      }).pipe(Effect.provide(layer())))
  }

  it.scopedLive("the newest id wins", () =>
    Effect.gen(function*() {
      const first = randomUUID()
      const outcome = yield* Agent.run(request({ name: "RENAMED", session: first }))
      assert.notStrictEqual(outcome.session.id, first)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("a resume that silently began something new is an error", () =>
    Effect.gen(function*() {
      const id = randomUUID()
      const error = yield* failsWith(
        "AgentSessionNotFound",
        Agent.run(request({ name: "AMNESIC" }, { session: Session.resume(id) }))
      )
      assert.strictEqual(error.id, id)
      assert.isString(error.startedInstead)
      assert.notStrictEqual(error.startedInstead, id)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("an id that the CLI never gave is not found, whatever it does about it", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const error = yield* Effect.flip(talk(state, "And?", Session.resume("not-an-id-of-this-agent")))
      assert.strictEqual(error._tag, "AgentSessionNotFound")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("a failed turn tells where to continue", () =>
    Effect.gen(function*() {
      const id = randomUUID()
      const error = yield* failsWith(
        "AgentRateLimited",
        Agent.run(request({ name: "FAIL", kind: "rate", session: id }))
      )
      assert.strictEqual(error.partial.session?.id, id)
      assert.strictEqual(error.partial.resumable, "yes")
    }).pipe(Effect.provide(layer())))
})
