/**
 * A program that uses the library, run by `host.test.ts` as a process of its own: starts a fake as a process tree, says
 * so, and ends in the way it is told to.
 */
import * as Command from "@effect/platform/Command"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import * as Fakes from "../utils/Fakes.js"
import { waitForSleepers } from "../utils/Processes.js"

export interface Input {
  /** How it ends: by a signal from outside under `runMain` or without it, or in a way of its own. */
  readonly ending: "runMain" | "bare" | "exit" | "throw" | "reject"
  readonly scenario: Fakes.Scenario & { readonly mark: string }
  readonly sleepers: number
  readonly graceMs: number
}

const input: Input = JSON.parse(readFileSync(process.argv[2]!, "utf8"))

const program = Effect.gen(function*() {
  yield* Effect.addFinalizer(() => Console.log("finalizers ran"))
  yield* ProcessTree.start(
    Command.make(Fakes.program("claude"), "-p").pipe(Command.env(Fakes.environment(input.scenario))),
    { stdin: "ignore", teardown: Teardown.graceful(input.graceMs) }
  )
  yield* waitForSleepers(input.scenario.mark, input.sleepers)
  yield* Console.log("ready")
  switch (input.ending) {
    case "exit":
      return process.exit(3)
    case "throw":
      setImmediate(() => {
        throw new Error("nobody catches this")
      })
      return yield* Effect.never
    case "reject":
      void Promise.reject(new Error("nobody handles this"))
      return yield* Effect.never
    case "bare":
    case "runMain":
      return yield* Effect.never
  }
}).pipe(Effect.scoped, Effect.provide(NodeProcessTree.layer))

if (input.ending === "runMain") NodeRuntime.runMain(program)
else Effect.runFork(program)
