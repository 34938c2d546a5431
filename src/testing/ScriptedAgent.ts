/**
 * An agent that plays a script, without processes and without files: for tests of programs that use agents. The run
 * loop is the one of real agents, so that events, errors, limits and endings are the same; time is that of the caller,
 * as `TestClock`'s.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Agent from "../Agent.js"
import type { Options as RunOptions } from "../internal/run/run.js"
import * as files from "../internal/testing/files.js"
import * as processes from "../internal/testing/processes.js"
import * as protocol from "../internal/testing/protocol.js"
import type { Script } from "../internal/testing/script.js"
import * as ProcessTree from "../ProcessTree.js"
import * as SessionStore from "../SessionStore.js"

/**
 * What a turn is asked, what the agent does in it, and the steps of each turn.
 *
 * @since 0.1.0
 * @category models
 */
export type { Script, Step, Turn } from "../internal/testing/script.js"

/**
 * An agent that plays a script, called `scripted`. Named sessions are remembered in memory.
 *
 * What it says goes as JSON, as with a real agent. Under a `TestClock` nothing passes by itself: a limit of time is
 * noticed within a quarter of a second after it is over.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Fiber, TestClock, TestContext } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 * import { ScriptedAgent } from "effect-agents/testing"
 *
 * const slow = ScriptedAgent.layer(({ number }) => [
 *   { _tag: "Text", text: "Let me look" },
 *   { _tag: "Wait", duration: "10 minutes" },
 *   { _tag: "Answer", text: `answer ${number}` }
 * ])
 *
 * const test = Effect.gen(function*() {
 *   const fiber = yield* Effect.fork(Agent.run(AgentRequest.make({ prompt: "Review" })))
 *   yield* TestClock.adjust("10 minutes")
 *   const { text } = yield* Fiber.join(fiber)
 *   return text // "answer 1"
 * }).pipe(Effect.provide(slow), Effect.provide(TestContext.TestContext))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (script: Script, options?: Agent.Options): Layer.Layer<Agent.Agent> => {
  const all: RunOptions = { ...options, program: files.program, onTime: identity }
  return Layer.effect(
    Agent.Agent,
    Effect.flatMap(SessionStore.SessionStore, () => Agent.make(protocol.driver, all))
  ).pipe(
    Layer.provide([
      Layer.effect(ProcessTree.Spawner, processes.make(script)),
      Layer.succeed(FileSystem.FileSystem, files.make()),
      Path.layer,
      SessionStore.layerMemory
    ])
  )
}
