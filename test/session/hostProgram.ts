/**
 * A program that uses one named session with others like it, run by `processes.test.ts`: says what it was answered, a
 * line for each run, and goes on when another one has the name.
 */
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Claude from "effect-agents/Claude"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Session from "effect-agents/Session"
import * as SessionStore from "effect-agents/SessionStore"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { readFileSync } from "node:fs"
import * as Fakes from "../utils/Fakes.js"

export interface Input {
  readonly directory: string
  readonly scenario: Fakes.Scenario
  readonly prompts: ReadonlyArray<string>
}

const input: Input = JSON.parse(readFileSync(process.argv[2]!, "utf8"))

const ask = (prompt: string) =>
  Agent.run(AgentRequest.make({
    prompt,
    session: Session.named("my-app", "shared"),
    env: Fakes.environment(input.scenario)
  })).pipe(
    Effect.retry({ while: (error) => error._tag === "AgentSessionBusy", schedule: Schedule.spaced(5) }),
    Effect.flatMap(({ session }) => Console.log(`${prompt} in ${session.id}`))
  )

const layer = Claude.layer({ program: Fakes.program("claude") }).pipe(
  Layer.provide(SessionStore.layerWith({ directory: input.directory })),
  Layer.provide(NodeProcessTree.layer)
)

Effect.runFork(
  Console.log("ready").pipe(
    Effect.zipRight(Effect.forEach(input.prompts, ask, { discard: true })),
    Effect.zipRight(Console.log("done")),
    Effect.catchAllCause((cause) => Console.log(`failed: ${cause}`)),
    Effect.provide(layer)
  )
)
