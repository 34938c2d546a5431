/**
 * What went wrong with a run: one tagged union for all agents.
 *
 * Members raised after the agent was started carry the `partial` run: what it had said, used and opened until then, and
 * whether its conversation can be continued. `isTransient` tells whether the same request may succeed later without
 * anybody changing anything. Interruption is not an error: an interrupted run is interrupted, like any Effect.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as AgentOutcome from "./AgentOutcome.js"
import * as Session from "./Session.js"
import * as Teardown from "./Teardown.js"

/**
 * A tool call that had no result yet.
 * `id` where the agent numbers its calls, `name` as the agent spells it. Whether the tool had any effect is not known.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentError, AgentRequest } from "effect-agents"
 *
 * const warn = (call: AgentError.OpenToolCall) => Effect.logWarning(`${call.name} had no result yet`)
 *
 * const migrate = Agent.run(AgentRequest.make({ prompt: "Run the migration", permission: "Auto" })).pipe(
 *   Effect.tapErrorTag("AgentIncomplete", ({ partial }) => Effect.forEach(partial.openToolCalls, warn))
 * )
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const OpenToolCall = Schema.Struct({ id: Schema.optional(Schema.String), name: Schema.String })

/**
 * A value of the schema `OpenToolCall`.
 *
 * @since 0.1.0
 * @category models
 */
export type OpenToolCall = typeof OpenToolCall.Type

/**
 * What a run had come to when it failed.
 *
 * - `session`: where to continue, as soon as the agent had named it.
 * - `text`: the answer so far.
 * - `usage`, `subAgents`: as far as it was told. With `partial` in them, the run may have used more.
 * - `filesChanged`, `attempts`: as in `AgentOutcome`; what an open call has changed is not known.
 * - `resumable`: `yes` when the agent keeps what happened under `session`, `no` when there is nothing to continue,
 *   `unknown` when it ended too early to say.
 * - `exit`, `stderrTail`, `teardown`: how the process ended, its last words, and what was left of it.
 * - `unparsed`: how many lines of output were not part of the protocol.
 *
 * **Example**
 *
 * ```ts
 * import { AgentError, AgentRequest, Session } from "effect-agents"
 *
 * const again = (partial: AgentError.Partial) =>
 *   partial.session !== undefined && partial.resumable === "yes"
 *     ? AgentRequest.make({ prompt: "Go on", session: Session.resume(partial.session) })
 *     : AgentRequest.make({ prompt: "Summarise the log" })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Partial = Schema.Struct({
  session: Schema.optional(Session.SessionRef),
  text: Schema.String,
  usage: AgentOutcome.Usage,
  subAgents: Schema.optional(AgentOutcome.Usage),
  openToolCalls: Schema.Array(OpenToolCall),
  filesChanged: Schema.Array(Schema.String),
  attempts: Schema.Array(AgentOutcome.Attempt),
  resumable: Schema.Literal("yes", "no", "unknown"),
  exit: AgentOutcome.Exit,
  stderrTail: Schema.String,
  unparsed: Schema.Number,
  teardown: Schema.optional(Teardown.TeardownReport)
})

/**
 * A value of the schema `Partial`.
 *
 * @since 0.1.0
 * @category models
 */
export type Partial = typeof Partial.Type

/**
 * The agent's program was not found. `looked` lists the places, `hint` says how to install it.
 * Raised before anything is started. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const review = Agent.run(AgentRequest.make({ prompt: "Review the staged diff" })).pipe(
 *   Effect.tapErrorTag("AgentNotInstalled", (error) => Effect.logError(error.hint, { looked: error.looked }))
 * )
 * ```
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
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: no program "${this.program}" in ${this.looked.join(", ")}. ${this.hint}`
  }
}

/**
 * The operating system would not start the agent: a missing working directory (named in `cwd`), a file that is not
 * executable, no more processes, a full disk for the run's files, a seal that this machine does not have (`containment`).
 *
 * `reason` tells which, `cause` is the `PlatformError` or the `ContainmentUnavailable` where there was one. Transient
 * only for `resources`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const review = Agent.run(AgentRequest.make({ prompt: "Review the package", cwd: "packages/core" })).pipe(
 *   Effect.tapErrorTag("AgentSpawnError", ({ cwd, detail, reason }) => Effect.logError(detail, { cwd, reason }))
 * )
 * ```
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
    reason: Schema.Literal("cwd", "not-executable", "resources", "files", "containment", "other"),
    detail: Schema.String,
    cause: Schema.optional(Schema.Defect)
  }
) {
  /** @since 0.1.0 */
  get isTransient(): boolean {
    return this.reason === "resources"
  }
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: could not start "${this.program}" in "${this.cwd}": ${this.detail}`
  }
}

/**
 * A part of the request is larger than the command line or the agent takes. `what` names it; sizes are in bytes, that
 * of a prompt in characters.
 *
 * Raised before the agent is started: by the driver, which knows what goes on the command line (on Linux at most
 * 131,071 bytes an argument), or when the operating system refuses the start. Claude Code, Codex and Copilot read the
 * prompt from their standard input, where only Codex has a limit: 1,048,576 characters. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const check = (extraArgs: ReadonlyArray<string>) =>
 *   Effect.tapErrorTag(Agent.plan(AgentRequest.make({ prompt: "Review", extraArgs })), "AgentInputTooLarge", (error) =>
 *     Effect.logError(`${error.what}: ${error.size} of at most ${error.limit}`))
 * ```
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
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: ${this.what} is too large: ${this.size}, where at most ${this.limit} are taken`
  }
}

/**
 * The agent cannot do what was asked: `what` names it, `hint` another way. Raised before anything is started, save for
 * an answer of `approve` that the agent cannot take, and a version that speaks otherwise. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const ask = (prompt: string, id: string) =>
 *   Agent.run(AgentRequest.make({ prompt, session: Session.fork(id) })).pipe(
 *     Effect.catchTag("AgentUnsupported", () => Agent.run(AgentRequest.make({ prompt, session: Session.resume(id) })))
 *   )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentUnsupported extends Schema.TaggedError<AgentUnsupported>("effect-agents/AgentError/AgentUnsupported")(
  "AgentUnsupported",
  { agent: Schema.String, what: Schema.String, hint: Schema.optional(Schema.String) }
) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent} does not support ${this.what}${this.hint === undefined ? "" : `. ${this.hint}`}`
  }
}

/** Milliseconds since the epoch that a `Date` can hold. */
const Time = Schema.Number.pipe(Schema.between(0, 8.64e15))

/**
 * Another run holds the name of the conversation: one at a time, or they would answer past each other. `pid` is its host
 * process (absent where all runs are of this process), `since` milliseconds since the epoch.
 *
 * Who was killed does not hold a name: this is told of a host that lives, whose processes are still being ended, or that
 * cannot be looked at from here, for it runs on another machine or in another container; then `hint` says how to release
 * the name when that one is gone for good. Raised before anything is started. Transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const review = Agent.run(
 *   AgentRequest.make({ prompt: "Review the staged diff", session: Session.named("my-app", "review") })
 * )
 *
 * const inTurn = Effect.retry(review, {
 *   while: (error) => error._tag === "AgentSessionBusy",
 *   schedule: Schedule.spaced("5 seconds")
 * })
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentSessionBusy extends Schema.TaggedError<AgentSessionBusy>("effect-agents/AgentError/AgentSessionBusy")(
  "AgentSessionBusy",
  {
    agent: Schema.String,
    project: Schema.String,
    name: Schema.String,
    pid: Schema.optional(Schema.Number),
    since: Time,
    hint: Schema.optional(Schema.String)
  }
) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = true
  /** @since 0.1.0 */
  override get message(): string {
    const who = this.pid === undefined ? "another run" : `a run of process ${this.pid}`
    const held = `${this.agent}: the session "${this.name}" of "${this.project}" is held by ${who}`
    return `${held} since ${new Date(this.since).toISOString()}${this.hint === undefined ? "" : `. ${this.hint}`}`
  }
}

/**
 * The name of the conversation belongs to another agent, `owner`, which alone can continue `id`. Raised before anything
 * is started; forget the session, or take another name. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const review = (name: string) =>
 *   Agent.run(AgentRequest.make({ prompt: "Review the staged diff", session: Session.named("my-app", name) }))
 *
 * const withAnyAgent = Effect.catchTag(review("review"), "AgentSessionConflict", ({ agent }) =>
 *   review(`review by ${agent}`))
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentSessionConflict
  extends Schema.TaggedError<AgentSessionConflict>("effect-agents/AgentError/AgentSessionConflict")(
    "AgentSessionConflict",
    { agent: Schema.String, project: Schema.String, name: Schema.String, owner: Schema.String, id: Schema.String }
  )
{
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: the session "${this.name}" of "${this.project}" belongs to ${this.owner}. `
      + "Forget it in the SessionStore, or take another name"
  }
}

/**
 * What is remembered of named conversations could not be read or written. `file` names the file or directory.
 *
 * - `corrupt`: the file is there and says nothing that can be used. It is left as it is; `detail` says what to do. Never is
 *   a new conversation begun instead.
 * - `io`: the operating system refused; `cause` is its error.
 * - `id`: what was to be remembered is not an id that the agent could be given.
 *
 * Raised before anything is started; what fails after a run is `AgentSessionUnbound`. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const review = Agent.run(
 *   AgentRequest.make({ prompt: "Review the staged diff", session: Session.named("my-app", "review") })
 * ).pipe(
 *   Effect.tapErrorTag("AgentSessionStoreError", ({ detail, file }) => Effect.logError(detail, { file }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentSessionStoreError
  extends Schema.TaggedError<AgentSessionStoreError>("effect-agents/AgentError/AgentSessionStoreError")(
    "AgentSessionStoreError",
    {
      reason: Schema.Literal("corrupt", "io", "id"),
      file: Schema.String,
      detail: Schema.String,
      cause: Schema.optional(Schema.Defect)
    }
  )
{
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `named sessions: ${this.file === "" ? "" : `${this.file}: `}${this.detail}`
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
 * `status` is the HTTP status where the agent tells it. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const review = Agent.run(AgentRequest.make({ prompt: "Review the staged diff" })).pipe(
 *   Effect.tapErrorTag("AgentNotAuthenticated", (error) => Effect.logError(`${error.agent}: ${error.hint}`))
 * )
 * ```
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
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: not logged in: ${this.detail}. ${this.hint}`
  }
}

/**
 * The provider refused for quota. `resetsAt` (milliseconds since the epoch) and `retryAfterMs` where it said when.
 * Transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const summary = Agent.run(AgentRequest.make({ prompt: "Summarise the log" }))
 *
 * const patient = Effect.catchTag(summary, "AgentRateLimited", ({ retryAfterMs }) =>
 *   Effect.delay(summary, retryAfterMs ?? "1 minute"))
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentRateLimited extends Schema.TaggedError<AgentRateLimited>("effect-agents/AgentError/AgentRateLimited")(
  "AgentRateLimited",
  { ...after, resetsAt: Schema.optional(Schema.Number), retryAfterMs: Schema.optional(Schema.Number) }
) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = true
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: rate limited: ${this.detail}`
  }
}

/**
 * The provider was overloaded, failed (5xx), or could not be reached. `status` is the HTTP status where there was one,
 * `retryAfterMs` where it said when. What the agent itself tried before is in `partial.attempts`. Transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const summary = Agent.run(AgentRequest.make({ prompt: "Summarise the log" })).pipe(
 *   Effect.retry({ while: (error) => error._tag === "AgentOverloaded", schedule: Schedule.spaced("1 minute") })
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentOverloaded extends Schema.TaggedError<AgentOverloaded>("effect-agents/AgentError/AgentOverloaded")(
  "AgentOverloaded",
  { ...after, retryAfterMs: Schema.optional(Schema.Number) }
) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = true
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: provider unavailable: ${this.detail}`
  }
}

/**
 * The turn itself failed, whatever the exit code: the agent says so.
 *
 * `stop` tells how it stopped, `status` is the HTTP status where a model call was the cause. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const fix = Agent.run(AgentRequest.make({ prompt: "Fix the failing test", permission: "Edit" })).pipe(
 *   Effect.tapErrorTag("AgentTurnFailed", ({ detail, partial }) => Effect.logError(detail, partial.usage))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentTurnFailed extends Schema.TaggedError<AgentTurnFailed>("effect-agents/AgentError/AgentTurnFailed")(
  "AgentTurnFailed",
  { ...after, stop: AgentOutcome.Stop }
) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: the turn failed (${this.stop}): ${this.detail}`
  }
}

/**
 * The turn is over, and its answer is not the value that was asked for: none at all, or one that the schema of
 * `Agent.object` does not take. `partial` has the answer and its conversation.
 *
 * `detail` says what is wrong with it, `cause` is the `ParseError` where it was decoded. Of `Agent.object` it is what was
 * left after all repairs: the last answer, with the usage of all. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const risk = Agent.object(
 *   AgentRequest.make({ prompt: "How risky is the staged diff?" }),
 *   Schema.Literal("low", "medium", "high")
 * ).pipe(
 *   Effect.map(({ value }) => value),
 *   Effect.catchTag("AgentOutputInvalid", (error) =>
 *     Effect.as(Effect.logWarning(error.detail, error.partial.text), "high" as const))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentOutputInvalid
  extends Schema.TaggedError<AgentOutputInvalid>("effect-agents/AgentError/AgentOutputInvalid")(
    "AgentOutputInvalid",
    { ...after, cause: Schema.optional(Schema.Defect) }
  )
{
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: the answer is not what was asked for: ${this.detail}`
  }
}

/**
 * The installed version of the agent does not know an argument.
 *
 * Either it is older or newer than the version that its driver was written for, or the argument is one of `extraArgs`.
 * `detail` is what the CLI said. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const review = (extraArgs: ReadonlyArray<string>) =>
 *   Agent.run(AgentRequest.make({ prompt: "Review the staged diff", extraArgs }))
 *
 * const withDebug = review(["--debug"]).pipe(Effect.catchTag("AgentFlagRejected", () => review([])))
 * ```
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
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: the installed version rejects an argument (Agent.probe tells what it offers): ${this.detail}`
  }
}

/**
 * The conversation to continue or branch does not exist. `startedInstead` is set when the agent silently began a new
 * one; that run was ended.
 *
 * `id` is the one that was asked for; `named`, when it was looked up by a name, is that name: forget it, and the next run
 * begins anew. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const ask = (session: Session.Session) => Agent.run(AgentRequest.make({ prompt: "Read NOTES.md, go on", session }))
 *
 * const goOn = (id: string) =>
 *   Effect.catchTag(ask(Session.resume(id)), "AgentSessionNotFound", () => ask(Session.fresh()))
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentSessionNotFound
  extends Schema.TaggedError<AgentSessionNotFound>("effect-agents/AgentError/AgentSessionNotFound")(
    "AgentSessionNotFound",
    {
      ...after,
      id: Schema.String,
      startedInstead: Schema.optional(Schema.String),
      named: Schema.optional(Schema.Struct({ project: Schema.String, name: Schema.String }))
    }
  )
{
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    const why = this.startedInstead === undefined ? this.detail : `the agent began a new one, ${this.startedInstead}`
    return `${this.agent}: no session ${this.id}: ${why}${
      this.named === undefined
        ? ""
        : `. The name "${this.named.name}" of "${this.named.project}" stands for it: forget that in the SessionStore to begin anew`
    }`
  }
}

/**
 * The run went well, and its conversation could not be remembered under its name: the next run would not find it there.
 * `partial` has the answer and, in `session`, what `SessionStore` can bind once the `cause` is gone. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const answer = Agent.run(
 *   AgentRequest.make({ prompt: "Review the staged diff", session: Session.named("my-app", "review") })
 * ).pipe(
 *   Effect.map(({ text }) => text),
 *   Effect.catchTag("AgentSessionUnbound", (error) =>
 *     Effect.as(Effect.logWarning(error.message), error.partial.text))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentSessionUnbound
  extends Schema.TaggedError<AgentSessionUnbound>("effect-agents/AgentError/AgentSessionUnbound")(
    "AgentSessionUnbound",
    { ...after, project: Schema.String, name: Schema.String, cause: Schema.Defect }
  )
{
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: done, but not remembered as "${this.name}" of "${this.project}": ${this.detail}`
  }
}

/**
 * The agent ended, or its output did, without saying that its turn was over.
 *
 * Transient, but what it had done by then is done: continue its conversation rather than begin again.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest, Session } from "effect-agents"
 *
 * const explain = Agent.run(AgentRequest.make({ prompt: "Explain the parser" })).pipe(
 *   Effect.catchTag("AgentIncomplete", (error) =>
 *     error.partial.session !== undefined && error.partial.resumable === "yes"
 *       ? Agent.run(AgentRequest.make({ prompt: "Go on", session: Session.resume(error.partial.session) }))
 *       : Effect.fail(error))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentIncomplete extends Schema.TaggedError<AgentIncomplete>("effect-agents/AgentError/AgentIncomplete")(
  "AgentIncomplete",
  after
) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = true
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: incomplete: ${this.detail}`
  }
}

/**
 * The agent crashed, was killed by somebody else, or gave up with an exit code and no reason that is known here.
 *
 * `code` and `signal` as in `AgentOutcome.Exit`; `stderrTail` is the end of its standard error, by default 16 KiB. Not
 * transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const review = Agent.run(AgentRequest.make({ prompt: "Review the staged diff" })).pipe(
 *   Effect.tapErrorTag("AgentFailed", ({ code, signal, stderrTail }) => Effect.logError(stderrTail, { code, signal }))
 * )
 * ```
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
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    const how = this.signal === null ? `exit code ${this.code ?? "unknown"}` : `signal ${this.signal}`
    return `${this.agent}: failed with ${how}: ${this.detail}`
  }
}

/**
 * One line of the agent's output is longer than the limit of the run.
 *
 * The run was ended there. `limitBytes` is the option `maxLineBytes`, by default 64 MiB. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const describe = Agent.run(AgentRequest.make({ prompt: "Show the screenshots" }), { maxLineBytes: 2 ** 28 }).pipe(
 *   Effect.tapErrorTag("AgentLineTooLong", (error) => Effect.logError(`more than ${error.limitBytes} bytes`))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentLineTooLong extends Schema.TaggedError<AgentLineTooLong>("effect-agents/AgentError/AgentLineTooLong")(
  "AgentLineTooLong",
  { ...after, limitBytes: Schema.Number }
) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: a line of output is longer than ${this.limitBytes} bytes (option maxLineBytes)`
  }
}

/**
 * The agent did not answer what it has to answer: `what` was asked, `withinMs` milliseconds were waited for it. In the
 * error of a run it was the opening of the dialogue; in that of `AgentRun.send` the message may have been taken all the
 * same. Transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const review = Agent.run(AgentRequest.make({ prompt: "Review the staged diff", interactive: true })).pipe(
 *   Effect.tapErrorTag("AgentUnresponsive", ({ what, withinMs }) => Effect.logError(`${what}: nothing for ${withinMs} ms`))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentUnresponsive
  extends Schema.TaggedError<AgentUnresponsive>("effect-agents/AgentError/AgentUnresponsive")("AgentUnresponsive", {
    ...after,
    what: Schema.String,
    withinMs: Schema.Number
  })
{
  /** @since 0.1.0 */
  readonly isTransient: boolean = true
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: no answer to ${this.what} within ${this.withinMs} ms`
  }
}

/**
 * A message came too late: the turn that it was meant for is over, or ended before the agent took it (`detail`). Send it
 * as the prompt of a run that resumes the conversation. Not an end of a run: only `AgentRun.send` fails with it.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { AgentRun } from "effect-agents"
 *
 * const remind = (run: AgentRun.AgentRun) =>
 *   run.send("And keep the tests green").pipe(
 *     Effect.catchTag("AgentTurnEnded", () => Effect.log("it was done already"))
 *   )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentTurnEnded extends Schema.TaggedError<AgentTurnEnded>("effect-agents/AgentError/AgentTurnEnded")(
  "AgentTurnEnded",
  { agent: Schema.String, detail: Schema.String }
) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: the message was not taken: ${this.detail}`
  }
}

/**
 * The run went beyond one of its limits (`AgentRun.Limits`), and was ended, or ended its turn itself, before its answer was
 * complete.
 *
 * `limit` is its name, `allowed` and `measured` are in its unit, times in milliseconds. `biggest` as in
 * `Teardown.Exceeded` where its processes went beyond, else empty. Not transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const tests = Agent.run(AgentRequest.make({ prompt: "Run the tests", permission: "Auto" }), {
 *   limits: { processes: 200, memoryBytes: 4 * 2 ** 30 }
 * }).pipe(
 *   Effect.tapErrorTag("AgentLimitExceeded", ({ biggest, limit }) => Effect.logError(limit, { biggest }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentLimitExceeded
  extends Schema.TaggedError<AgentLimitExceeded>("effect-agents/AgentError/AgentLimitExceeded")("AgentLimitExceeded", {
    ...after,
    ...Teardown.Exceeded.fields,
    limit: Schema.Literal(
      ...Teardown.Limit.literals,
      "wall",
      "idle",
      "tool",
      "firstEvent",
      "turns",
      "steps",
      "costUsd",
      "tokens"
    )
  })
{
  /** @since 0.1.0 */
  readonly isTransient: boolean = false
  /** @since 0.1.0 */
  override get message(): string {
    return `${this.agent}: ${this.detail}`
  }
}

/**
 * A pool of runs is full, and so is its queue (see `Fleet.pool`): `live` of `size` places are taken, `waiting` of `queue`
 * wait for one. Raised before anything is started. Transient.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const review = Agent.run(AgentRequest.make({ prompt: "Review the staged diff" })).pipe(
 *   Effect.tapErrorTag("FleetFull", ({ live, waiting }) => Effect.logWarning(`busy: ${live} runs, ${waiting} waiting`))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class FleetFull extends Schema.TaggedError<FleetFull>("effect-agents/AgentError/FleetFull")("FleetFull", {
  size: Schema.Number,
  live: Schema.Number,
  queue: Schema.Number,
  waiting: Schema.Number
}) {
  /** @since 0.1.0 */
  readonly isTransient: boolean = true
  /** @since 0.1.0 */
  override get message(): string {
    return `the pool is full: ${this.live} of ${this.size} runs are live, ${this.waiting} of ${this.queue} are waiting. `
      + "Try again later, or give the pool a larger size or queue"
  }
}

/**
 * Everything that a run may fail with: the union of the classes above, as a schema that encodes them to JSON.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, AgentError, AgentRequest } from "effect-agents"
 *
 * const encode = Schema.encode(Schema.parseJson(AgentError.AgentError))
 * const journaled = Agent.run(AgentRequest.make({ prompt: "Summarise the log" })).pipe(
 *   Effect.tapError((error) => Effect.flatMap(encode(error), (json) => Effect.logError(json)))
 * )
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export const AgentError = Schema.Union(
  AgentNotInstalled,
  AgentSpawnError,
  AgentInputTooLarge,
  AgentUnsupported,
  AgentSessionBusy,
  AgentSessionConflict,
  AgentSessionStoreError,
  AgentNotAuthenticated,
  AgentRateLimited,
  AgentOverloaded,
  AgentTurnFailed,
  AgentOutputInvalid,
  AgentFlagRejected,
  AgentSessionNotFound,
  AgentSessionUnbound,
  AgentIncomplete,
  AgentFailed,
  AgentLineTooLong,
  AgentUnresponsive,
  AgentLimitExceeded,
  FleetFull
)

/**
 * A value of the schema `AgentError`.
 *
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

/**
 * Whether a value is a failure of a run: to tell it from others, such as those of an `approve` handler.
 *
 * **Example**
 *
 * ```ts
 * import { Data, Effect } from "effect"
 * import { Agent, AgentError, AgentRequest } from "effect-agents"
 *
 * class Vetoed extends Data.TaggedError("Vetoed")<{}> {}
 *
 * const review = Agent.run(AgentRequest.make({ prompt: "Update the dependencies" }), { approve: () => new Vetoed() }).pipe(
 *   Effect.catchIf(AgentError.isAgentError, (error) => Effect.logError(error.message))
 * ) // Vetoed is left
 * ```
 *
 * @since 0.1.0
 * @category refinements
 */
// Looked up at each use: parsers are made at the first one, and not at the import.
export const isAgentError = (error: unknown): error is AgentError => Schema.is(AgentError)(error)

/** How long it is said to take until the same request may go well. */
const passesIn = (error: AgentError): Effect.Effect<Duration.Duration> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const resetsAt = error._tag === "AgentRateLimited" ? error.resetsAt : undefined
    const after = error._tag === "AgentRateLimited" || error._tag === "AgentOverloaded" ? error.retryAfterMs : undefined
    return Duration.millis(Math.max(after ?? 0, (resetsAt ?? now) - now))
  })

/** Those after which nothing but time has to pass. A run that ended in the middle of its work is to be continued. */
const isRepeatable = (error: unknown): error is AgentError =>
  isAgentError(error) && error.isTransient && error._tag !== "AgentIncomplete" && error._tag !== "AgentUnresponsive"

/**
 * When to make the same request again, for `Effect.retry`: nothing is repeated without it.
 *
 * - What: `AgentOverloaded`, `AgentRateLimited`, `AgentSessionBusy`, `FleetFull`, and `AgentSpawnError` for want of
 *   `resources`. Any other failure, also of other kinds than `AgentError`, ends it.
 * - When: after 1, 2, 4, … seconds, at most a minute, each a fifth more or less. Where the provider said how long it
 *   takes (`retryAfterMs`, `resetsAt`), so much later; more than 6 hours are not waited for.
 * - How often: at most 25 times, which is about 20 minutes of a provider that says nothing.
 *
 * The request begins anew, whatever the run that failed had done: see `partial`. Where that matters, continue its
 * conversation instead.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { Agent, AgentError, AgentRequest } from "effect-agents"
 *
 * const summary = Agent.run(AgentRequest.make({ prompt: "Summarise the log" }))
 *
 * const patient = Effect.retry(summary, AgentError.retryPolicy)
 * const brief = Effect.retry(summary, AgentError.retryPolicy.pipe(Schedule.intersect(Schedule.recurs(3))))
 * ```
 *
 * @since 0.1.0
 * @category schedules
 */
export const retryPolicy: Schedule.Schedule<unknown, unknown> = Schedule.exponential("1 second").pipe(
  Schedule.union(Schedule.spaced("1 minute")),
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(25)),
  Schedule.passthrough,
  Schedule.whileInputEffect((error) =>
    isRepeatable(error)
      ? Effect.map(passesIn(error), Duration.lessThanOrEqualTo("6 hours"))
      : Effect.succeed(false)
  ),
  Schedule.addDelayEffect((error) => isRepeatable(error) ? passesIn(error) : Effect.succeed(Duration.zero))
)
