/**
 * What goes on between a caller and an agent while a turn runs, on a small driver of its own and a real process.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import type * as AgentRun from "effect-agents/AgentRun"
import * as Approval from "effect-agents/Approval"
import * as Teardown from "effect-agents/Teardown"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import { talker } from "./talker.js"

const Answered = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({
    answers: Schema.Array(Schema.Struct({ question: Schema.String, decision: Approval.Decision })),
    messages: Schema.Array(Schema.String)
  }))
)

const ask = (prompt: string, ...extraArgs: ReadonlyArray<string>) =>
  AgentRequest.make({ prompt, interactive: true, extraArgs })

/** A run whose events nobody reads, once its agent has named the conversation. */
const begun = <E = never, R = never>(request: AgentRequest.AgentRequest, options?: AgentRun.Options<E, R>) =>
  Effect.tap(Agent.start(request, options), (run) => run.session)

class Doubt extends Data.TaggedError("Doubt")<{ readonly tool: string }> {}
class Person extends Context.Tag("test/Person")<Person, { readonly says: Approval.Decision }>() {}

describe("approvals", () => {
  it.live("a question goes to the handler, with its own services, and the answer to the agent", () =>
    Effect.gen(function*() {
      const outcome = yield* Agent.run(AgentRequest.make({ prompt: "ask" }), {
        approve: ({ input, tool }) =>
          Effect.map(Person, ({ says }) => {
            assert.deepStrictEqual({ input, tool }, { input: { command: "rm -r build" }, tool: "Bash" })
            return says
          })
      }).pipe(Effect.provideService(Person, { says: Approval.allow({ input: { command: "ls build" } }) }))
      assert.deepStrictEqual(Answered(outcome.text).answers, [
        { question: "q", decision: Approval.allow({ input: { command: "ls build" } }) }
      ])
      assert.strictEqual(outcome.exit.code, 0)
    }).pipe(Effect.provide(talker)))

  it.live("several questions at once are answered side by side", () =>
    Effect.gen(function*() {
      const asked = yield* Ref.make(0)
      const all = yield* Deferred.make<void>()
      const outcome = yield* Agent.run(AgentRequest.make({ prompt: "askThree" }), {
        approve: () =>
          Ref.updateAndGet(asked, (n) => n + 1).pipe(
            Effect.flatMap((n) => n === 3 ? Deferred.succeed(all, void 0) : Effect.void),
            Effect.zipRight(Deferred.await(all)),
            Effect.as(Approval.deny("no"))
          )
      })
      assert.sameMembers(Answered(outcome.text).answers.map(({ question }) => question), ["a", "b", "c"])
    }).pipe(Effect.provide(talker)))

  it.live("a question that is withdrawn interrupts its handler, and is not answered", () =>
    Effect.scoped(Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const run = yield* begun(AgentRequest.make({ prompt: "ask withdraw stay" }), {
        approve: () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, void 0))
      })
      yield* Effect.raceFirst(Deferred.await(interrupted), Effect.zipRight(run.outcome, Effect.dieMessage("ended")))
      yield* run.send("finish")
      assert.deepStrictEqual(Answered((yield* run.outcome).text).answers, [])
    })).pipe(Effect.provide(talker)))

  it.live("a handler that fails ends the run with its error, in the outcome and in the events", () =>
    Effect.scoped(Effect.gen(function*() {
      const run = yield* Agent.start(AgentRequest.make({ prompt: "ask" }), {
        approve: ({ tool }) => Effect.fail(new Doubt({ tool }))
      })
      const events = yield* Effect.exit(Stream.runDrain(run.events))
      const outcome = yield* Effect.flip(run.outcome)
      assert.deepStrictEqual(outcome, new Doubt({ tool: "Bash" }))
      assert.isTrue(events._tag === "Failure" && Cause.isFailure(events.cause))
      assert.isFalse(yield* run.tree.isRunning)
    })).pipe(Effect.provide(talker)))

  it.live("a decision that cannot be said ends the run with the reason, and leaves nobody waiting", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Agent.run(AgentRequest.make({ prompt: "ask" }), {
        approve: () => Effect.succeed(Approval.allow({ input: { big: 1n } }))
      }))
      assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("BigInt"), String(exit))
    }).pipe(Effect.provide(talker)))

  it.live("an answer that the agent can no longer hear ends the run in time", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Agent.run(
        AgentRequest.make({ prompt: "deaf ask", extraArgs: ["stays"] }),
        { approve: () => Effect.succeed(Approval.allow()), replyWithin: "300 millis" }
      ))
      assert.strictEqual(error._tag, "AgentUnresponsive")
      assert.include(error.message, "no answer to what was written to its standard input within 300 ms")
    }).pipe(Effect.provide(talker)))

  it.live("an answer of the agent is not lost when it can no longer hear", () =>
    Effect.gen(function*() {
      const outcome = yield* Agent.run(
        AgentRequest.make({ prompt: "deaf ask answer", extraArgs: ["stays"] }),
        {
          approve: () => Effect.succeed(Approval.allow()),
          replyWithin: "400 millis",
          limits: { afterResult: "2 seconds" }
        }
      )
      assert.deepStrictEqual(Answered(outcome.text).answers, [])
    }).pipe(Effect.provide(talker)))

  it.live("an agent that asks although nobody is there to answer is told so", () =>
    Effect.gen(function*() {
      const outcome = yield* Agent.run(ask("ask"))
      assert.strictEqual(Answered(outcome.text).answers[0]?.decision._tag, "Deny")
    }).pipe(Effect.provide(talker)))

  it.live("time and rules are handlers around handlers", () =>
    Effect.gen(function*() {
      const question = Approval.Question.make({ id: "1", agent: "a", tool: "Bash", input: { command: "git status" } })
      const rules = Approval.rules([
        { tool: "Bash", input: /git status/g, decide: Approval.allow() },
        { tool: /^mcp__/, decide: Approval.allowForSession },
        { input: (input) => input === 7, decide: Approval.deny("seven") }
      ], () => Effect.fail("asked"))
      const other = (fields: Partial<Approval.Question>) => Approval.Question.make({ ...question, ...fields })
      assert.deepStrictEqual(yield* rules(question), Approval.allow())
      assert.deepStrictEqual(yield* rules(question), Approval.allow(), "an expression with the flag g")
      assert.deepStrictEqual(yield* rules(other({ tool: "mcp__x", input: undefined })), Approval.allowForSession)
      assert.deepStrictEqual(yield* rules(other({ tool: "Read", input: 7 })), Approval.deny("seven"))
      assert.strictEqual(yield* Effect.flip(rules(other({ input: { command: "rm" } }))), "asked")
      assert.strictEqual((yield* Approval.rules([])(question))._tag, "Deny")
      const slow = Approval.timeout(() => Effect.never, "20 millis", Approval.deny("slow"))
      assert.deepStrictEqual(yield* slow(question), Approval.deny("slow"))
    }))
})

describe("send", () => {
  it.live("returns when the agent has taken the message, which is then in the turn", () =>
    Effect.scoped(Effect.gen(function*() {
      const run = yield* begun(ask("stay"))
      yield* run.send("one")
      yield* run.send("finish")
      assert.deepStrictEqual(Answered((yield* run.outcome).text).messages, ["one", "finish"])
      const late = yield* Effect.flip(run.send("two"))
      assert.strictEqual(late._tag, "AgentTurnEnded")
    })).pipe(Effect.provide(talker)))

  it.live("does not wait for a reader that has stopped reading", () =>
    Effect.scoped(Effect.gen(function*() {
      const run = yield* begun(ask("flood stay"))
      const reading = yield* Deferred.make<void>()
      yield* run.events.pipe(
        Stream.filter(({ _tag }) => _tag === "Unknown"),
        Stream.runForEach(() => Effect.zipRight(Deferred.succeed(reading, void 0), Effect.never)),
        Effect.forkScoped
      )
      yield* Deferred.await(reading)
      yield* Effect.timeoutFail(run.send("one"), { duration: "10 seconds", onTimeout: () => "stuck" })
    })).pipe(Effect.provide(talker)))

  it.live("is refused where the run was not begun for it", () =>
    Effect.scoped(Effect.gen(function*() {
      const run = yield* Agent.start(AgentRequest.make({ prompt: "stay" }))
      const error = yield* Effect.flip(run.send("one"))
      assert.strictEqual(error._tag, "AgentUnsupported")
    })).pipe(Effect.provide(talker)))

  it.live("is told when the turn ends before the agent takes the message", () =>
    Effect.scoped(Effect.gen(function*() {
      const run = yield* begun(ask("stay"), { replyWithin: "20 seconds" })
      yield* run.tree.signal("SIGSTOP")
      const sent = yield* Effect.fork(Effect.flip(run.send("one")))
      yield* Effect.yieldNow()
      yield* run.tree.teardown
      assert.strictEqual((yield* sent)._tag, "AgentTurnEnded")
    })).pipe(Effect.provide(talker)))
})

describe("interrupt", () => {
  it.live("ends the turn, and the outcome is what there was", () =>
    Effect.scoped(Effect.gen(function*() {
      const run = yield* begun(ask("stay"))
      yield* run.send("one")
      yield* run.interrupt
      const outcome = yield* run.outcome
      assert.strictEqual(outcome.stop, "interrupted")
      assert.strictEqual(outcome.session.id, "one")
      assert.deepStrictEqual(outcome.exit, { code: 0, signal: null })
      assert.strictEqual(outcome.teardown.verified, "empty")
      yield* run.interrupt
    })).pipe(Effect.provide(talker)))

  it.live("an agent that does not follow is ended", () =>
    Effect.scoped(Effect.gen(function*() {
      const run = yield* begun(ask("stay", "stubborn"), { interruptWithin: "100 millis", teardown: Teardown.immediate })
      yield* run.send("one")
      yield* run.interrupt
      const outcome = yield* run.outcome
      assert.strictEqual(outcome.stop, "interrupted")
      assert.strictEqual(outcome.exit.signal, "SIGKILL")
    })).pipe(Effect.provide(talker)))

  it.live("without a dialogue it is a signal to the leader", () =>
    Effect.scoped(Effect.gen(function*() {
      const run = yield* begun(AgentRequest.make({ prompt: "stay" }))
      yield* run.interrupt
      const outcome = yield* run.outcome
      assert.strictEqual(outcome.stop, "interrupted")
      assert.strictEqual(outcome.exit.signal, "SIGINT")
    })).pipe(Effect.provide(talker)))
})

describe("an agent that does not answer", () => {
  it.live("fails the run in time, with what it was asked", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Agent.run(ask("stay", "mute"), { replyWithin: "100 millis" }))
      assert.strictEqual(error._tag, "AgentUnresponsive")
      assert.include(error.message, "the greeting")
    }).pipe(Effect.provide(talker)))
})
