/**
 * A host that makes worktrees and waits to be killed.
 */
import * as Command from "@effect/platform/Command"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Worktree from "effect-agents/Worktree"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"

const input: { readonly repo: string; readonly count: number; readonly detach?: string | undefined } = JSON.parse(
  readFileSync(process.argv[2] ?? "", "utf8")
)

const program = Effect.gen(function*() {
  const made = yield* Effect.replicateEffect(Worktree.make({ repo: input.repo }), input.count)
  yield* Console.log(`made ${made.map(({ path }) => path).join(" ")}`)
  if (input.detach !== undefined) {
    const { detach } = yield* ProcessTree.start(Command.make("sleep", input.detach))
    yield* Console.log(`detached ${(yield* detach).mark}.`)
  }
  yield* Console.log("ready")
  return yield* Effect.never
})

Effect.runFork(program.pipe(Effect.scoped, Effect.provide(NodeProcessTree.layer)))
