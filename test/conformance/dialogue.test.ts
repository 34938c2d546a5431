/** Claude Code and Codex in a dialogue, as fakes that misbehave: what `fake-acp` is for Copilot. */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import type * as AgentRun from "effect-agents/AgentRun"
import * as Approval from "effect-agents/Approval"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { fileURLToPath } from "node:url"

const program = (name: string): string => fileURLToPath(new URL(`../fakes/fake-${name}-dialogue`, import.meta.url))

const say = (prompt: string, badly = "") =>
  AgentRequest.make({
    prompt,
    permission: "Edit",
    interactive: true,
    env: { FAKE_NODE: process.execPath, FAKE_DIALOGUE: badly }
  })

const allow: Approval.Handler = () => Effect.succeed(Approval.allow())

const fakes = {
  claude: {
    layer: Claude.layer({ program: program("claude") }),
    allowed: "allow {",
    always: "for ever",
    refusal: "This client does not know the request"
  },
  codex: {
    layer: Codex.layer({ program: program("codex") }),
    allowed: "\"accept\"",
    always: "acceptForSession",
    refusal: "-32601"
  }
}

describe.each(["claude", "codex"] as const)("a dialogue with a fake of %s", (name) => {
  const { allowed, always, layer, refusal } = fakes[name]
  const fake = Layer.provideMerge(layer, NodeProcessTree.layer)

  const run = <E = never, R = never>(request: AgentRequest.AgentRequest, options?: AgentRun.Options<E, R>) =>
    Effect.provide(Agent.run(request, options), fake)

  const failing = (request: AgentRequest.AgentRequest, options?: AgentRun.Options) =>
    Effect.map(Effect.flip(run(request, options)), ({ _tag }) => _tag)

  const answered = (prompt: string, decision: Approval.Decision) =>
    Effect.map(run(say(prompt), { approve: () => Effect.succeed(decision) }), ({ text }) => text)

  it.live("what nobody knows is refused, and the turn goes on", () =>
    Effect.gen(function*() {
      assert.include((yield* run(say("unknown wait tell end"))).text, refusal)
    }))

  it.live("a question may have the id of a request of ours, and is answered as the caller says", () =>
    Effect.gen(function*() {
      assert.include(yield* answered("ask wait tell end", Approval.allow()), allowed)
      assert.include(yield* answered("askAlways wait tell end", Approval.allowForSession), always)
      // Codex hears the reason apart from the refusal.
      const denied = name === "codex" ? "ask wait wait tell end" : "ask wait tell end"
      assert.include(yield* answered(denied, Approval.deny("not on a full moon")), "not on a full moon")
    }))

  it.live("several questions at once, each with its own answer", () =>
    Effect.gen(function*() {
      const waiting = yield* Deferred.make<void>()
      const { text } = yield* run(say("ask:a ask:b ask:c wait wait wait tell end"), {
        // The last one is answered first.
        approve: ({ id }) =>
          id === "c"
            ? Effect.as(Deferred.succeed(waiting, void 0), Approval.deny())
            : Effect.as(Deferred.await(waiting), Approval.allow())
      })
      const [, ...answers]: ReadonlyArray<string> = JSON.parse(text)
      assert.deepStrictEqual(answers.map((answer) => /deny|decline/.test(answer)), [true, false, false])
    }))

  it.live("another input than it asked for is what it does, or the end of the run", () =>
    Effect.gen(function*() {
      const edited = Approval.allow({ input: { command: "ls -a" } })
      if (name === "claude") assert.include(yield* answered("ask wait tell end", edited), "ls -a")
      else {assert.strictEqual(
          yield* Effect.flip(answered("ask wait end", edited)).pipe(Effect.map(({ _tag }) => _tag)),
          "AgentUnsupported"
        )}
    }))

  it.live("a question that is taken back, or outlives the turn or the process, interrupts its handler and is not answered", () =>
    Effect.scoped(Effect.gen(function*() {
      for (const prompt of ["ask wait takeBack unknown wait tell end", "ask wait end", "ask wait die"]) {
        const asked = yield* Deferred.make<void>()
        const withdrawn = yield* Deferred.make<void>()
        const live = yield* Agent.start(say(prompt), {
          approve: () =>
            Effect.zipRight(Deferred.succeed(asked, void 0), Effect.never).pipe(
              Effect.onInterrupt(() => Deferred.succeed(withdrawn, void 0))
            )
        })
        yield* Deferred.await(asked)
        yield* live.send("go on")
        yield* Deferred.await(withdrawn)
        const told = yield* Effect.either(live.outcome)
        if (Either.isRight(told)) assert.notMatch(told.right.text, /deny|decline|accept|allow /)
      }
    })).pipe(Effect.provide(fake)))

  it.live("garbage, answers to nothing, others' words and a second end change nothing", () =>
    Effect.gen(function*() {
      const outcome = yield* run(say("garbage stray say:hello end again"))
      assert.strictEqual(outcome.text, "hello")
      assert.strictEqual(outcome.session.id, "fake-session")
      assert.isAbove(outcome.unparsed, 0)
    }))

  it.live("a line of two megabytes is read, one beyond the limit ends the run", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* run(say("huge end"))).text.length, 2 * 1024 * 1024)
      assert.strictEqual(yield* failing(say("endless end"), { maxLineBytes: 4 * 1024 * 1024 }), "AgentLineTooLong")
    }))

  it.live("one that does not answer its opening, or leaves, is told of", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* failing(say("wait", "mute"), { replyWithin: "200 millis" }), "AgentUnresponsive")
      assert.strictEqual(yield* failing(say("say:x die")), "AgentFailed")
    }))

  it.live("a message reaches the turn that goes on; one that nobody takes is told of in time", () =>
    Effect.scoped(Effect.gen(function*() {
      const live = yield* Agent.start(say("wait tell end"))
      yield* live.session
      yield* live.send("mind the marmalade")
      assert.include((yield* live.outcome).text, "mind the marmalade")
      assert.strictEqual((yield* Effect.flip(live.send("late")))._tag, "AgentTurnEnded")
      const deaf = yield* Agent.start(say("wait end", "deaf"), { replyWithin: "300 millis" })
      yield* deaf.session
      assert.strictEqual((yield* Effect.flip(deaf.send("hello?")))._tag, "AgentUnresponsive")
    })).pipe(Effect.provide(fake)))

  it.live("an interrupt withdraws what is asked; one that does not follow is ended", () =>
    Effect.scoped(Effect.gen(function*() {
      for (const badly of ["", "stubborn"]) {
        const asked = yield* Deferred.make<void>()
        const live = yield* Agent.start(say("ask wait", badly), {
          approve: () => Effect.zipRight(Deferred.succeed(asked, void 0), Effect.never),
          interruptWithin: "500 millis"
        })
        yield* Effect.forkScoped(Effect.ignore(Stream.runDrain(live.events)))
        yield* Deferred.await(asked)
        yield* live.interrupt
        const { stop, teardown } = yield* live.outcome
        assert.deepStrictEqual([stop, teardown.verified], ["interrupted", "empty"])
      }
    })).pipe(Effect.provide(fake)))

  it.live("several turns go through one process, also after an interrupt", () =>
    Effect.scoped(Effect.gen(function*() {
      const { prompt: _, ...fields } = say("")
      const conversation = yield* Agent.conversation(fields, { approve: allow })
      yield* conversation.turn("ask wait say:one end")
      yield* Effect.scoped(Effect.gen(function*() {
        const turn = yield* conversation.start("say:two wait")
        yield* Stream.runHead(Stream.filter(turn.events, ({ _tag }) => _tag === "Message"))
        yield* turn.interrupt
        assert.strictEqual((yield* turn.outcome).stop, "interrupted")
      }))
      const { text } = yield* conversation.turn("tell end")
      assert.include(text, "ask wait say:one end")
      assert.include(text, "say:two wait")
    })).pipe(Effect.provide(fake)))
})
