/** What a run may take of time, of its agent's turns and steps, and of tokens and money. Its processes are limited by their tree. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentError from "../../AgentError.js"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as AgentOutcome from "../../AgentOutcome.js"
import type * as AgentRun from "../../AgentRun.js"
import { monotonicMillis } from "../nativeClock.js"

/** Beyond which limit, in its unit. */
export interface Beyond {
  readonly limit: AgentError.AgentLimitExceeded["limit"]
  readonly allowed: number
  readonly measured: number
}

/** What a turn has come to. */
export interface Spent {
  turns: number
  steps: number
  /** The model is at work, not a tool. */
  acting: boolean
  heard: boolean
  /** When the agent last did something. */
  activeAt: number
  readonly began: number
  readonly toolsSince: Map<string, number>
}

export const begun = (now: number): Spent => ({
  turns: 0,
  steps: 0,
  acting: false,
  heard: false,
  activeAt: now,
  began: now,
  toolsSince: new Map()
})

const millis = (duration: Duration.DurationInput | undefined): number | undefined =>
  duration === undefined ? undefined : Duration.toMillis(duration)

export const afterResultMs = ({ afterResult = "10 seconds" }: AgentRun.Limits): number => Duration.toMillis(afterResult)

const durations = ({ firstEvent, idle, tool, wall }: AgentRun.Limits) => ({
  wall: millis(wall),
  idle: millis(idle),
  tool: millis(tool),
  firstEvent: millis(firstEvent)
})

const acts = new Set<AgentEvent.AgentEvent["_tag"]>(["Text", "Thinking", "Message", "ToolCall"])

/** Takes events into account. */
export const spend = (
  spent: Spent,
  limits: AgentRun.Limits,
  events: ReadonlyArray<AgentEvent.Unstamped>,
  now: number
): void => {
  for (const { _tag } of events) {
    spent.heard = true
    if (_tag !== "Retry" || limits.retriesAreActivity === true) spent.activeAt = now
    if (_tag === "ToolCall" || _tag === "Message") spent.steps++
    if (_tag === "ToolResult") spent.acting = false
    if (acts.has(_tag) && !spent.acting) {
      spent.acting = true
      spent.turns++
    }
  }
}

const tokensOf = (usage: AgentOutcome.Usage): number =>
  (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0)

const first = (
  ...measures: ReadonlyArray<readonly [limit: Beyond["limit"], allowed: number | undefined, measured: number]>
): Beyond | undefined =>
  measures.flatMap(([limit, allowed, measured]) =>
    // A limit that is no number lets nothing through: as none at all it would be a budget that is lost without a word.
    allowed !== undefined && !(measured <= allowed) ? [{ limit, allowed, measured }] : []
  )[0]

/**
 * The limit for which the agent itself says that it has ended its turn. Only one that has been come to by our own count:
 * the agent may have others that are not of the run.
 */
export const reached = (
  { turns }: Spent,
  limits: AgentRun.Limits,
  stop: AgentOutcome.Stop,
  { costUsd = 0 }: AgentOutcome.Usage
): Beyond | undefined =>
  stop === "max-turns" && limits.turns !== undefined && turns + 1 > limits.turns
    ? { limit: "turns", allowed: limits.turns, measured: turns + 1 }
    : stop === "max-budget" && limits.costUsd !== undefined && costUsd >= limits.costUsd
    ? { limit: "costUsd", allowed: limits.costUsd, measured: costUsd }
    : undefined

/** What counts of a turn are beyond their limits. */
export const beyond = (
  spent: Spent,
  limits: AgentRun.Limits,
  { subAgents = {}, usage }: Pick<AgentDriver.Progress, "subAgents" | "usage">
): Beyond | undefined =>
  first(
    ["turns", limits.turns, spent.turns],
    ["steps", limits.steps, spent.steps],
    ["costUsd", limits.costUsd, usage.costUsd ?? 0],
    ["tokens", limits.tokens, tokensOf(usage) + tokensOf(subAgents)]
  )

/** What times are. `tools` are the calls that have no result yet, `waiting` tells that it is not the agent's turn to act. */
const late = (
  spent: Spent,
  { firstEvent, idle, tool, wall }: ReturnType<typeof durations>,
  now: number,
  tools: ReadonlyArray<AgentError.OpenToolCall>,
  waiting: boolean
): Beyond | undefined => {
  const ids = tools.map(({ id, name }, index) => id ?? `${name} ${index}`)
  for (const id of spent.toolsSince.keys()) if (!ids.includes(id)) spent.toolsSince.delete(id)
  for (const id of ids) if (waiting || !spent.toolsSince.has(id)) spent.toolsSince.set(id, now)
  if (waiting || ids.length > 0) spent.activeAt = now
  const longest = Math.max(0, ...[...spent.toolsSince.values()].map((since) => now - since))
  return first(
    ["wall", wall, now - spent.began],
    ["firstEvent", spent.heard ? undefined : firstEvent, now - spent.began],
    ["tool", tool, longest],
    ["idle", idle, now - spent.activeAt]
  )
}

const longestPause = 250

/** Returns once a time is over. */
export const watch = (
  limits: AgentRun.Limits,
  look: () => {
    readonly spent: Spent
    readonly tools: ReadonlyArray<AgentError.OpenToolCall>
    readonly waiting: boolean
    /** An agent that rests between two turns has all the time, one that is about to leave that of the whole run. */
    readonly over: false | "rests" | "ends"
  }
): Effect.Effect<Beyond> => {
  const allowed = durations(limits)
  const times = Object.values(allowed).flatMap((time) => time === undefined ? [] : [time])
  if (times.length === 0) return Effect.never
  const pause = Math.max(5, Math.min(longestPause, ...times.map((time) => time / 10)))
  const loop: Effect.Effect<Beyond> = Effect.sleep(pause).pipe(
    Effect.zipRight(monotonicMillis),
    Effect.flatMap((now) => {
      const { over, spent, tools, waiting } = look()
      const left = over === "ends" ? { ...durations({}), wall: allowed.wall } : allowed
      const found = over === "rests" ? undefined : late(spent, left, now, tools, waiting)
      return found === undefined ? loop : Effect.succeed(found)
    })
  )
  return loop
}
