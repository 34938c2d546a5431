/** Tool calls that have no result yet. */
import type * as AgentError from "../../AgentError.js"

export type Open = ReadonlyArray<AgentError.OpenToolCall>

/** An agent that never closes its calls must not make the list grow for ever. */
const limit = 1024

export const opened = (open: Open, id: string | undefined, name: string): Open =>
  id === undefined ? open : [...open.slice(open.length < limit ? 0 : 1), { id, name }]

export const closed = (open: Open, id: string | undefined): Open =>
  id === undefined || !has(open, id) ? open : open.filter((call) => call.id !== id)

export const has = (open: Open, id: string | undefined): boolean =>
  id !== undefined && open.some((call) => call.id === id)
