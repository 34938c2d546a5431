/** What a named session is bound to next, wherever that is kept. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AgentError from "../../AgentError.js"
import * as Session from "../../Session.js"

export interface Key {
  readonly project: string
  readonly name: string
}

export const rebound = Effect.fnUntraced(function*(
  { name, project }: Key,
  { agent, cwd, id }: Session.SessionRef,
  existing: Option.Option<Session.SessionRecord>
) {
  if (Option.isSome(existing) && existing.value.agent !== agent) {
    return yield* new AgentError.AgentSessionConflict({
      agent,
      project,
      name,
      owner: existing.value.agent,
      id: existing.value.id
    })
  }
  if (!Schema.is(Session.SessionId)(id)) {
    return yield* new AgentError.AgentSessionStoreError({
      reason: "id",
      file: "",
      detail: id === "" ? `${agent} did not name its conversation` : `what ${agent} names its conversation is no id`
    })
  }
  const now = yield* Clock.currentTimeMillis
  const created = Option.match(existing, { onNone: () => now, onSome: (record) => record.created })
  return Session.SessionRecord.make({ project, name, agent, id, cwd, created, updated: now })
})
