/** Named sessions of one program, for as long as it runs. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as AgentError from "../../AgentError.js"
import type * as Session from "../../Session.js"
import type { Key } from "./rebound.js"
import { rebound } from "./rebound.js"

const keyOf = ({ name, project }: Key): string => JSON.stringify([project, name])

export const make = Effect.gen(function*() {
  const records = yield* Ref.make(HashMap.empty<string, Session.SessionRecord>())
  const held = yield* Ref.make(HashMap.empty<string, number>())
  const get = (key: Key) => Effect.map(Ref.get(records), HashMap.get(keyOf(key)))
  return {
    get,
    list: Effect.map(Ref.get(records), HashMap.toValues),
    bind: (key: Key, session: Session.SessionRef) =>
      Effect.flatMap(get(key), (existing) => rebound(key, session, existing)).pipe(
        Effect.tap((record) => Ref.update(records, HashMap.set(keyOf(key), record)))
      ),
    forget: (key: Key) => Ref.update(records, HashMap.remove(keyOf(key))),
    lease: Effect.fnUntraced(function*({ name, project }: Key, agent: string) {
      const key = keyOf({ name, project })
      const now = yield* Clock.currentTimeMillis
      const since = yield* Ref.modify(held, (map) => {
        const since = HashMap.get(map, key)
        return [since, Option.isSome(since) ? map : HashMap.set(map, key, now)]
      })
      if (Option.isSome(since)) {
        return yield* new AgentError.AgentSessionBusy({ agent, project, name, since: since.value })
      }
      const release = yield* Effect.once(Ref.update(held, HashMap.remove(key)))
      yield* Effect.addFinalizer(() => release)
      return { release }
    }, Effect.uninterruptible)
  }
})
