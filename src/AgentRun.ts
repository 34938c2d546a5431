/**
 * A run that is going on: its events while they happen, its outcome, its conversation and its processes.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as AgentError from "./AgentError.js"
import type * as AgentEvent from "./AgentEvent.js"
import type * as AgentOutcome from "./AgentOutcome.js"
import type * as Approval from "./Approval.js"
import type * as ProcessTree from "./ProcessTree.js"
import type * as Session from "./Session.js"
import type * as Teardown from "./Teardown.js"

/**
 * A live run. It belongs to a scope: when that closes, the run is over and all its processes are gone, whether or not
 * it had finished.
 *
 * - `events`: what happens, for one reader, who keeps the agent waiting when slow. Ends when the run has ended and its
 *   tree is empty; fails with the run's error. Events that nobody has read yet are dropped once the scope closes.
 * - `outcome`: waits for the end. May be asked for any number of times. While nobody reads `events`, it reads and drops
 *   them, so that the agent can go on.
 * - `session`: the conversation, as soon as the agent has named it.
 * - `tree`: its processes.
 * - `send`: a message into the turn that is going on. Returns once the agent has taken it. Fails with `AgentTurnEnded`
 *   when the turn was over before, and with `AgentUnsupported` unless the request is `interactive` or the run has an
 *   `approve` handler.
 * - `interrupt`: ends the turn and keeps the conversation, then waits for the end of the run, whose outcome has the
 *   `stop` `interrupted`. Without a dialogue, and when the agent does not follow within `interruptWithin`, its processes
 *   are ended as at the end of the scope. Does nothing once the turn is over.
 * - `detach`: hands its processes over, to go on without this host and without its events: see `ProcessTree.Detached`.
 *   The run is over with that: the `stop` of its outcome is `detached`, unless its turn was over, and the `teardown` tells
 *   the mark. Fails with `AgentUnsupported` for a run that is talked to or in a named session, and with `DetachRefused`
 *   where the machine cannot do it. What the scope holds for the run, as a worktree, still goes with it.
 *
 * `E` is what the `approve` handler of the run may fail with, which ends the run.
 *
 * `outcome` and `session` fail with the error of the run, and are interrupted when the scope closes before they have
 * ended. `agent` is the name of the driver.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const watched = Effect.scoped(Effect.gen(function*() {
 *   const run = yield* Agent.start(AgentRequest.make({ prompt: "Run the tests", permission: "Auto" }))
 *   yield* run.tree.members.pipe(
 *     Effect.flatMap((members) => Effect.log(`${members.length} processes`)),
 *     Effect.repeat(Schedule.spaced("10 seconds")),
 *     Effect.forkScoped
 *   )
 *   const { id } = yield* run.session
 *   yield* Effect.log(`session ${id}`)
 *   return yield* run.outcome
 * }))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentRun<out E = never> {
  readonly agent: string
  readonly events: Stream.Stream<AgentEvent.AgentEvent, AgentError.AgentError | E>
  readonly outcome: Effect.Effect<AgentOutcome.AgentOutcome, AgentError.AgentError | E>
  readonly session: Effect.Effect<Session.SessionRef, AgentError.AgentError | E>
  readonly tree: ProcessTree.ProcessTree
  readonly send: (text: string) => Effect.Effect<void, SendError>
  readonly interrupt: Effect.Effect<void>
  readonly detach: Effect.Effect<ProcessTree.Detached, AgentError.AgentUnsupported | ProcessTree.DetachRefused>
}

/**
 * Why a message did not reach the agent.
 *
 * @since 0.1.0
 * @category errors
 */
export type SendError =
  | AgentError.AgentTurnEnded
  | AgentError.AgentUnresponsive
  | AgentError.AgentUnsupported

/**
 * What a run may take: beside what its processes may use all together, its time, its steps and its tokens. A run that
 * goes beyond is ended and fails with `AgentLimitExceeded`, unless its answer was complete by then. In a conversation
 * they hold for each turn. An agent that can keep one itself is told of it, and ends its turn in its own way: Claude Code
 * knows `turns` and, outside of conversations, `costUsd`. What is left out has no limit.
 *
 * - `wall`: the whole time.
 * - `firstEvent`: the time until the agent is first heard of.
 * - `idle`: how long it may do nothing. Not counted while a tool call is open, while it waits for an answer of `approve`,
 *   or for a slow reader of its events. Its attempts to reach the provider again do not count as doing something, unless
 *   `retriesAreActivity`.
 * - `afterResult`: how long it may be silent once it has said that its turn is over. Then it is ended, with all that it has
 *   left at work, and the answer is kept: this one fails nothing. Default 10 seconds.
 * - `tool`: how long one tool call may be open, not counting the time in which it waits for an answer of `approve`.
 * - `turns`: how often the model may be asked: once at the beginning, and once after each round of tools. `steps`: how
 *   many messages and tool calls, which also ends an agent that goes round in circles.
 * - `costUsd`, `tokens`: as far as the agent tells them while it works; tokens of all kinds together.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const bounded = Agent.run(AgentRequest.make({ prompt: "Fix the failing test", permission: "Auto" }), {
 *   limits: { wall: "20 minutes", idle: "2 minutes", steps: 200, costUsd: 2, memoryBytes: 4 * 2 ** 30 }
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface Limits extends ProcessTree.Limits {
  readonly wall?: Duration.DurationInput | undefined
  readonly firstEvent?: Duration.DurationInput | undefined
  readonly idle?: Duration.DurationInput | undefined
  readonly afterResult?: Duration.DurationInput | undefined
  readonly tool?: Duration.DurationInput | undefined
  readonly retriesAreActivity?: boolean | undefined
  readonly turns?: number | undefined
  readonly steps?: number | undefined
  readonly costUsd?: number | undefined
  readonly tokens?: number | undefined
}

/**
 * How runs are started, bounded and ended: for one run, or for all of an agent.
 *
 * - `teardown`: how the processes are ended; by default the steps that fit the agent's CLI.
 * - `seal`: the boundary around the processes, by default that of the `ProcessTree.Spawner`. One that this machine does
 *   not have fails the start with an `AgentSpawnError` of the reason `containment`. See `ProcessTree.Seal`.
 * - `maxLineBytes`: the longest line of output, in bytes; beyond it the run fails with `AgentLineTooLong`. Default
 *   64 MiB, never more than 496 MiB.
 * - `stderrTailBytes`: how much of the end of the standard error is kept. Default 16 KiB.
 * - `drain`: once the leading process has ended, how long its output may be silent in the hands of a descendant before
 *   it is read no further; ten times as long if it is never silent. Default 500 milliseconds.
 * - `replyWithin`: in a dialogue, how long the agent may take to answer what it has to answer. Default 60 seconds.
 * - `interruptWithin`: how long it may take to end its turn when it is interrupted. Default 5 seconds.
 * - `limits`: what the run may use; those of one run are put over those of all, each for itself.
 * - `usage`: whether the report of the teardown is to say what was used, also without limits. Default `false`.
 *
 * **Example**
 *
 * ```ts
 * import { Agent, AgentRequest, Teardown } from "effect-agents"
 *
 * const impatient = Agent.run(AgentRequest.make({ prompt: "Run the tests", permission: "Auto" }), {
 *   teardown: Teardown.immediate,
 *   drain: "50 millis",
 *   limits: { afterResult: "1 second" }
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface Settings {
  readonly teardown?: Teardown.Teardown | undefined
  readonly seal?: ProcessTree.Seal | undefined
  readonly maxLineBytes?: number | undefined
  readonly stderrTailBytes?: number | undefined
  readonly drain?: Duration.DurationInput | undefined
  readonly replyWithin?: Duration.DurationInput | undefined
  readonly interruptWithin?: Duration.DurationInput | undefined
  readonly limits?: Limits | undefined
  readonly usage?: boolean | undefined
}

/**
 * Options of one run: its settings, over those of the agent, and who answers the agent's questions.
 *
 * With `approve`, whatever goes beyond the `permission` of the request is asked for; without, the permission alone
 * decides. The handler runs with the services of whoever starts the run; when it fails, so does the run.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Approval } from "effect-agents"
 *
 * const careful = Agent.run(AgentRequest.make({ prompt: "Update the dependencies", permission: "Edit" }), {
 *   approve: ({ input, tool }) =>
 *     tool === "Bash" && JSON.stringify(input).includes("npm install")
 *       ? Effect.succeed(Approval.allow())
 *       : Effect.succeed(Approval.deny("Only npm install"))
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> extends Settings {
  readonly approve?: Approval.Handler<E, R> | undefined
}
