import type * as Duration from "effect/Duration"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as AgentOutcome from "../../AgentOutcome.js"

/**
 * What a turn is asked. `number` counts the turns of its conversation from 1, also over several runs of it.
 */
export interface Turn {
  readonly prompt: string
  readonly session: string
  readonly number: number
}

/**
 * What the agent does in a turn, one after the other:
 *
 * - an event, as it is told (`Started` and `Finished` are told by themselves),
 * - `Wait`: so long nothing happens,
 * - `Ask`: a question to the `approve` handler, and how it goes on after each answer. Without a handler it is denied,
 * - `Answer`: the turn is over, and this is its outcome; `stop` is `completed` unless it says otherwise,
 * - `Fail`: the turn is over, and the run fails with the error for this `kind`,
 * - `Exit`: the process ends, whatever it was at.
 *
 * A script that comes to its end without one of the last three leaves an agent that exits without having answered.
 */
export type Step =
  | Exclude<AgentEvent.Unstamped, { readonly _tag: "Started" | "Finished" | "ApprovalRequested" }>
  | { readonly _tag: "Wait"; readonly duration: Duration.DurationInput }
  | {
    readonly _tag: "Ask"
    readonly tool: string
    readonly input: unknown
    readonly allowed: ReadonlyArray<Step>
    readonly denied: ReadonlyArray<Step>
  }
  | {
    readonly _tag: "Answer"
    readonly text?: string | undefined
    readonly structured?: unknown
    readonly usage?: AgentOutcome.Usage | undefined
    readonly stop?: AgentOutcome.Stop | undefined
  }
  | { readonly _tag: "Fail" } & AgentDriver.Failure
  | {
    readonly _tag: "Exit"
    readonly code?: number | undefined
    readonly signal?: string | undefined
    readonly stderr?: string | undefined
  }

/**
 * The steps of each turn.
 */
export type Script = (turn: Turn) => ReadonlyArray<Step>
