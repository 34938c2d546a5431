/**
 * A time limit. The agent starts children in its own group, in a session of their own, as daemons, and does not end when
 * it is asked to. When `Effect.timeout` gives up, all of it is gone.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Agent, AgentRequest, Teardown } from "effect-agents"
import * as ScriptedAgent from "./scriptedAgent.js"

const program = Agent.run(AgentRequest.make({ prompt: "work" }), { teardown: Teardown.graceful("500 millis") }).pipe(
  Effect.timeout("1 second"),
  Effect.matchEffect({
    onFailure: (error) => Console.log(`ended: ${error._tag}`),
    onSuccess: () => Effect.dieMessage("the agent cannot have finished")
  })
)

program.pipe(Effect.provide(ScriptedAgent.layer), NodeRuntime.runMain)
