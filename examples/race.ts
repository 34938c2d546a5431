/**
 * Two agents at the same task: the first answer counts, the other run is ended with all that it had started, and how that
 * went is told.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Agent, AgentRequest, Fleet } from "effect-agents"
import * as ScriptedAgent from "./scriptedAgent.js"

const program = Fleet.race({
  slow: Agent.run(AgentRequest.make({ prompt: "answer 30000 still thinking" })),
  quick: Agent.run(AgentRequest.make({ prompt: "answer 100 forty-two" }))
}).pipe(
  Effect.tap(({ value, winner }) => Console.log(`winner: ${winner}, ${value.text}`)),
  Effect.flatMap(({ losers }) =>
    Effect.forEach(losers, ({ name, reports }) => Console.log(`${name}: ${reports.map(String).join(", ")}`))
  )
)

program.pipe(Effect.provide(ScriptedAgent.layer), NodeRuntime.runMain)
