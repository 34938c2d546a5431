/**
 * Two agents at the same task: the first answer counts, the other run is ended with all that it had started.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Agent, AgentRequest } from "effect-agents"
import * as ScriptedAgent from "./scriptedAgent.js"

const quick = Agent.run(AgentRequest.make({ prompt: "answer 100 forty-two" }))
const slow = Agent.run(AgentRequest.make({ prompt: "answer 30000 still thinking" }))

const program = Effect.race(slow, quick).pipe(
  Effect.flatMap((outcome) => Console.log(`winner: ${outcome.text}`))
)

program.pipe(Effect.provide(ScriptedAgent.layer), NodeRuntime.runMain)
