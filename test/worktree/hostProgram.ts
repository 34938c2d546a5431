/**
 * A host that makes worktrees and waits to be killed.
 */
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Worktree from "effect-agents/Worktree"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"

const input: { readonly repo: string; readonly count: number } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"))

const program = Effect.gen(function*() {
  const made = yield* Effect.replicateEffect(Worktree.make({ repo: input.repo }), input.count)
  yield* Console.log(`made ${made.map(({ path }) => path).join(" ")}`)
  yield* Console.log("ready")
  return yield* Effect.never
})

Effect.runFork(program.pipe(Effect.scoped, Effect.provide(NodeProcessTree.layer)))
