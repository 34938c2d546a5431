/**
 * Claude Code (`claude -p`, written for 2.1.332).
 *
 * | permission | here |
 * | --- | --- |
 * | `ReadOnly` | only `Read`, `Glob`, `Grep`, `WebFetch`, `WebSearch`: no shell, no MCP servers but those of the request |
 * | `Plan` | its plan mode |
 * | `Edit` | edits are accepted, shell commands as far as its own rules and the user's allow them |
 * | `Auto` | its classifier decides |
 * | `Bypass` | no checks; as root only with `IS_SANDBOX=1` in `env` |
 *
 * With an `approve` handler, what the permission does not allow is asked for: under `ReadOnly` everything but reading
 * (commands that only look are not asked for either), under `Edit` the commands, under `Auto` what its classifier does
 * not decide, under `Bypass` nothing. Messages, interrupts and conversations go through the same dialogue
 * (`--input-format stream-json`).
 *
 * A new conversation and a branch get an id from the caller or of ours, so that an interrupted run can be continued.
 * Commands in the background are switched off (`CLAUDE_CODE_DISABLE_BACKGROUND_TASKS`), as they would outlive the
 * answer and wake the agent for further turns. A system prompt on a continued conversation replaces that of its
 * beginning. Attachments are mentioned behind the prompt (`@"path"`), which sends their content with it; of a
 * text that is too long (0.8 MB was) the model learns the place only. `thinking: false` has no effect on models that always think.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Context from "effect/Context"
import * as Agent from "../Agent.js"
import type * as AgentDriver from "../AgentDriver.js"
import * as internal from "../internal/drivers/claude.js"

/**
 * How Claude Code is found, started, read and ended.
 *
 * Its polite steps: SIGTERM to the CLI, at most 4 seconds, in which it ends its shells; SIGTERM to the tree, at most 1
 * second.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, Claude } from "effect-agents"
 *
 * // With one more variable that the minimal policy lets through.
 * const layer = Agent.layer({ ...Claude.driver, environment: [...Claude.driver.environment, "HTTPS_PROXY"] })
 * ```
 *
 * @since 0.1.0
 * @category drivers
 */
export const driver: AgentDriver.AgentDriver<internal.State> = internal.driver

/**
 * Claude Code as a service, for programs that use several agents.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Claude, Codex } from "effect-agents"
 *
 * const secondOpinion = Effect.gen(function*() {
 *   const claude = yield* Claude.make()
 *   const codex = yield* Codex.make()
 *   const { text } = yield* Agent.run(AgentRequest.make({ prompt: "Review the staged diff" })).pipe(
 *     Effect.provideService(Agent.Agent, claude)
 *   )
 *   return yield* Agent.run(AgentRequest.make({ prompt: `Is this review right?\n\n${text}` })).pipe(
 *     Effect.provideService(Agent.Agent, codex)
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
 * Claude Code as the agent of a program.
 *
 * With `program` for another executable than the one on PATH; further options as in `AgentRun.Options`. Never fails: a
 * missing program shows with the first run, as `AgentNotInstalled`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Claude, NodeProcessTree } from "effect-agents"
 *
 * const review = Agent.run(AgentRequest.make({ prompt: "Review src/index.ts" })).pipe(
 *   Effect.provide(Claude.layer()),
 *   Effect.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Agent.Options): Layer.Layer<Agent.Agent, never, Agent.Services> =>
  Agent.layer(driver, options)
