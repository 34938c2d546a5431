/**
 * Runs coding agents: a run is a scoped resource, and when its scope has closed nothing that it started is left. One
 * service, the same for all agents: which agent it is, is the layer's business.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as AgentDriver from "./AgentDriver.js"
import type * as AgentError from "./AgentError.js"
import type * as AgentEvent from "./AgentEvent.js"
import type * as AgentOutcome from "./AgentOutcome.js"
import type * as AgentRequest from "./AgentRequest.js"
import type * as AgentRun from "./AgentRun.js"
import type * as Conversation from "./Conversation.js"
import type * as Installation from "./Installation.js"
import * as conversations from "./internal/run/conversation.js"
import * as named from "./internal/run/named.js"
import * as objects from "./internal/run/object.js"
import * as probes from "./internal/run/probe.js"
import * as ProcessTree from "./ProcessTree.js"
import * as SessionStore from "./SessionStore.js"

/**
 * Options of an agent, for all its runs. `program`: the path of its executable, relative to the host's working
 * directory; by default it is looked for on PATH (that of the request's `env` first) and in the usual places of its
 * installers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends AgentRun.Settings {
  readonly program?: string | undefined
}

/**
 * What all turns of a conversation have in common: a request without its prompt.
 *
 * @since 0.1.0
 * @category models
 */
export type ConversationFields = Omit<ConstructorParameters<typeof AgentRequest.AgentRequest>[0], "prompt" | "command">

/**
 * An agent. Provided by `Claude.layer`, `Codex.layer`, `Copilot.layer`, or made from a driver by `make`. `name` is the
 * driver's; the other members are what the functions of the same names call.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent, AgentError } from "effect-agents"
 *
 * const refusal = new AgentError.AgentUnsupported({ agent: "none", what: "any work in a dry run" })
 *
 * // A stand-in that starts nothing.
 * const dry = Layer.succeed(Agent.Agent, {
 *   name: "none",
 *   start: () => Effect.fail(refusal),
 *   conversation: () => Effect.dieMessage("no conversations in a dry run"),
 *   plan: () => Effect.fail(refusal),
 *   probe: () => Effect.dieMessage("nothing is installed in a dry run")
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class Agent extends Context.Tag("effect-agents/Agent")<Agent, {
  readonly name: string
  readonly start: <E = never, R = never>(
    request: AgentRequest.AgentRequest,
    options?: AgentRun.Options<E, R>
  ) => Effect.Effect<AgentRun.AgentRun<E>, AgentError.AgentError, R | Scope.Scope>
  readonly conversation: <E = never, R = never>(
    fields: ConversationFields,
    options?: AgentRun.Options<E, R>
  ) => Effect.Effect<Conversation.Conversation<E>, never, R | Scope.Scope>
  readonly plan: (
    request: AgentRequest.AgentRequest
  ) => Effect.Effect<AgentDriver.Plan, PlanError>
  readonly probe: (
    options?: ProbeOptions
  ) => Effect.Effect<Installation.Installation, ProbeError>
}>() {}

/**
 * Where and as whom an agent is asked, as in a request: `cwd` (by default the host's), `env`, `envPolicy` (`minimal`).
 * `timeout` is for each question (20 seconds).
 *
 * @since 0.1.0
 * @category models
 */
export interface ProbeOptions extends Partial<Pick<AgentRequest.AgentRequest, "cwd" | "env" | "envPolicy">> {
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * Why nothing can be planned: the agent cannot do what was asked, or what the name of a session stands for cannot be used.
 *
 * @since 0.1.0
 * @category errors
 */
export type PlanError =
  | AgentError.AgentUnsupported
  | AgentError.AgentInputTooLarge
  | AgentError.AgentSessionConflict
  | AgentError.AgentSessionStoreError

/**
 * Why an agent cannot be asked: it is not there, or cannot be started.
 *
 * @since 0.1.0
 * @category errors
 */
export type ProbeError =
  | AgentError.AgentNotInstalled
  | AgentError.AgentSpawnError
  | AgentError.AgentInputTooLarge

/**
 * What an agent needs of the machine: all of it is in `NodeProcessTree.layer`.
 *
 * @since 0.1.0
 * @category models
 */
export type Services = ProcessTree.Spawner | FileSystem.FileSystem | Path.Path

/**
 * An agent from a driver, for programs that use several. Never fails: whether the program is there shows with the first
 * run. Remembers named sessions in the `SessionStore` where one is provided, else in the user's files.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Claude, Teardown } from "effect-agents"
 *
 * const review = Effect.gen(function*() {
 *   const agent = yield* Agent.make(Claude.driver, { teardown: Teardown.graceful("1 second") })
 *   return yield* Agent.run(AgentRequest.make({ prompt: "Review the staged diff" })).pipe(
 *     Effect.provideService(Agent.Agent, agent)
 *   )
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <S>(
  driver: AgentDriver.AgentDriver<S>,
  options?: Options
): Effect.Effect<Context.Tag.Service<Agent>, never, Services> =>
  Effect.gen(function*() {
    // Of what was there when the agent was made only this: the rest, as the scope, is the caller's.
    const services = Context.pick(ProcessTree.Spawner, FileSystem.FileSystem, Path.Path)(
      yield* Effect.context<Services>()
    )
    const given = yield* Effect.serviceOption(SessionStore.SessionStore)
    const store = Option.isSome(given) ? given.value : yield* SessionStore.make()
    const probe = yield* probes.cached(driver, options?.program)
    return Agent.of({
      name: driver.name,
      start: (request, runOptions = {}) =>
        Effect.provide(named.start(driver, store, options ?? {}, request, runOptions), services),
      conversation: (fields, runOptions = {}) =>
        Effect.provide(conversations.make(driver, store, options ?? {}, fields, runOptions), services),
      plan: (request) => Effect.provide(named.plan(driver, store, options ?? {}, request), services),
      probe
    })
  })

/**
 * An agent from a driver, as the agent of a program.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, Codex } from "effect-agents"
 *
 * // Codex, which also sees the variables of a proxy.
 * const proxied = Agent.layer({
 *   ...Codex.driver,
 *   environment: [...Codex.driver.environment, "HTTPS_PROXY", "NO_PROXY"]
 * })
 * ```
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
 * Fails before anything is started with `AgentUnsupported`, `AgentInputTooLarge`, `AgentNotInstalled`, `AgentSpawnError`,
 * and for a named session with `AgentSessionBusy`, `AgentSessionConflict` or `AgentSessionStoreError`; what goes wrong later
 * is told by the run's `outcome` and `events`.
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
export const start = <E = never, R = never>(
  request: AgentRequest.AgentRequest,
  options?: AgentRun.Options<E, R>
): Effect.Effect<AgentRun.AgentRun<NoInfer<E>>, AgentError.AgentError, Agent | NoInfer<R> | Scope.Scope> =>
  Effect.flatMap(Agent, (agent) => agent.start(request, options))

/**
 * Runs a request to its end, in a scope of its own. Returns only when the process tree is empty, or its report names
 * what could not be ended: also when it fails (with any member of `AgentError`), is interrupted or timed out.
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
export const run = <E = never, R = never>(
  request: AgentRequest.AgentRequest,
  options?: AgentRun.Options<E, R>
): Effect.Effect<
  AgentOutcome.AgentOutcome,
  AgentError.AgentError | NoInfer<E>,
  Agent | NoInfer<Exclude<R, Scope.Scope>>
> => Effect.scoped(Effect.flatMap(start(request, options), (run) => run.outcome))

/**
 * An answer as a value. `outcome` is that of the run which gave it, with `usage`, `subAgents`, `attempts` and
 * `filesChanged` of all: those before it, `repairs` of them, gave answers that were not taken.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer<out A> {
  readonly value: A
  readonly outcome: AgentOutcome.AgentOutcome
  readonly repairs: number
}

/**
 * Options of a run whose answer is to be a value. `repairs`: how often the agent is told what is wrong with its answer
 * before the run fails with `AgentOutputInvalid`. Default 2.
 *
 * @since 0.1.0
 * @category models
 */
export interface ObjectOptions<E = never, R = never> extends AgentRun.Options<E, R> {
  readonly repairs?: number | undefined
}

/**
 * Runs a request whose answer is a value of a schema. The agent is given the JSON schema of what the schema decodes from,
 * and its answer is decoded. Where that fails, its conversation goes on with the words of the `ParseError`, in a run of
 * its own that begins when nothing of the one before is left. The options hold for each run.
 *
 * Claude Code and Codex have an option for the schema, Copilot is asked in words. Codex is held to a strict form, in which
 * what may be absent is `null`: that is taken out again before the answer is decoded. It is asked in words, too, where
 * the schema has no such form, as a record of any keys. A schema without a JSON schema is refused with `AgentUnsupported`
 * before anything is started.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const Finding = Schema.Struct({
 *   file: Schema.String,
 *   line: Schema.Int,
 *   severity: Schema.Literal("low", "high"),
 *   fix: Schema.optional(Schema.String)
 * })
 *
 * const review = Agent.object(AgentRequest.make({ prompt: "Review the staged diff" }), Schema.Array(Finding)).pipe(
 *   Effect.map(({ value }) => value.filter(({ severity }) => severity === "high"))
 * )
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const object = <A, I, RS, E = never, R = never>(
  request: AgentRequest.AgentRequest,
  schema: Schema.Schema<A, I, RS>,
  options: ObjectOptions<E, R> = {}
): Effect.Effect<
  Answer<A>,
  AgentError.AgentError | NoInfer<E>,
  Agent | RS | NoInfer<Exclude<R, Scope.Scope>>
> =>
  Effect.flatMap(
    Agent,
    ({ name }) => objects.ask(name, request, schema, options.repairs ?? 2, (request) => run(request, options))
  )

/**
 * Runs a request as a stream of its events. The run lives as long as the stream is read: whoever stops reading, ends
 * it. Fails with what went wrong, after the events that came before.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const typed = Agent.stream(AgentRequest.make({ prompt: "Explain src/index.ts" })).pipe(
 *   Stream.runForEach((event) =>
 *     event._tag === "Text" ? Effect.sync(() => process.stdout.write(event.text)) : Effect.void
 *   )
 * )
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const stream = <E = never, R = never>(
  request: AgentRequest.AgentRequest,
  options?: AgentRun.Options<E, R>
): Stream.Stream<
  AgentEvent.AgentEvent,
  AgentError.AgentError | NoInfer<E>,
  Agent | NoInfer<Exclude<R, Scope.Scope>>
> => Stream.unwrapScoped(Effect.map(start(request, options), (run) => run.events))

/**
 * A conversation of several turns, which lives as long as the scope: see `Conversation`. Nothing is started before the
 * first turn.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "effect-agents"
 *
 * const twice = Effect.scoped(Effect.gen(function*() {
 *   const { turn } = yield* Agent.conversation({ permission: "Edit" })
 *   yield* turn("Write a test that fails because of the bug in parse.ts")
 *   return yield* turn("Now mend the bug")
 * }))
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const conversation = <E = never, R = never>(
  fields: ConversationFields,
  options?: AgentRun.Options<E, R>
): Effect.Effect<Conversation.Conversation<NoInfer<E>>, never, Agent | NoInfer<R> | Scope.Scope> =>
  Effect.flatMap(Agent, (agent) => agent.conversation(fields, options))

/**
 * What would be started for a request, without starting anything: for a look before the leap, and for logs
 * (`AgentDriver.redacted` leaves out what is secret).
 *
 * It is that of a run without options of its own: with `approve` or `limits`, a run may be started with other arguments.
 * Fails with a `PlanError`. Whether the program is installed is not looked at, and neither is who holds a named session.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentDriver, AgentRequest } from "effect-agents"
 *
 * const look = Agent.plan(AgentRequest.make({ prompt: "Fix the failing test", permission: "Edit" })).pipe(
 *   Effect.flatMap((plan) => Effect.log(AgentDriver.redacted(plan).join(" ")))
 * )
 * ```
 *
 * @since 0.1.0
 * @category getters
 */
export const plan = (
  request: AgentRequest.AgentRequest
): Effect.Effect<AgentDriver.Plan, PlanError, Agent> => Effect.flatMap(Agent, (agent) => agent.plan(request))

/**
 * What is known of the agent on this machine: where it is, its version, whether it is logged in, its models and quota as
 * far as it tells. Asks the program itself, each question of a contained process; what it does not answer in time is
 * among the `problems`. No prompt is sent, and no model called. The answer is kept for 5 minutes, by `options`, unless
 * nobody is logged in or there are `problems`.
 *
 * Fails with a `ProbeError` where a run would fail before it began.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const checked = Effect.gen(function*() {
 *   const { account, version } = yield* Agent.probe()
 *   if (account.login === "no") return yield* Effect.fail(`log in first (version ${version})`)
 *   return yield* Agent.run(AgentRequest.make({ prompt: "Review the staged diff" }))
 * })
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const probe = (
  options?: ProbeOptions
): Effect.Effect<Installation.Installation, ProbeError, Agent> => Effect.flatMap(Agent, (agent) => agent.probe(options))
