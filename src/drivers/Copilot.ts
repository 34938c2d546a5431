/**
 * GitHub Copilot (`copilot -p`, and `copilot --acp` for a dialogue; written for 1.0.102).
 *
 * | permission | here |
 * | --- | --- |
 * | `ReadOnly` | only `view`, `grep`, `glob`, `web_fetch`: no shell, no MCP tools but those that a rule names |
 * | `Plan` | its plan mode |
 * | `Edit` | files under the working directory and `addDirs`; of the shell what it takes for reading or such an edit |
 * | `Auto` | every tool and address, files as above |
 * | `Bypass` | everything |
 *
 * Approvals, interrupts and conversations go through the Agent Client Protocol. With an `approve` handler whatever the
 * permission does not cover is asked for, commands that only look included; without one it is refused. The questions are
 * named as the tool calls are (`bash`, `create`, `server-tool`). A refusal ends a turn of the CLI: that it was one, and
 * its reason, is said to the model at once as the next prompt, which belongs to the same turn of the run; other questions
 * that were open are withdrawn by it. `Approval.allow({ input })` ends the run with `AgentUnsupported`. So does `send`
 * fail: the CLI would give up its turn for a message. A dialogue takes no attachments, and no id for the new
 * conversation. What a continued conversation was allowed to do before does not hold in it, and a prompt that begins with
 * a slash is no command.
 *
 * A new conversation gets an id from the caller or of ours, so that an interrupted run can be continued; an id that is
 * in use is continued by the CLI without a word. It has no option for a system prompt: `system` stands before the
 * prompt; and none for a schema: `outputSchema` is asked for behind the prompt, and its value looked for in the answer.
 * It does not fork, and counts premium requests and credits instead of tokens, those only in a dialogue; requests and
 * times of a continued conversation are those of its whole life, so for such a run none are reported. After its answer it
 * waits at most 30 seconds (`COPILOT_TASK_WAIT_TIMEOUT_SECONDS`) for commands that it left running.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Context from "effect/Context"
import * as Agent from "../Agent.js"
import type * as AgentDriver from "../AgentDriver.js"
import * as internal from "../internal/drivers/copilot.js"

/**
 * How Copilot is found, started, read and ended.
 *
 * Its polite steps: SIGTERM to the CLI, at most 4 seconds; SIGTERM to the tree, at most 1 second.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, Copilot } from "effect-agents"
 *
 * // With one more variable that the minimal policy lets through.
 * const layer = Agent.layer({ ...Copilot.driver, environment: [...Copilot.driver.environment, "HTTPS_PROXY"] })
 * ```
 *
 * @since 0.1.0
 * @category drivers
 */
export const driver: AgentDriver.AgentDriver<internal.State> = internal.driver

/**
 * Copilot as a service, for programs that use several agents.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Copilot, Codex } from "effect-agents"
 *
 * const request = AgentRequest.make({ prompt: "Explain src/index.ts" })
 *
 * const either = Effect.gen(function*() {
 *   const copilot = yield* Copilot.make()
 *   const codex = yield* Codex.make()
 *   return yield* Agent.run(request).pipe(
 *     Effect.provideService(Agent.Agent, copilot),
 *     Effect.catchTag("AgentRateLimited", () => Effect.provideService(Agent.run(request), Agent.Agent, codex))
 *   )
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Agent.Options
): Effect.Effect<Context.Tag.Service<Agent.Agent>, never, Agent.Services> => Agent.make(driver, options)

/**
 * Copilot as the agent of a program.
 *
 * With `program` for another executable than the one on PATH; further options as in `AgentRun.Options`. Never fails: a
 * missing program shows with the first run, as `AgentNotInstalled`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Copilot, NodeProcessTree } from "effect-agents"
 *
 * const explain = Agent.run(AgentRequest.make({ prompt: "Explain src/index.ts" })).pipe(
 *   Effect.provide(Copilot.layer()),
 *   Effect.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Agent.Options): Layer.Layer<Agent.Agent, never, Agent.Services> =>
  Agent.layer(driver, options)
