/**
 * What happens during a run: one tagged union for all agents. Nothing that an agent prints is dropped: what is not
 * understood is an `Unknown` or a `Notice`.
 *
 * Every event has `at`, the time it was read (milliseconds since the epoch), and `seq`, its number in the run from 0.
 *
 * @since 0.1.0
 */
import type * as Types from "effect/Types"
import * as Schema from "effect/Schema"
import * as AgentOutcome from "./AgentOutcome.js"

const stamp = { at: Schema.Number, seq: Schema.Number }

/**
 * The agent has begun and has named its conversation. May come again when the agent changes the id; the newest wins.
 *
 * @since 0.1.0
 * @category models
 */
export const Started = Schema.TaggedStruct("Started", {
  ...stamp,
  session: Schema.String,
  model: Schema.optional(Schema.String)
})

/**
 * A piece of the answer, for display. The answer itself is in the outcome.
 *
 * @since 0.1.0
 * @category models
 */
export const Text = Schema.TaggedStruct("Text", {
  ...stamp,
  text: Schema.String,
  parent: Schema.optional(Schema.String)
})

/**
 * A piece of the model's reasoning, where the agent shows it.
 *
 * @since 0.1.0
 * @category models
 */
export const Thinking = Schema.TaggedStruct("Thinking", {
  ...stamp,
  text: Schema.String,
  parent: Schema.optional(Schema.String)
})

/**
 * A whole message of the agent is complete.
 *
 * @since 0.1.0
 * @category models
 */
export const Message = Schema.TaggedStruct("Message", {
  ...stamp,
  text: Schema.String,
  id: Schema.optional(Schema.String),
  parent: Schema.optional(Schema.String)
})

/**
 * The agent uses a tool. `parent` is the id of the call whose sub-agent does so.
 *
 * @since 0.1.0
 * @category models
 */
export const ToolCall = Schema.TaggedStruct("ToolCall", {
  ...stamp,
  id: Schema.optional(Schema.String),
  name: Schema.String,
  input: Schema.Unknown,
  parent: Schema.optional(Schema.String)
})

/**
 * A tool has answered. `ok` and `exitCode` are absent where the agent does not say. `denied`: it was not allowed to run.
 *
 * @since 0.1.0
 * @category models
 */
export const ToolResult = Schema.TaggedStruct("ToolResult", {
  ...stamp,
  id: Schema.optional(Schema.String),
  ok: Schema.optional(Schema.Boolean),
  denied: Schema.optional(Schema.Boolean),
  exitCode: Schema.optional(Schema.Number),
  output: Schema.Unknown,
  parent: Schema.optional(Schema.String)
})

/**
 * What one model call used, or the run so far, as the agent tells it; the total is in the outcome.
 *
 * @since 0.1.0
 * @category models
 */
export const Usage = Schema.TaggedStruct("Usage", { ...stamp, usage: AgentOutcome.Usage })

/**
 * News about the account's quota. `resetsAt` in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export const RateLimit = Schema.TaggedStruct("RateLimit", {
  ...stamp,
  status: Schema.String,
  window: Schema.optional(Schema.String),
  resetsAt: Schema.optional(Schema.Number)
})

/**
 * The agent tries a model call again. `delayMs` and `status` (HTTP) where it tells them.
 *
 * @since 0.1.0
 * @category models
 */
export const Retry = Schema.TaggedStruct("Retry", {
  ...stamp,
  reason: Schema.String,
  attempt: Schema.optional(Schema.Number),
  maxAttempts: Schema.optional(Schema.Number),
  delayMs: Schema.optional(Schema.Number),
  status: Schema.optional(Schema.Number)
})

/**
 * The agent makes room in its context, or has done so (`ok` tells whether that worked).
 *
 * @since 0.1.0
 * @category models
 */
export const Compaction = Schema.TaggedStruct("Compaction", {
  ...stamp,
  phase: Schema.Literal("started", "finished"),
  ok: Schema.optional(Schema.Boolean)
})

/**
 * The slash commands and skills that the agent offers.
 *
 * @since 0.1.0
 * @category models
 */
export const Commands = Schema.TaggedStruct("Commands", {
  ...stamp,
  commands: Schema.Array(Schema.String),
  skills: Schema.Array(Schema.String)
})

/**
 * Something a person may want to read: a warning of the agent, a line on its standard output that is not part of the
 * protocol.
 *
 * @since 0.1.0
 * @category models
 */
export const Notice = Schema.TaggedStruct("Notice", {
  ...stamp,
  level: Schema.Literal("info", "warning", "error"),
  text: Schema.String
})

/**
 * A record of a type that this version does not know, whole.
 *
 * @since 0.1.0
 * @category models
 */
export const Unknown = Schema.TaggedStruct("Unknown", { ...stamp, type: Schema.String, raw: Schema.Unknown })

/**
 * The agent says that its turn is over. How the run ended is in the outcome, or in the error.
 *
 * @since 0.1.0
 * @category models
 */
export const Finished = Schema.TaggedStruct("Finished", { ...stamp, ok: Schema.Boolean, stop: AgentOutcome.Stop })

/**
 * @since 0.1.0
 * @category models
 */
export const AgentEvent = Schema.Union(
  Started,
  Text,
  Thinking,
  Message,
  ToolCall,
  ToolResult,
  Usage,
  RateLimit,
  Retry,
  Compaction,
  Commands,
  Notice,
  Unknown,
  Finished
)

/**
 * @since 0.1.0
 * @category models
 */
export type AgentEvent = typeof AgentEvent.Type

/**
 * An event as a driver makes it: the run adds `at` and `seq`.
 *
 * @since 0.1.0
 * @category models
 */
export type Unstamped = AgentEvent extends infer E ?
  E extends AgentEvent ? Types.Simplify<Omit<E, "at" | "seq">> : never
  : never
