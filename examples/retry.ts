/**
 * Again, but only where it makes sense: a provider that is overloaded is asked again, a wrong request is not. This one is
 * overloaded twice.
 */
import { FileSystem } from "@effect/platform"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Schedule } from "effect"
import { Agent, AgentError, AgentRequest } from "effect-agents"
import * as ScriptedAgent from "./scriptedAgent.js"

const program = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const home = yield* fs.makeTempDirectoryScoped()
  const outcome = yield* Agent.run(
    AgentRequest.make({ prompt: "flaky 2 example", env: { SCRIPTED_AGENT_HOME: home } })
  ).pipe(
    Effect.tapError((error) => Console.log(`${error._tag}: ${error.isTransient ? "again" : "that was it"}`)),
    Effect.retry({ while: AgentError.isTransient, schedule: Schedule.exponential("50 millis"), times: 5 })
  )
  yield* Console.log(outcome.text)
})

program.pipe(Effect.scoped, Effect.provide(ScriptedAgent.layer), NodeRuntime.runMain)
