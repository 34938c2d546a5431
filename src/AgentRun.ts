/**
 * A run that is going on.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as AgentError from "./AgentError.js"
import type * as AgentEvent from "./AgentEvent.js"
import type * as AgentOutcome from "./AgentOutcome.js"
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
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentRun {
  readonly agent: string
  readonly events: Stream.Stream<AgentEvent.AgentEvent, AgentError.AgentError>
  readonly outcome: Effect.Effect<AgentOutcome.AgentOutcome, AgentError.AgentError>
  readonly session: Effect.Effect<Session.SessionRef, AgentError.AgentError>
  readonly tree: ProcessTree.ProcessTree
}

/**
 * Options of one run, or of all runs of an agent.
 *
 * - `teardown`: how the processes are ended; by default the steps that fit the agent's CLI.
 * - `maxLineBytes`: the longest line of output, in bytes; beyond it the run fails with `AgentLineTooLong`. Default
 *   64 MiB.
 * - `stderrTailBytes`: how much of the end of the standard error is kept. Default 16 KiB.
 * - `drain`: once the leading process has ended, how long its output may stay open in the hands of a descendant.
 *   Default 500 milliseconds.
 * - `afterResult`: once the agent has said that its turn is over, how long it may be silent before it is ended. Default
 *   10 seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly teardown?: Teardown.Teardown | undefined
  readonly maxLineBytes?: number | undefined
  readonly stderrTailBytes?: number | undefined
  readonly drain?: Duration.DurationInput | undefined
  readonly afterResult?: Duration.DurationInput | undefined
}
