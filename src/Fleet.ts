/**
 * Many runs at once: the first answer of several, a bounded fan-out, a pool for all runs of a program, a run that is
 * taken up again. Built from Effect's own combinators, and generic like them: what runs need not be an agent.
 *
 * All of them end what they started before they return.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Array from "effect/Array"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Agent from "./Agent.js"
import * as AgentError from "./AgentError.js"
import type * as AgentOutcome from "./AgentOutcome.js"
import * as AgentRequest from "./AgentRequest.js"
import type * as AgentRun from "./AgentRun.js"
import { isolated as isolatedHome } from "./internal/fleet/configHome.js"
import * as internal from "./internal/fleet/pool.js"
import { continued } from "./internal/session/continued.js"
import * as ProcessTree from "./ProcessTree.js"
import type * as Teardown from "./Teardown.js"

/**
 * One of a race: how it ended, interrupted unless it had failed before, and the reports of the trees that it had started.
 *
 * @since 0.1.0
 * @category models
 */
export interface Loser<Name, A, E> {
  readonly name: Name
  readonly exit: Exit.Exit<A, E>
  readonly reports: ReadonlyArray<Teardown.TeardownReport>
}

/**
 * The result of a race: the winner's name and value, and the losers in the order in which they were given.
 *
 * @since 0.1.0
 * @category models
 */
export interface Raced<Name, A, E> {
  readonly winner: Name
  readonly value: A
  readonly losers: ReadonlyArray<Loser<Name, A, E>>
}

/**
 * Nobody won: every run of a race has failed, each with its own `cause`. Empty when there was nobody to run.
 *
 * **Example**
 *
 * ```ts
 * import { Cause, Effect } from "effect"
 * import { Agent, AgentRequest, Claude, Fleet } from "effect-agents"
 *
 * const ask = (model: string) => Agent.run(AgentRequest.make({ prompt: "Why does the build fail?", model }))
 *
 * const answer = Fleet.race({ small: ask("haiku"), large: ask("opus") }).pipe(
 *   Effect.tapErrorTag("RaceFailed", ({ failures }) =>
 *     Effect.forEach(failures, ({ cause, name }) => Effect.logError(name, Cause.pretty(cause)))),
 *   Effect.provide(Claude.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class RaceFailed<Name extends string, E> extends Data.Error<{
  readonly failures: ReadonlyArray<{ readonly name: Name; readonly cause: Cause.Cause<E> }>
}> {
  /** @since 0.1.0 */
  readonly _tag = "RaceFailed"
  /** @since 0.1.0 */
  override get message(): string {
    const each = this.failures.map(({ cause, name }) => `${name}: ${Cause.pretty(cause).split("\n")[0]}`)
    return each.length === 0 ? "a race of nobody" : `nobody has won: ${each.join("; ")}`
  }
}

const raceEntries = Effect.fnUntraced(function*<Name extends string, A, E, R>(
  runs: ReadonlyArray<readonly [Name, Effect.Effect<A, E, R>]>
) {
  const exits = yield* Ref.make<ReadonlyMap<Name, Exit.Exit<A, E>>>(new Map())
  const reports = yield* Ref.make<ReadonlyArray<readonly [Name, Teardown.TeardownReport]>>([])
  const ended = yield* Effect.exit(Effect.raceAll(runs.map(([name, run]) =>
    Effect.scoped(run).pipe(
      ProcessTree.onReport((report) => Ref.update(reports, Array.append([name, report] as const))),
      Effect.onExit((exit) => Ref.update(exits, (exits) => new Map(exits).set(name, exit))),
      Effect.map((value) => ({ winner: name, value }))
    )
  )))
  const told = yield* Ref.get(reports)
  // One that was ended before its first step has left no word.
  const exitOf = yield* Effect.map(
    Ref.get(exits),
    (exits) => (name: Name) => exits.get(name) ?? Exit.interrupt(FiberId.none)
  )
  if (Exit.isFailure(ended)) {
    const causeOf = Exit.match({ onFailure: (cause: Cause.Cause<E>) => cause, onSuccess: () => Cause.empty })
    return yield* new RaceFailed<Name, E>({ failures: runs.map(([name]) => ({ name, cause: causeOf(exitOf(name)) })) })
  }
  const { value, winner } = ended.value
  const raced: Raced<Name, A, E> = {
    winner,
    value,
    losers: runs.flatMap(([name]) =>
      name === winner
        ? []
        : [{ name, exit: exitOf(name), reports: told.flatMap(([of, report]) => of === name ? [report] : []) }]
    )
  }
  return raced
})

/**
 * The first success wins. It is returned when the others have been interrupted and everything that they had started is
 * gone: each runs in a scope of its own, and how it was ended stands beside the winner. A failure does not end the race;
 * when all have failed, it fails with `RaceFailed`.
 *
 * What is a good answer is up to the runs: one that ends in `Effect.filterOrFail` wins only with an answer that fits.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Claude, Codex, Fleet } from "effect-agents"
 *
 * const ask = Agent.run(AgentRequest.make({ prompt: "Why does the build fail?" }))
 *
 * const fastest = Fleet.race({
 *   claude: Effect.provide(ask, Claude.layer()),
 *   codex: Effect.provide(ask, Codex.layer())
 * }).pipe(
 *   Effect.tap(({ value, winner }) => Effect.log(`${winner}: ${value.text}`)),
 *   Effect.tap(({ losers }) => Effect.log(losers.flatMap(({ reports }) => reports.map(String)).join("\n")))
 * )
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const race = <Runs extends Readonly<Record<string, Effect.Effect<unknown, unknown, unknown>>>>(
  runs: Runs
): Effect.Effect<
  Raced<keyof Runs & string, Effect.Effect.Success<Runs[keyof Runs]>, Effect.Effect.Error<Runs[keyof Runs]>>,
  RaceFailed<keyof Runs & string, Effect.Effect.Error<Runs[keyof Runs]>>,
  Exclude<Effect.Effect.Context<Runs[keyof Runs]>, Scope.Scope>
> => raceEntries(Object.entries(runs) as ReadonlyArray<readonly [keyof Runs & string, Member<Runs[keyof Runs]>]>)

type Member<Run> = Effect.Effect<
  Effect.Effect.Success<Run & Effect.Effect<unknown, unknown, unknown>>,
  Effect.Effect.Error<Run & Effect.Effect<unknown, unknown, unknown>>,
  Effect.Effect.Context<Run & Effect.Effect<unknown, unknown, unknown>>
>

/**
 * Options of `forEach`.
 *
 * - `concurrency`: at most so many at a time.
 * - `mode`: `"fail-fast"` (default): the first failure ends the rest, and fails when that is gone. `"collect"`: all run
 *   to their end, and each gives its `Exit`.
 * - `stagger`: starts are at least so far apart.
 *
 * @since 0.1.0
 * @category models
 */
export interface ForEachOptions<Mode extends "fail-fast" | "collect" = "fail-fast" | "collect"> {
  readonly concurrency: number
  readonly mode?: Mode | undefined
  readonly stagger?: Duration.DurationInput | undefined
}

/**
 * Runs an effect for each item, a bounded number at a time, each in a scope of its own. The results stand in the order of
 * the items.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Exit } from "effect"
 * import { Agent, AgentRequest, Fleet } from "effect-agents"
 *
 * const review = (file: string) => Agent.run(AgentRequest.make({ prompt: `Review ${file}` }))
 *
 * const all = Fleet.forEach(["parser.ts", "printer.ts", "checker.ts"], review, {
 *   concurrency: 2,
 *   mode: "collect",
 *   stagger: "2 seconds"
 * }).pipe(Effect.map((exits) => exits.filter(Exit.isSuccess).map(({ value }) => value.text)))
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export function forEach<X, A, E, R>(
  items: Iterable<X>,
  f: (item: X, index: number) => Effect.Effect<A, E, R>,
  options: ForEachOptions<"collect"> & { readonly mode: "collect" }
): Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, Exclude<R, Scope.Scope>>
export function forEach<X, A, E, R>(
  items: Iterable<X>,
  f: (item: X, index: number) => Effect.Effect<A, E, R>,
  options: ForEachOptions<"fail-fast">
): Effect.Effect<ReadonlyArray<A>, E, Exclude<R, Scope.Scope>>
export function forEach<X, A, E, R>(
  items: Iterable<X>,
  f: (item: X, index: number) => Effect.Effect<A, E, R>,
  { concurrency, mode, stagger }: ForEachOptions
): Effect.Effect<ReadonlyArray<A | Exit.Exit<A, E>>, E, Exclude<R, Scope.Scope>> {
  // One that throws before it is an effect fails as its item does, and not as the whole.
  const run = (item: X, index: number) => Effect.scoped(Effect.suspend(() => f(item, index)))
  const settle: (item: X, index: number) => Effect.Effect<A | Exit.Exit<A, E>, E, Exclude<R, Scope.Scope>> =
    mode === "collect" ? (item, index) => Effect.exit(run(item, index)) : run
  // The checker takes the first overload for the whole, whose type parameters are not these.
  // @effect-diagnostics-next-line missingEffectContext:off missingEffectError:off
  return Effect.flatMap(
    internal.makeGate(stagger),
    (gate) => Effect.forEach(items, (item, index) => Effect.flatMap(gate, () => settle(item, index)), { concurrency })
  )
}

/**
 * Options of a pool.
 *
 * - `size`: at most so many runs are live; at least 1.
 * - `queue`: at most so many wait for a place; more are refused with `FleetFull`.
 * - `stagger`: starts are at least so far apart.
 *
 * @since 0.1.0
 * @category models
 */
export interface PoolOptions {
  readonly size: number
  readonly queue: number
  readonly stagger?: Duration.DurationInput | undefined
}

/**
 * A cap on the runs that are live at the same time. Places are given in the order in which they were asked for; whoever
 * is interrupted while waiting leaves the queue.
 *
 * - `wrap`: an agent whose every run takes a place, from its start until its tree is verified empty, or handed over. When
 *   places and queue are full, its `start` fails with `FleetFull`. A conversation takes a place with its first turn and
 *   keeps it: its process stays.
 * - `withPermit`: any effect takes a place, from its start until its scope, which is its own, has closed.
 * - `status`: how many are live and how many wait.
 *
 * However a place was taken, processes that could not be ended go on counting until they are gone.
 *
 * A run inside `withPermit` of a wrapped agent of the same pool takes a second place: use one or the other.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Claude, Codex, Fleet } from "effect-agents"
 *
 * // Two agents under one cap.
 * const agents = Effect.gen(function*() {
 *   const pool = yield* Fleet.Pool
 *   return { claude: pool.wrap(yield* Claude.make()), codex: pool.wrap(yield* Codex.make()) }
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class Pool extends Context.Tag("effect-agents/Fleet/Pool")<Pool, {
  readonly wrap: (agent: Agent.Agent["Type"]) => Agent.Agent["Type"]
  readonly withPermit: <A, E, R>(
    self: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | AgentError.FleetFull, Exclude<R, Scope.Scope>>
  readonly status: Effect.Effect<{
    readonly size: number
    readonly live: number
    readonly queue: number
    readonly waiting: number
  }>
}>() {}

/**
 * Makes a pool. Runs that wait for a place wait until they get it: to bound that, give the run a timeout.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Fleet } from "effect-agents"
 *
 * const builds = Effect.scoped(Effect.gen(function*() {
 *   const { withPermit } = yield* Fleet.pool({ size: 2, queue: 10 })
 *   const build = withPermit(Effect.sleep("1 second"))
 *   return yield* Effect.all([build, build, build], { concurrency: "unbounded" })
 * }))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const pool = (options: PoolOptions): Effect.Effect<Pool["Type"], never, Scope.Scope> => internal.make(options)

/**
 * A pool for a program: everything that it is provided to shares its places.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent, AgentRequest, Claude, Fleet, NodeProcessTree } from "effect-agents"
 *
 * // However many are asked for, at most four run.
 * const agent = Fleet.pooled(Claude.layer()).pipe(
 *   Layer.provide(Fleet.layerPool({ size: 4, queue: 100 })),
 *   Layer.provide(NodeProcessTree.layer)
 * )
 *
 * const review = (file: string) => Agent.run(AgentRequest.make({ prompt: `Review ${file}` }))
 *
 * const all = Effect.forEach(["a.ts", "b.ts", "c.ts"], review, { concurrency: "unbounded" }).pipe(Effect.provide(agent))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerPool = (options: PoolOptions): Layer.Layer<Pool> => Layer.scoped(Pool, pool(options))

/**
 * An agent whose every run takes a place of the pool: `Pool.wrap` as a layer.
 *
 * **Example**
 *
 * ```ts
 * import { Layer } from "effect"
 * import { Codex, Fleet, NodeProcessTree } from "effect-agents"
 *
 * const agent = Fleet.pooled(Codex.layer()).pipe(
 *   Layer.provideMerge(Fleet.layerPool({ size: 2, queue: 20, stagger: "500 millis" })),
 *   Layer.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const pooled = <E, R>(agent: Layer.Layer<Agent.Agent, E, R>): Layer.Layer<Agent.Agent, E, R | Pool> =>
  Layer.effect(Agent.Agent, Effect.map(Effect.all([Pool, Agent.Agent]), ([pool, agent]) => pool.wrap(agent))).pipe(
    Layer.provide(agent)
  )

/**
 * The result of `supervise`: the outcome of the last attempt, and the errors of those before.
 *
 * @since 0.1.0
 * @category models
 */
export interface Supervised {
  readonly outcome: AgentOutcome.AgentOutcome
  readonly errors: ReadonlyArray<AgentError.AgentError>
}

/**
 * A supervised run has failed for good: `errors` are those of its attempts, `last` is the one that was final, or the one
 * at which the schedule ended.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { AgentRequest, Fleet } from "effect-agents"
 *
 * const migrate = Fleet.supervise(AgentRequest.make({ prompt: "Migrate to v2", permission: "Edit" }), Schedule.recurs(3))
 *   .pipe(
 *     Effect.tapErrorTag("SuperviseFailed", ({ errors, last }) => Effect.logError(`${errors.length} attempts`, last)),
 *     // Back to the error itself.
 *     Effect.mapError(({ last }) => last)
 *   )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class SuperviseFailed
  extends Schema.TaggedError<SuperviseFailed>("effect-agents/Fleet/SuperviseFailed")("SuperviseFailed", {
    errors: Schema.NonEmptyArray(AgentError.AgentError)
  })
{
  /** @since 0.1.0 */
  get last(): AgentError.AgentError {
    return Array.lastNonEmpty(this.errors)
  }
  /** @since 0.1.0 */
  override get message(): string {
    return `failed after ${this.errors.length} attempts: ${this.last.message}`
  }
}

/**
 * Options of `supervise`: those of each run, and the `prompt` with which a conversation is taken up again. By default it
 * says that the last turn was cut off, and to go on from what is done.
 *
 * @since 0.1.0
 * @category models
 */
export interface SuperviseOptions<E = never, R = never> extends AgentRun.Options<E, R> {
  readonly prompt?: ((error: AgentError.AgentError) => string) | undefined
}

const goOn = () =>
  "Your last turn was cut off before it was over. Look at what is already done, and go on from there without doing it "
  + "again."

/** What to ask next, or nothing when there is no sense in another attempt. */
const nextRequest = (
  request: AgentRequest.AgentRequest,
  error: AgentError.AgentError,
  prompt: (error: AgentError.AgentError) => string
): AgentRequest.AgentRequest | undefined => {
  if (!error.isTransient) return undefined
  // Nothing was started.
  if (!("partial" in error)) return request
  const { resumable, session, teardown } = error.partial
  if (teardown?.verified === "survivors") return undefined
  if (resumable === "no") return request
  return resumable === "yes" && session !== undefined
    ? AgentRequest.make({
      ...request,
      prompt: prompt(error),
      command: false,
      session: continued(request.session, session)
    })
    : undefined
}

/**
 * Runs a request, and when the run fails with an error that may pass (`AgentError.isTransient`), takes its conversation up
 * again, as often and at such distances as the schedule says. What was done is not asked for again: the attempts after
 * the first resume the conversation. Only where nothing was begun is the same request made once more; where it is not
 * known whether a conversation can be continued, the error is final. A named session goes on by its name: who takes that
 * between two attempts is waited for.
 *
 * One run at a time, each in a scope of its own: an attempt begins when the tree of the last one is empty. If that could
 * not be ended, there is no further one.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { AgentRequest, Fleet } from "effect-agents"
 *
 * const schedule = Schedule.exponential("2 seconds").pipe(Schedule.jittered, Schedule.intersect(Schedule.recurs(5)))
 *
 * const migrate = Fleet.supervise(AgentRequest.make({ prompt: "Migrate to v2", permission: "Edit" }), schedule).pipe(
 *   Effect.tap(({ errors, outcome }) => Effect.log(`${errors.length} failed before: ${outcome.text}`))
 * )
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const supervise: <Out, R, E = never, R2 = never>(
  request: AgentRequest.AgentRequest,
  schedule: Schedule.Schedule<Out, AgentError.AgentError, R>,
  options?: SuperviseOptions<E, R2>
) => Effect.Effect<
  Supervised,
  SuperviseFailed | NoInfer<E>,
  Agent.Agent | R | Exclude<NoInfer<R2>, Scope.Scope>
> = Effect.fnUntraced(function*<Out, R, E, R2>(
  request: AgentRequest.AgentRequest,
  schedule: Schedule.Schedule<Out, AgentError.AgentError, R>,
  options?: SuperviseOptions<E, R2>
) {
  const { prompt = goOn, ...runOptions } = options ?? {}
  const next = yield* Ref.make<AgentRequest.AgentRequest | undefined>(request)
  const errors = yield* Ref.make<ReadonlyArray<AgentError.AgentError>>([])
  const attempt = (current: AgentRequest.AgentRequest) =>
    Agent.run<E, R2>(current, runOptions).pipe(
      Effect.map(Either.right),
      // What a handler of the caller's fails with is the caller's, and final.
      Effect.catchAll((error) =>
        AgentError.isAgentError(error) ? Effect.fail(error) : Effect.succeed(Either.left(error))
      ),
      Effect.tapError((error) =>
        Effect.zipRight(
          Ref.update(errors, Array.append(error)),
          Ref.set(next, nextRequest(current, error, prompt))
        )
      )
    )
  const ended = yield* Ref.get(next).pipe(
    Effect.flatMap((current = request) => attempt(current)),
    Effect.retry({ schedule, while: () => Effect.map(Ref.get(next), (request) => request !== undefined) }),
    Effect.catchAll((last) =>
      Effect.flatMap(
        Ref.get(errors),
        (errors) => new SuperviseFailed({ errors: Array.append(errors.slice(0, -1), last) })
      )
    )
  )
  const supervised: Supervised = { outcome: yield* ended, errors: yield* Ref.get(errors) }
  return supervised
})

/**
 * A request with a config home of its own, for agents that clobber shared files when several run at once: a directory
 * with a copy of the user's configuration (settings, instructions, sub-agents, skills), that the agent is pointed to by
 * `CLAUDE_CONFIG_DIR`, `CODEX_HOME` or `COPILOT_HOME`. It goes with the scope, **and the conversations in it go too**:
 * they can be resumed with the returned request's `env` as long as the scope is open, and not afterwards.
 *
 * Of the account, an API key in a file is copied. A login whose token is renewed is not, since a copy that renews it logs
 * the original out: there, the account has to be in the environment (`ANTHROPIC_API_KEY`, `CLAUDE_CODE_OAUTH_TOKEN`,
 * `CODEX_API_KEY`, `GH_TOKEN`, …), or it fails with `AgentUnsupported`. So it does for a conversation that exists, and
 * for agents other than these three. Logins in the keychain of the system are the agent's own affair.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Fleet } from "effect-agents"
 *
 * const review = (file: string) =>
 *   Fleet.isolated(AgentRequest.make({ prompt: `Review ${file}` })).pipe(
 *     Effect.flatMap((request) => Agent.run(request)),
 *     Effect.scoped
 *   )
 *
 * const all = Fleet.forEach(["parser.ts", "printer.ts"], review, { concurrency: 2 })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const isolated = (
  request: AgentRequest.AgentRequest
): Effect.Effect<
  AgentRequest.AgentRequest,
  AgentError.AgentUnsupported | AgentError.AgentSpawnError,
  Agent.Agent | ProcessTree.Spawner | FileSystem.FileSystem | Path.Path | Scope.Scope
> => isolatedHome(request)
