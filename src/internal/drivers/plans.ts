/** What an agent means to do, step by step. */
import type * as AgentEvent from "../../AgentEvent.js"

type Plan = Extract<AgentEvent.Unstamped, { readonly _tag: "Plan" }>
export type Step = Plan["steps"][number]

const words: Readonly<Record<string, Step["status"]>> = {
  in_progress: "in-progress",
  inProgress: "in-progress",
  completed: "completed"
}

export const status = (word: unknown): Step["status"] =>
  typeof word === "string" && Object.hasOwn(words, word) ? words[word] ?? "pending" : "pending"
