/**
 * Runs coding agents. One service, the same for all of them: which agent it is, is the layer's business.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as AgentDriver from "./AgentDriver.js"
import type * as AgentError from "./AgentError.js"
import type * as AgentEvent from "./AgentEvent.js"
import type * as AgentOutcome from "./AgentOutcome.js"
import type * as AgentRequest from "./AgentRequest.js"
import type * as AgentRun from "./AgentRun.js"
import * as internal from "./internal/run/run.js"
import type * as ProcessTree from "./ProcessTree.js"

/**
 * Options of an agent, for all its runs. `program`: the path of its executable, by default looked for on PATH and in
 * the usual places.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends AgentRun.Options {
  readonly program?: string | undefined
}

/**
 * An agent. Provided by `Claude.layer`, `Codex.layer`, `Copilot.layer`, or made from a driver by `make`.
 *
 * @since 0.1.0
 * @category tags
 */
export class Agent extends Context.Tag("effect-agents/Agent")<Agent, {
  readonly name: string
  readonly start: (
    request: AgentRequest.AgentRequest,
    options?: AgentRun.Options
  ) => Effect.Effect<AgentRun.AgentRun, AgentError.AgentError, Scope.Scope>
  readonly plan: (
    request: AgentRequest.AgentRequest
  ) => Effect.Effect<AgentDriver.Plan, AgentError.AgentUnsupported | AgentError.AgentInputTooLarge>
}>() {}

/**
 * What an agent needs of the machine.
 *
 * @since 0.1.0
 * @category models
 */
export type Services = ProcessTree.Spawner | FileSystem.FileSystem | Path.Path

/**
 * An agent from a driver, for programs that use several.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <S>(
  driver: AgentDriver.AgentDriver<S>,
  options?: Options
): Effect.Effect<Context.Tag.Service<Agent>, never, Services> =>
  Effect.map(Effect.context<Services>(), (context) =>
    Agent.of({
      name: driver.name,
      start: (request, runOptions) =>
        Effect.mapInputContext(
          internal.start(driver, options ?? {}, request, runOptions ?? {}),
          (scope: Context.Context<Scope.Scope>) => Context.merge(context, scope)
        ),
      plan: (request) => Effect.provide(internal.plan(driver, request), context)
    }))

/**
 * A layer from a driver.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <S>(
  driver: AgentDriver.AgentDriver<S>,
  options?: Options
): Layer.Layer<Agent, never, Services> => Layer.effect(Agent, make(driver, options))

/**
 * Starts a run that lives as long as the scope. Returns as soon as the agent's process is there.
 *
 * Fails before anything is started with `AgentUnsupported`, `AgentInputTooLarge`, `AgentNotInstalled` or
 * `AgentSpawnError`; what goes wrong later is told by the run's `outcome` and `events`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const live = Effect.scoped(Effect.gen(function*() {
 *   const run = yield* Agent.start(AgentRequest.make({ prompt: "Fix the failing test", permission: "Edit" }))
 *   yield* Stream.runForEach(run.events, (event) => Effect.log(event._tag))
 *   return yield* run.outcome
 * })) // leaving the scope, however, tears everything down
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const start = (
  request: AgentRequest.AgentRequest,
  options?: AgentRun.Options
): Effect.Effect<AgentRun.AgentRun, AgentError.AgentError, Agent | Scope.Scope> =>
  Effect.flatMap(Agent, (agent) => agent.start(request, options))

/**
 * Runs a request to its end, in a scope of its own. Returns only when the process tree is empty, also when it is
 * interrupted or timed out.
 *
 * **Example**
 *
 * ```ts
 * import { NodeRuntime } from "@effect/platform-node"
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Claude, NodeProcessTree } from "effect-agents"
 *
 * Agent.run(AgentRequest.make({ prompt: "Review the staged diff" })).pipe(
 *   Effect.timeout("5 minutes"),
 *   Effect.flatMap((outcome) => Effect.log(outcome.text)),
 *   Effect.provide(Claude.layer()),
 *   Effect.provide(NodeProcessTree.layer),
 *   NodeRuntime.runMain
 * )
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const run = (
  request: AgentRequest.AgentRequest,
  options?: AgentRun.Options
): Effect.Effect<AgentOutcome.AgentOutcome, AgentError.AgentError, Agent> =>
  Effect.scoped(Effect.flatMap(start(request, options), (run) => run.outcome))

/**
 * Runs a request as a stream of its events. The run lives as long as the stream is read.
 *
 * @since 0.1.0
 * @category running
 */
export const stream = (
  request: AgentRequest.AgentRequest,
  options?: AgentRun.Options
): Stream.Stream<AgentEvent.AgentEvent, AgentError.AgentError, Agent> =>
  Stream.unwrapScoped(Effect.map(start(request, options), (run) => run.events))

/**
 * What would be started for a request, without starting anything: for a look before the leap, and for logs
 * (`AgentDriver.redacted` leaves out what is secret).
 *
 * @since 0.1.0
 * @category getters
 */
export const plan = (
  request: AgentRequest.AgentRequest
): Effect.Effect<AgentDriver.Plan, AgentError.AgentUnsupported | AgentError.AgentInputTooLarge, Agent> =>
  Effect.flatMap(Agent, (agent) => agent.plan(request))
