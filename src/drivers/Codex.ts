/**
 * Codex (`codex exec`, and `codex app-server` for a dialogue; written for 0.171.0).
 *
 * | permission | here |
 * | --- | --- |
 * | `ReadOnly`, `Plan` | its sandbox without any writing; commands run inside of it |
 * | `Edit` | its sandbox, writing under the working directory and `addDirs`, no network |
 * | `Auto` | the same with network |
 * | `Bypass` | no sandbox |
 *
 * With an `approve` handler the sandbox stays, and what it would not let the model do is asked for (its policy
 * `on-request`): commands that are to run outside of it, edits elsewhere, tools of MCP that no rule allows; under
 * `Bypass` nothing. The questions are named as the tool calls are (`command_execution`, `file_change`,
 * `mcp__server__tool`), and `permissions` for a wider sandbox. It takes no other input than it asked for:
 * `Approval.allow({ input })` ends the run with `AgentUnsupported`. The reason of a refusal reaches the model as a
 * message into the turn.
 *
 * Approvals, messages, interrupts and conversations go through its app-server. That needs no git repository, tells text
 * as it comes and the tokens of this run alone; `extraArgs` are then arguments of `codex app-server`. The user's own
 * rules, which can let commands out of the sandbox, hold there under every permission.
 *
 * It chooses the ids of its conversations. `codex exec` tells the tokens of the whole life of a continued conversation,
 * so for such a run none are reported. `Edit` and `Auto` work there only inside of a git repository, unless `extraArgs`
 * says `--skip-git-repo-check`. On a continued conversation `system` stands before the prompt, as the instructions of its
 * beginning stay in force; `systemReplace` holds there too.
 *
 * An output schema is brought into the strict form that OpenAI's models are held to: every property required, what may
 * be absent `null`, which is taken out of the value again. One that has no such form (any keys, any value, places of a
 * tuple) is asked for in words behind the prompt.
 *
 * MCP servers run outside of its sandbox. Except with `Bypass`, it calls those of their tools that a rule allows and
 * those that say of themselves that they only look; with `ReadOnly` and `Plan`, of the servers of the request, only what
 * a rule names. They get the mark of the run's tree.
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
 * Its polite steps: SIGINT to the CLI, at most 3 seconds; SIGTERM to the tree, at most 2 seconds.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, Codex, Teardown } from "effect-agents"
 *
 * // The same CLI under a name of its own, with another default policy.
 * const layer = Agent.layer({ ...Codex.driver, name: "codex-ci", teardown: Teardown.immediate })
 * ```
 *
 * @since 0.1.0
 * @category drivers
 */
export const driver: AgentDriver.AgentDriver<internal.State> = internal.driver

/**
 * Codex as a service, for programs that use several agents.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Claude, Codex } from "effect-agents"
 *
 * const request = AgentRequest.make({ prompt: "Why does the build fail?" })
 *
 * const both = Effect.all([Claude.make(), Codex.make()]).pipe(
 *   Effect.flatMap(Effect.forEach(
 *     (agent) => Effect.provideService(Agent.run(request), Agent.Agent, agent),
 *     { concurrency: "unbounded" }
 *   ))
 * )
 * ```
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
 * With `program` for another executable than the one on PATH; further options as in `AgentRun.Options`. Never fails: a
 * missing program shows with the first run, as `AgentNotInstalled`.
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
