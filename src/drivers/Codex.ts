/**
 * Codex (`codex exec`, written for 0.171.0).
 *
 * | permission | here |
 * | --- | --- |
 * | `ReadOnly`, `Plan` | its sandbox without any writing; commands run inside of it |
 * | `Edit` | its sandbox, writing under the working directory and `addDirs`, no network |
 * | `Auto` | the same with network |
 * | `Bypass` | no sandbox |
 *
 * It chooses the ids of its conversations. The tokens of a continued conversation are those of its whole life, so for
 * such a run none are reported. `Edit` and `Auto` work only inside of a git repository, unless `extraArgs` says
 * `--skip-git-repo-check`. On a continued conversation `system` stands before the prompt, as the instructions of its
 * beginning stay in force.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Context from "effect/Context"
import * as Agent from "../Agent.js"
import type * as AgentDriver from "../AgentDriver.js"
import * as internal from "../internal/drivers/codex.js"

/**
 * How Codex is found, started, read and ended.
 *
 * @since 0.1.0
 * @category drivers
 */
export const driver: AgentDriver.AgentDriver<internal.State> = internal.driver

/**
 * Codex as a service, for programs that use several agents.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Agent.Options
): Effect.Effect<Context.Tag.Service<Agent.Agent>, never, Agent.Services> => Agent.make(driver, options)

/**
 * Codex as the agent of a program.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Codex, NodeProcessTree } from "effect-agents"
 *
 * const fix = Agent.run(AgentRequest.make({ prompt: "Fix the failing test", permission: "Edit" })).pipe(
 *   Effect.provide(Codex.layer()),
 *   Effect.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Agent.Options): Layer.Layer<Agent.Agent, never, Agent.Services> =>
  Agent.layer(driver, options)
