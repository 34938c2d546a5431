/**
 * What is called where nothing can be interrupted comes back all the same, within its own time: what has lost against
 * that time can be interrupted there, too.
 */
import * as Command from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import type * as AgentRun from "effect-agents/AgentRun"
import * as Approval from "effect-agents/Approval"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { listener, talker } from "./talker.js"

const soon = { duration: "20 seconds", onTimeout: () => "it does not come back" } as const

/** Runs it as the finalizer of a fiber that is interrupted. */
const inFinalizer = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const begun = yield* Deferred.make<void>()
    const done = yield* Deferred.make<A, E>()
    const fiber = yield* Effect.forkDaemon(
      Effect.zipRight(Deferred.succeed(begun, void 0), Effect.never).pipe(
        Effect.onInterrupt(() => Effect.intoDeferred(effect, done))
      )
    )
    yield* Deferred.await(begun)
    yield* Fiber.interruptFork(fiber)
    return yield* Effect.timeoutFail(Deferred.await(done), soon)
  })

/** Two processes that have nothing to do with each other, and an output that goes from one to the other. */
const holding = `import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
c, _ = s.accept(); held = socket.recv_fds(c, 1, 1); open(sys.argv[1] + ".held", "w"); time.sleep(60)`
const handing = `import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); socket.send_fds(s, [b"x"], [1]); time.sleep(60)`

const impatient = {
  replyWithin: "1 second",
  interruptWithin: "200 millis",
  teardown: Teardown.immediate
} satisfies AgentRun.Options

/** A run whose agent has named itself and does nothing from then on. */
const frozen = Effect.fnUntraced(function*(interactive: boolean) {
  const run = yield* Agent.start(AgentRequest.make({ prompt: "stay", interactive }), impatient)
  yield* interactive ? run.send("one") : run.session
  yield* run.tree.signal("SIGSTOP")
  return run
})

describe("in a finalizer", () => {
  it.scopedLive("a message to an agent that never answers", () =>
    Effect.gen(function*() {
      const run = yield* frozen(true)
      const error = yield* Effect.flip(inFinalizer(run.send("one")))
      assert.strictEqual(typeof error === "string" ? error : error._tag, "AgentUnresponsive")
    }).pipe(Effect.provide(talker)))

  for (const interactive of [true, false]) {
    it.scopedLive(`an interrupt of an agent that never answers, ${interactive ? "in" : "without"} a dialogue`, () =>
      Effect.gen(function*() {
        const run = yield* frozen(interactive)
        yield* inFinalizer(run.interrupt)
        assert.strictEqual((yield* run.outcome).stop, "interrupted")
        assert.strictEqual((yield* run.tree.report).verified, "empty")
      }).pipe(Effect.provide(interactive ? talker : listener)))
  }

  it.scopedLive("the outcome, while nobody reads the events", () =>
    Effect.gen(function*() {
      const run = yield* Agent.start(AgentRequest.make({ prompt: "flood answer", interactive: true }))
      assert.strictEqual((yield* inFinalizer(run.outcome)).stop, "completed")
    }).pipe(Effect.provide(talker)))

  for (const interruptWithin of ["10 seconds", "1 millis"] as const) {
    it.scopedLive(`the end of a turn whose reader has stopped, with ${interruptWithin} for the agent`, () =>
      Effect.gen(function*() {
        // A busy machine takes its time for each opening.
        const conversation = yield* Agent.conversation({}, { ...impatient, replyWithin: "20 seconds", interruptWithin })
        for (const pieces of [14, 15, 16, 17, 18, 19, 20, 40]) {
          const ended = yield* Deferred.make<void, unknown>()
          const turn = Effect.gen(function*() {
            const { events } = yield* conversation.start(`flood:${pieces} answer`)
            const reading = yield* Deferred.make<void>()
            yield* Effect.forkDaemon(
              Stream.runForEach(events, () => Effect.zipRight(Deferred.succeed(reading, void 0), Effect.never))
            )
            yield* Deferred.await(reading)
            yield* Effect.sleep("50 millis")
          })
          yield* Effect.forkDaemon(Effect.intoDeferred(Effect.scoped(turn), ended))
          yield* Effect.timeoutFail(Deferred.await(ended), { ...soon, onTimeout: () => `${pieces} pieces` })
        }
      }).pipe(Effect.provide(talker)))
  }

  it.live("a question with a time", () =>
    Effect.gen(function*() {
      const question = Approval.Question.make({ id: "1", agent: "a", tool: "Bash", input: null })
      const approve = Approval.timeout(() => Effect.never, "20 millis", Approval.deny("late"))
      assert.deepStrictEqual(yield* inFinalizer(approve(question)), Approval.deny("late"))
    }))

  it.scopedLive("the output of a tree that has ended, which somebody outside still holds", () =>
    Effect.gen(function*() {
      const socket = join(yield* TempDir.make, "s")
      const holder = yield* Effect.acquireRelease(
        Effect.sync(() => spawn("python3", ["-c", holding, socket], { stdio: ["ignore", "ignore", "inherit"] })),
        (holder) => Effect.sync(() => holder.kill("SIGKILL"))
      )
      yield* waitUntil("the holder", Effect.sync(() => existsSync(socket)))
      const tree = yield* ProcessTree.start(Command.make("python3", "-c", handing, socket), {
        teardown: Teardown.immediate
      })
      yield* waitUntil("the output in its hands", Effect.sync(() => existsSync(`${socket}.held`)))
      const reader = yield* Effect.fork(inFinalizer(Stream.runDrain(tree.stdout)))
      yield* tree.teardown
      yield* Fiber.join(reader)
      assert.isTrue((yield* tree.report).outputHeld, "nobody holds it")
      assert.isNull(holder.exitCode)
    }).pipe(Effect.provide(NodeProcessTree.layer)))
})
