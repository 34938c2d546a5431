/**
 * Runs every example as a process of its own, and fails when one of them does.
 */
import { Command, Path } from "@effect/platform"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { NodeProcessTree } from "effect-agents"

const examples = ["demo", "timeout", "race", "fanout", "retry", "pipeline", "worktrees"]

const runExample = (name: string) =>
  Effect.gen(function*() {
    const path = yield* Path.Path
    const file = yield* path.fromFileUrl(new URL(`./${name}.ts`, import.meta.url))
    yield* Console.log(`--- ${name}`)
    return yield* Command.make("tsx", file).pipe(Command.stdout("inherit"), Command.stderr("inherit"), Command.exitCode)
  })

const program = Effect.gen(function*() {
  const codes = yield* Effect.forEach(examples, runExample)
  const failed = examples.filter((_, index) => codes[index] !== 0)
  if (failed.length > 0) return yield* Effect.dieMessage(`failed: ${failed.join(", ")}`)
  yield* Console.log(`--- ${examples.length} examples passed`)
})

const layer = Layer.merge(NodeProcessTree.layer, NodeProcessTree.layerCommandExecutor)

program.pipe(Effect.provide(layer), NodeRuntime.runMain)
