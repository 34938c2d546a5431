/**
 * The agent of the examples: Claude's driver on `scriptedAgent.mjs`, a small program that speaks as Claude Code does and
 * needs neither a key nor a model. With the real CLI, this file is `Claude.layer()`.
 */
import { Path } from "@effect/platform"
import { Effect, Layer } from "effect"
import { Claude, NodeProcessTree } from "effect-agents"

const program = Effect.flatMap(Path.Path, (path) => path.fromFileUrl(new URL("./scriptedAgent.mjs", import.meta.url)))

/** The agent, and the processes that it runs as. */
export const layer = Layer.unwrapEffect(Effect.map(program, (program) => Claude.layer({ program }))).pipe(
  Layer.provideMerge(NodeProcessTree.layer)
)
