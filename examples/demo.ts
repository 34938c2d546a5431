/**
 * What the library is for, in one minute and without a key: an agent starts children in its own group, in a session of
 * their own, a double-forked daemon and a daemon that hides its environment; it ignores SIGTERM; and `Effect.timeout` ends
 * it all. Prints the events, the process tree before, and the report of the teardown. Fails when anything is left.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Fiber, Stream } from "effect"
import { Agent, AgentRequest, ProcessTree, Teardown } from "effect-agents"
import * as ScriptedAgent from "./scriptedAgent.js"

const limit = "3 seconds"

const policy = Teardown.graceful("500 millis")

/** The agent itself, a shell and its child, one in a session of its own, and two daemons. */
const started = 6

const table = (members: ReadonlyArray<ProcessTree.Member>) =>
  members.map((one) =>
    `  ${String(one.pid).padStart(7)}  parent ${String(one.parent).padStart(7)}  session ${
      String(one.session).padStart(7)
    }  ${one.command.padEnd(8)} known by ${one.by}`
  ).join("\n")

const work = Effect.scoped(Effect.gen(function*() {
  const run = yield* Agent.start(AgentRequest.make({ prompt: "work" }), { teardown: policy })
  yield* run.events.pipe(
    Stream.runForEach((event) => Console.log(`  ${event.seq} ${event._tag}`)),
    Effect.forkScoped
  )
  yield* Console.log("events")
  const members = yield* run.tree.members.pipe(
    Effect.delay("20 millis"),
    Effect.repeat({ until: (members) => members.filter((one) => one.command === "sleep").length === started - 2 })
  )
  yield* Console.log(`process tree\n${table(members)}`)
  return yield* run.outcome
}))

const program = Effect.gen(function*() {
  const { reports } = yield* ProcessTree.Spawner
  const report = yield* Effect.fork(Stream.runHead(reports))
  yield* Effect.yieldNow()

  yield* Console.log(`the agent has ${limit}`)
  const ended = yield* Effect.flip(Effect.timeout(work, limit))
  yield* Console.log(`ended by ${ended._tag}`)
  if (ended._tag !== "TimeoutException") return yield* Effect.die(ended)

  const { durationMs, killed, steps, survivors, verified } = yield* Effect.flatten(Fiber.join(report))
  yield* Console.log("teardown")
  for (const step of steps) {
    yield* Console.log(`  ${step.signal} to the ${step.to}, ${Math.round(step.durationMs)} ms: ${step.alive} left`)
  }
  for (const one of killed) {
    yield* Console.log(`  ended ${one.pid} ${one.command}, known by ${one.by}`)
  }
  if (verified !== "empty" || survivors.length > 0 || killed.length < started) {
    return yield* Effect.dieMessage(`${survivors.length} survived, ${killed.length} ended, verified: ${verified}`)
  }
  yield* Console.log(`verified ${verified}: ${killed.length} processes, ${Math.round(durationMs)} ms`)
})

program.pipe(Effect.provide(ScriptedAgent.layer), NodeRuntime.runMain)
