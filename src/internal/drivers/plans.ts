/** What an agent means to do, step by step. */
import type * as AgentEvent from "../../AgentEvent.js"

type Plan = Extract<AgentEvent.Unstamped, { readonly _tag: "Plan" }>
export type Step = Plan["steps"][number]

const words: ReadonlyMap<unknown, Step["status"]> = new Map([
  ["in_progress", "in-progress"],
  ["inProgress", "in-progress"],
  ["completed", "completed"]
])

export const status = (word: unknown): Step["status"] => words.get(word) ?? "pending"
