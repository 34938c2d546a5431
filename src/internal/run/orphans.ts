/**
 * What a turn that was interrupted leaves at work in an agent that lives on. Agents give every command of a tool a
 * session of its own, and keep what serves them, as MCP servers, in theirs.
 */
import * as Effect from "effect/Effect"
import type * as ProcessTree from "../../ProcessTree.js"

const looksAtMost = 50
const politeLooks = 10
const betweenLooks = "20 millis"

/** Ends the members that are in a session of their own and were not there `before` the turn. */
export const end = (
  tree: ProcessTree.ProcessTree,
  before: ReadonlyArray<ProcessTree.Member>
): Effect.Effect<void> => {
  const known = new Set(before.map(({ pid, startTime }) => `${pid}:${startTime}`))
  const orphans = Effect.map(tree.members, ([leader, ...rest]) =>
    leader === undefined
      ? []
      : rest.filter(({ pid, session, startTime }) => session !== leader.session && !known.has(`${pid}:${startTime}`)))
  const look = (number: number): Effect.Effect<void> =>
    Effect.flatMap(orphans, (left) =>
      left.length === 0 || number >= looksAtMost
        ? Effect.void
        : tree.signal(number < politeLooks ? "SIGTERM" : "SIGKILL", left).pipe(
          Effect.zipRight(Effect.sleep(betweenLooks)),
          Effect.zipRight(look(number + 1))
        ))
  return look(0)
}
