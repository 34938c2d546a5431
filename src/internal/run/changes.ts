/** Which files an agent has changed, as far as its own tools tell: those of the calls that went well. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"

type Files = ReadonlyArray<string>

export interface Changes {
  readonly of: NonNullable<AgentDriver.AgentDriver<unknown>["writes"]>
  readonly open: Map<string, Files>
  readonly done: Set<string>
}

/** An agent that never ends must not make the list grow for ever. */
const limit = 4096

export const make = (writes: AgentDriver.AgentDriver<unknown>["writes"]): Changes => ({
  of: writes ?? (() => []),
  open: new Map(),
  done: new Set()
})

export const begin = (changes: Changes): void => {
  changes.open.clear()
  changes.done.clear()
}

export const note = ({ done, of, open }: Changes, event: AgentEvent.Unstamped): void => {
  if (event._tag === "ToolCall" && event.id !== undefined && open.size < limit) {
    const files = of(event)
    if (files.length > 0) open.set(event.id, files)
  }
  if (event._tag !== "ToolResult" || event.id === undefined) return
  const files = open.get(event.id)
  open.delete(event.id)
  if (event.ok === false || event.denied === true) return
  files?.slice(0, Math.max(0, limit - done.size)).forEach((file) => done.add(file))
}
