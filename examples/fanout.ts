/**
 * Many tasks, two agents at a time. When one of them fails, the rest are ended: that is what `Effect.forEach` means.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Agent, AgentRequest } from "effect-agents"
import * as ScriptedAgent from "./scriptedAgent.js"

const files = ["parser.ts", "printer.ts", "checker.ts", "emitter.ts"]

const review = (file: string) => Agent.run(AgentRequest.make({ prompt: `answer 50 ${file} looks fine` }))

const program = Effect.forEach(files, review, { concurrency: 2 }).pipe(
  Effect.flatMap(Effect.forEach((outcome) => Console.log(outcome.text), { discard: true }))
)

program.pipe(Effect.provide(ScriptedAgent.layer), NodeRuntime.runMain)
