/**
 * Two runs, one conversation: the second continues where the first ended.
 */
import { FileSystem } from "@effect/platform"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Agent, AgentRequest, Session } from "effect-agents"
import * as ScriptedAgent from "./scriptedAgent.js"

const program = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const env = { SCRIPTED_AGENT_HOME: yield* fs.makeTempDirectoryScoped() }
  const plan = yield* Agent.run(
    AgentRequest.make({ prompt: "answer 0 plan: rename the flag", permission: "Plan", env })
  )
  yield* Console.log(plan.text)
  const done = yield* Agent.run(
    AgentRequest.make({ prompt: "recall", permission: "Edit", env, session: Session.resume(plan.session) })
  )
  yield* Console.log(`same conversation: ${plan.session.id === done.session.id}, before: ${done.text}`)
})

program.pipe(Effect.scoped, Effect.provide(ScriptedAgent.layer), NodeRuntime.runMain)
