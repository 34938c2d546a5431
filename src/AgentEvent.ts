/**
 * What happens during a run: one tagged union for all agents. Nothing that an agent prints is dropped: what no other
 * event tells is an `Unknown` or a `Notice`. (Of the same empty record again and again, as Copilot prints it, the first
 * stands for all.)
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
 * `session` is the id of the conversation, `model` the one that the agent chose, where it tells.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const note = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Started" ? Effect.log(`session ${event.session}`, { model: event.model }) : Effect.void
 * ```
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
 * Pieces are as large as the agent makes them, from a few characters to a whole message. `parent` is the id of the tool
 * call whose sub-agent speaks; absent for the agent itself.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const typed = Agent.stream(AgentRequest.make({ prompt: "Explain src/index.ts" })).pipe(
 *   Stream.runForEach((event) =>
 *     Effect.sync(() => {
 *       if (event._tag === "Text" && event.parent === undefined) process.stdout.write(event.text)
 *     })
 *   )
 * )
 * ```
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
 * `parent` as in `Text`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const note = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Thinking" ? Effect.logDebug(event.text) : Effect.void
 * ```
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
 * `text` repeats what the `Text` events of the message held, where there were any. `parent` as in `Text`.
 *
 * **Example**
 *
 * ```ts
 * import { Option, Stream } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const messages = Agent.stream(AgentRequest.make({ prompt: "Find the bug" })).pipe(
 *   Stream.filterMap((event) => event._tag === "Message" ? Option.some(event.text) : Option.none())
 * )
 * ```
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
 * `id` pairs it with its `ToolResult`; `name` and `input` are as the agent spells them, different for each agent.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const audit = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "ToolCall" ? Effect.log(`uses ${event.name}`, event.input) : Effect.void
 * ```
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
 * A tool has answered. `ok` and `exitCode` are absent where the agent does not say. `denied`: it was not permitted.
 *
 * `id` is that of the `ToolCall`, `output` what the agent shows of the result.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const audit = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "ToolResult" && event.denied === true
 *     ? Effect.logWarning(`not permitted: call ${event.id ?? "without an id"}`)
 *     : Effect.void
 * ```
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
 * The agent has changed a file with a tool of its own. What a command changes that it runs, no agent tells.
 *
 * `path` is as the agent spells it; a file that was moved to `movedTo` is an `update`. `diff` are the hunks of an update,
 * where the agent shows them. `call` is the id of the `ToolCall`, `parent` as there.
 *
 * **Example**
 *
 * ```ts
 * import { HashSet, Stream } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const touched = Agent.stream(AgentRequest.make({ prompt: "Fix the failing test", permission: "Edit" })).pipe(
 *   Stream.runFold(HashSet.empty<string>(), (paths, event) =>
 *     event._tag === "FileChange" ? HashSet.add(paths, event.path) : paths)
 * )
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const FileChange = Schema.TaggedStruct("FileChange", {
  ...stamp,
  path: Schema.String,
  kind: Schema.Literal("add", "update", "delete"),
  movedTo: Schema.optional(Schema.String),
  diff: Schema.optional(Schema.String),
  call: Schema.optional(Schema.String),
  parent: Schema.optional(Schema.String)
})

/**
 * The list of what the agent means to do, whole, whenever it changes. Copilot does not tell its own.
 *
 * `note` is what the agent says about it. `parent` as in `Text`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const show = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Plan"
 *     ? Effect.log(`${event.steps.filter(({ status }) => status === "completed").length} of ${event.steps.length} done`)
 *     : Effect.void
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Plan = Schema.TaggedStruct("Plan", {
  ...stamp,
  steps: Schema.Array(
    Schema.Struct({ text: Schema.String, status: Schema.Literal("pending", "in-progress", "completed") })
  ),
  note: Schema.optional(Schema.String),
  parent: Schema.optional(Schema.String)
})

/**
 * A sub-agent has begun to work, or has ended it. What it says and does has the id of `call` as its `parent`.
 *
 * `id` is the agent's name for it, `call` the id of the `ToolCall` that it comes from, `name` what kind of agent it is,
 * `ok` whether it came to its end, `tokens` what it took of them in all; absent where the agent does not say. One that
 * is given more to do begins again.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const note = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "SubAgent" ? Effect.log(`sub-agent ${event.name ?? event.id} has ${event.phase}`) : Effect.void
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const SubAgent = Schema.TaggedStruct("SubAgent", {
  ...stamp,
  phase: Schema.Literal("started", "finished"),
  id: Schema.String,
  call: Schema.optional(Schema.String),
  name: Schema.optional(Schema.String),
  ok: Schema.optional(Schema.Boolean),
  tokens: Schema.optional(Schema.Number),
  parent: Schema.optional(Schema.String)
})

/**
 * Work goes on beside the turn, a command above all, or has ended. Its `ToolCall` has a result long before.
 *
 * `id` is the agent's name for it, `call` the id of the `ToolCall` that it comes from, `what` a description. Codex does not
 * tell: there, a command that goes on is a tool call without a result.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const note = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Background" && event.phase === "started"
 *     ? Effect.logWarning(`goes on in the background: ${event.what ?? event.id}`)
 *     : Effect.void
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Background = Schema.TaggedStruct("Background", {
  ...stamp,
  phase: Schema.Literal("started", "finished"),
  id: Schema.String,
  call: Schema.optional(Schema.String),
  what: Schema.optional(Schema.String),
  ok: Schema.optional(Schema.Boolean),
  exitCode: Schema.optional(Schema.Number),
  parent: Schema.optional(Schema.String)
})

/**
 * The agent asks whether it may do something; `Options.approve` of the run answers. The fields are those of
 * `Approval.Question`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { AgentEvent } from "effect-agents"
 *
 * const show = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "ApprovalRequested" ? Effect.log(`waits for an answer: ${event.tool}`) : Effect.void
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const ApprovalRequested = Schema.TaggedStruct("ApprovalRequested", {
  ...stamp,
  id: Schema.String,
  tool: Schema.String,
  input: Schema.Unknown,
  call: Schema.optional(Schema.String),
  reason: Schema.optional(Schema.String),
  parent: Schema.optional(Schema.String)
})

/**
 * What one model call used, or the run so far, as the agent tells it; the total is in the outcome.
 *
 * Figures of several such events must not be added up. `parent` as in `Text`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect, Option } from "effect"
 * import { AgentEvent, AgentOutcome } from "effect-agents"
 *
 * const watch = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Usage" && Option.exists(AgentOutcome.contextUsed(event.usage), (share) => share > 0.9)
 *     ? Effect.logWarning("the context window is nearly full")
 *     : Effect.void
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Usage = Schema.TaggedStruct("Usage", {
  ...stamp,
  usage: AgentOutcome.Usage,
  parent: Schema.optional(Schema.String)
})

/**
 * News about the account's quota. `resetsAt` in milliseconds since the epoch.
 *
 * `status` and `window` are the agent's own words. So far only Claude Code tells (`allowed`, `allowed_warning`, …).
 *
 * **Example**
 *
 * ```ts
 * import { DateTime, Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const warn = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "RateLimit" && event.status !== "allowed" && event.resetsAt !== undefined
 *     ? Effect.logWarning(`quota ${event.status} until ${DateTime.formatIso(DateTime.unsafeMake(event.resetsAt))}`)
 *     : Effect.void
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const RateLimit = Schema.TaggedStruct("RateLimit", { ...stamp, ...AgentOutcome.RateLimit.fields })

/**
 * The agent tries a model call again. `delayMs` and `status` (HTTP) where it tells them.
 *
 * `attempt` and `maxAttempts` as the agent counts them.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const note = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Retry"
 *     ? Effect.logWarning(`model call fails (${event.status ?? event.reason}), attempt ${event.attempt ?? "unknown"}`)
 *     : Effect.void
 * ```
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
 * `ok` is absent where the agent does not say.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const note = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Compaction" && event.phase === "finished"
 *     ? Effect.log(event.ok === false ? "compaction failed" : "compacted")
 *     : Effect.void
 * ```
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
 * Names as the agent prints them; either list may be empty.
 *
 * **Example**
 *
 * ```ts
 * import { Option, Stream } from "effect"
 * import { Agent, AgentRequest } from "effect-agents"
 *
 * const skills = Agent.stream(AgentRequest.make({ prompt: "Hello" })).pipe(
 *   Stream.filterMap((event) => event._tag === "Commands" ? Option.some(event.skills) : Option.none()),
 *   Stream.runHead // reading no further ends the run
 * )
 * ```
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
 * A line is shown up to 8192 characters; one that begins like a record and is none (`{`) has the level `error`.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const show = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Notice"
 *     ? event.level === "info" ? Effect.log(event.text) : Effect.logWarning(event.text)
 *     : Effect.void
 * ```
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
 * A record that no other event tells, whole: of a type that this version does not know, or one that only frames others,
 * such as the begin of a message.
 *
 * It never fails a run: agents add records from version to version.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const note = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Unknown" ? Effect.logDebug(`unknown record ${event.type}`, event.raw) : Effect.void
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Unknown = Schema.TaggedStruct("Unknown", { ...stamp, type: Schema.String, raw: Schema.Unknown })

/**
 * The agent says that its turn is over. How the run ended is in the outcome, or in the error.
 *
 * Not necessarily the last event: an agent may begin another turn.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentEvent } from "effect-agents"
 *
 * const note = (event: AgentEvent.AgentEvent) =>
 *   event._tag === "Finished" ? Effect.log(event.ok ? "turn over" : `turn failed: ${event.stop}`) : Effect.void
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Finished = Schema.TaggedStruct("Finished", { ...stamp, ok: Schema.Boolean, stop: AgentOutcome.Stop })

/**
 * Everything that may happen during a run: the union of the events above, as a schema that encodes them to JSON.
 *
 * **Example**
 *
 * ```ts
 * import { Console, Schema, Stream } from "effect"
 * import { Agent, AgentEvent, AgentRequest } from "effect-agents"
 *
 * const encode = Schema.encode(Schema.parseJson(AgentEvent.AgentEvent))
 *
 * // One line of JSON an event.
 * const recorded = Agent.stream(AgentRequest.make({ prompt: "Find the bug" })).pipe(
 *   Stream.mapEffect(encode),
 *   Stream.runForEach((line) => Console.log(line))
 * )
 * ```
 *
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
  FileChange,
  Plan,
  SubAgent,
  Background,
  ApprovalRequested,
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
 * A value of the schema `AgentEvent`; match on its `_tag`.
 *
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
