/** Plans of agents, and the bookkeeping about work that has begun and not ended. */
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

/** An agent that never ends what it begins must not make the bookkeeping grow for ever. */
const limit = 1024

/** One entry more, at the cost of the oldest. */
export const kept = <A>(entries: ReadonlyMap<string, A>, key: string, value: A): ReadonlyMap<string, A> => {
  const next = new Map(entries).set(key, value)
  const [oldest] = next.keys()
  if (next.size > limit && oldest !== undefined) next.delete(oldest)
  return next
}

export const without = <A>(entries: ReadonlyMap<string, A>, key: string | undefined): ReadonlyMap<string, A> => {
  if (key === undefined || !entries.has(key)) return entries
  const left = new Map(entries)
  left.delete(key)
  return left
}
