/**
 * What went wrong with a run: one tagged union for all agents.
 *
 * Members raised after the agent was started carry the `partial` run: what it had said, used and opened until then, and
 * whether its conversation can be continued. `isTransient` tells whether the same request may succeed later without
 * anybody changing anything. Interruption is not an error: an interrupted run is interrupted, like any Effect.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as AgentOutcome from "./AgentOutcome.js"
import * as Session from "./Session.js"
import * as Teardown from "./Teardown.js"

/**
 * A tool call that had no result yet.
 *
 * @since 0.1.0
 * @category models
 */
export const OpenToolCall = Schema.Struct({ id: Schema.optional(Schema.String), name: Schema.String })

/**
 * @since 0.1.0
 * @category models
 */
export type OpenToolCall = typeof OpenToolCall.Type

/**
 * What a run had come to when it failed.
 *
 * - `session`: where to continue, as soon as the agent had named it.
 * - `text`: the answer so far.
 * - `usage`: as far as it was told; a failed run may have used more.
 * - `resumable`: `yes` when the agent keeps what happened under `session`, `no` when there is nothing to continue,
 *   `unknown` when it ended too early to say.
 * - `exit`, `stderrTail`, `teardown`: how the process ended, its last words, and what was left of it.
 *
 * @since 0.1.0
 * @category models
 */
export const Partial = Schema.Struct({
  session: Schema.optional(Session.SessionRef),
  text: Schema.String,
  usage: AgentOutcome.Usage,
  openToolCalls: Schema.Array(OpenToolCall),
  resumable: Schema.Literal("yes", "no", "unknown"),
  exit: AgentOutcome.Exit,
  stderrTail: Schema.String,
  unparsed: Schema.Number,
  teardown: Schema.optional(Teardown.TeardownReport)
})

/**
 * @since 0.1.0
 * @category models
 */
export type Partial = typeof Partial.Type

/**
 * The agent's program was not found. `looked` lists the places, `hint` says how to install it.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentNotInstalled
  extends Schema.TaggedError<AgentNotInstalled>("effect-agents/AgentError/AgentNotInstalled")(
    "AgentNotInstalled",
    { agent: Schema.String, program: Schema.String, looked: Schema.Array(Schema.String), hint: Schema.String }
  )
{
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: no program "${this.program}" in ${this.looked.join(", ")}. ${this.hint}`
  }
}

/**
 * The operating system would not start the agent: a missing working directory (named in `cwd`), a file that is not
 * executable, no more processes, a full disk for the run's files.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentSpawnError extends Schema.TaggedError<AgentSpawnError>("effect-agents/AgentError/AgentSpawnError")(
  "AgentSpawnError",
  {
    agent: Schema.String,
    program: Schema.String,
    cwd: Schema.String,
    reason: Schema.Literal("cwd", "not-executable", "resources", "files", "other"),
    detail: Schema.String,
    cause: Schema.optional(Schema.Defect)
  }
) {
  /**
   * @since 0.1.0
   */
  get isTransient(): boolean {
    return this.reason === "resources"
  }
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: could not start "${this.program}" in "${this.cwd}": ${this.detail}`
  }
}

/**
 * A part of the request does not fit on a command line. `what` names it, sizes are in bytes.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentInputTooLarge
  extends Schema.TaggedError<AgentInputTooLarge>("effect-agents/AgentError/AgentInputTooLarge")("AgentInputTooLarge", {
    agent: Schema.String,
    what: Schema.String,
    size: Schema.Number,
    limit: Schema.Number
  })
{
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: ${this.what} has ${this.size} bytes, at most ${this.limit} fit on a command line here`
  }
}

/**
 * The agent cannot do what was asked. Raised before anything is started.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentUnsupported extends Schema.TaggedError<AgentUnsupported>("effect-agents/AgentError/AgentUnsupported")(
  "AgentUnsupported",
  { agent: Schema.String, what: Schema.String, hint: Schema.optional(Schema.String) }
) {
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent} does not support ${this.what}${this.hint === undefined ? "" : `. ${this.hint}`}`
  }
}

const after = {
  agent: Schema.String,
  detail: Schema.String,
  status: Schema.optional(Schema.Number),
  partial: Partial
}

/**
 * The agent has no valid credentials. `hint` says how to log in.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentNotAuthenticated
  extends Schema.TaggedError<AgentNotAuthenticated>("effect-agents/AgentError/AgentNotAuthenticated")(
    "AgentNotAuthenticated",
    { ...after, hint: Schema.String }
  )
{
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: not logged in: ${this.detail}. ${this.hint}`
  }
}

/**
 * The provider refused for quota. `resetsAt` (milliseconds since the epoch) and `retryAfterMs` where it said when.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentRateLimited extends Schema.TaggedError<AgentRateLimited>("effect-agents/AgentError/AgentRateLimited")(
  "AgentRateLimited",
  { ...after, resetsAt: Schema.optional(Schema.Number), retryAfterMs: Schema.optional(Schema.Number) }
) {
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = true
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: rate limited: ${this.detail}`
  }
}

/**
 * The provider was overloaded, failed (5xx), or could not be reached.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentOverloaded extends Schema.TaggedError<AgentOverloaded>("effect-agents/AgentError/AgentOverloaded")(
  "AgentOverloaded",
  after
) {
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = true
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: provider unavailable: ${this.detail}`
  }
}

/**
 * The turn itself failed, whatever the exit code: the agent says so.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentTurnFailed extends Schema.TaggedError<AgentTurnFailed>("effect-agents/AgentError/AgentTurnFailed")(
  "AgentTurnFailed",
  { ...after, stop: AgentOutcome.Stop }
) {
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: the turn failed (${this.stop}): ${this.detail}`
  }
}

/**
 * The installed version of the agent does not know an argument.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentFlagRejected
  extends Schema.TaggedError<AgentFlagRejected>("effect-agents/AgentError/AgentFlagRejected")(
    "AgentFlagRejected",
    after
  )
{
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: the installed version rejects an argument: ${this.detail}`
  }
}

/**
 * The conversation to continue or branch does not exist. `startedInstead` is set when the agent silently began a new
 * one; that run was ended.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentSessionNotFound
  extends Schema.TaggedError<AgentSessionNotFound>("effect-agents/AgentError/AgentSessionNotFound")(
    "AgentSessionNotFound",
    { ...after, id: Schema.String, startedInstead: Schema.optional(Schema.String) }
  )
{
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return this.startedInstead === undefined
      ? `${this.agent}: no session ${this.id}: ${this.detail}`
      : `${this.agent}: no session ${this.id}: the agent began a new one, ${this.startedInstead}`
  }
}

/**
 * The agent ended, or its output did, without saying that its turn was over.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentIncomplete extends Schema.TaggedError<AgentIncomplete>("effect-agents/AgentError/AgentIncomplete")(
  "AgentIncomplete",
  after
) {
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = true
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: incomplete: ${this.detail}`
  }
}

/**
 * The agent crashed, was killed by somebody else, or gave up with an exit code and no reason that is known here.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentFailed
  extends Schema.TaggedError<AgentFailed>("effect-agents/AgentError/AgentFailed")("AgentFailed", {
    ...after,
    code: Schema.NullOr(Schema.Number),
    signal: Schema.NullOr(Schema.String),
    stderrTail: Schema.String,
    cause: Schema.optional(Schema.Defect)
  })
{
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    const how = this.signal === null ? `exit code ${this.code ?? "unknown"}` : `signal ${this.signal}`
    return `${this.agent}: failed with ${how}: ${this.detail}`
  }
}

/**
 * One line of the agent's output is longer than the limit of the run.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentLineTooLong extends Schema.TaggedError<AgentLineTooLong>("effect-agents/AgentError/AgentLineTooLong")(
  "AgentLineTooLong",
  { ...after, limitBytes: Schema.Number }
) {
  /**
   * @since 0.1.0
   */
  readonly isTransient: boolean = false
  /**
   * @since 0.1.0
   */
  override get message(): string {
    return `${this.agent}: a line of output is longer than ${this.limitBytes} bytes (option maxLineBytes)`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export const AgentError = Schema.Union(
  AgentNotInstalled,
  AgentSpawnError,
  AgentInputTooLarge,
  AgentUnsupported,
  AgentNotAuthenticated,
  AgentRateLimited,
  AgentOverloaded,
  AgentTurnFailed,
  AgentFlagRejected,
  AgentSessionNotFound,
  AgentIncomplete,
  AgentFailed,
  AgentLineTooLong
)

/**
 * @since 0.1.0
 * @category errors
 */
export type AgentError = typeof AgentError.Type

/**
 * Whether the same request may succeed later without anybody changing anything; for `Effect.retry({ while })`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { Agent, AgentError, AgentRequest } from "effect-agents"
 *
 * const patient = Agent.run(AgentRequest.make({ prompt: "Summarise the log" })).pipe(
 *   Effect.retry({ while: AgentError.isTransient, schedule: Schedule.exponential("1 second"), times: 3 })
 * )
 * ```
 *
 * @since 0.1.0
 * @category refinements
 */
export const isTransient = (error: AgentError): boolean => error.isTransient
