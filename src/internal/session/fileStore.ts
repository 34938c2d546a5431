/** Named sessions in files: one for what is remembered of each, and a directory for who holds it. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AgentError from "../../AgentError.js"
import * as ProcessTree from "../../ProcessTree.js"
import * as Session from "../../Session.js"
import * as environment from "../run/environment.js"
import * as Files from "./files.js"
import * as Lease from "./lease.js"
import type { Key } from "./rebound.js"
import { rebound } from "./rebound.js"
import { stemOf } from "./stem.js"

const RecordJson = Schema.parseJson(Session.SessionRecord)
// Looked up at each use: parsers are made at the first one, and not at the import.
const decode = (text: string) => Schema.decode(RecordJson)(text)
const encode = (record: Session.SessionRecord) => Schema.encodeSync(RecordJson)(record)

export const make = Effect.fnUntraced(function*(options?: { readonly directory?: string | undefined }) {
  const files = yield* Files.make
  const spawner = yield* ProcessTree.Spawner
  const { path } = files
  const lease = Lease.make(files, spawner)

  const root = Effect.flatMap(spawner.host, (host) => {
    const absolute = (name: string) => {
      const value = environment.lookup(host.environment, name, host.platform)
      return value !== undefined && path.isAbsolute(value) ? value : undefined
    }
    const home = absolute("HOME")
    const state = absolute("XDG_STATE_HOME")
      ?? (host.platform === "win32" ? absolute("LOCALAPPDATA") : undefined)
      ?? (home === undefined ? undefined : path.join(home, ".local", "state"))
    const directory = options?.directory
      ?? (state === undefined ? undefined : path.join(state, "effect-agents", "sessions"))
    return directory === undefined
      ? new AgentError.AgentSessionStoreError({
        reason: "io",
        file: "",
        detail:
          "there is no place for them: XDG_STATE_HOME and HOME are not absolute; use SessionStore.layerWith({ directory })"
      })
      : Effect.succeed(path.resolve(directory))
  })

  const fileOf = ({ name, project }: Key, suffix: string) =>
    Effect.map(root, (root) => path.join(root, stemOf(project), `${stemOf(name)}${suffix}`))

  const corrupt = (file: string, why: string, cause?: unknown) =>
    new AgentError.AgentSessionStoreError({
      reason: "corrupt",
      file,
      detail: `${why}; repair it, or forget the session to begin a new one`,
      ...(cause === undefined ? {} : { cause })
    })

  const read = Effect.fnUntraced(function*(file: string) {
    const text = yield* files.read(file)
    if (Option.isNone(text)) return Option.none()
    const record = yield* Effect.mapError(
      decode(text.value),
      (cause) => corrupt(file, "it is not the record of a session", cause)
    )
    if ((yield* fileOf(record, ".json")) !== file) return yield* corrupt(file, "it is the record of another session")
    return Option.some(record)
  })

  const get = (key: Key) => Effect.flatMap(fileOf(key, ".json"), read)

  const list = Effect.gen(function*() {
    const directory = yield* root
    // Whatever else lies there has a point in its name.
    const projects = (yield* files.list(directory)).filter((name) => !name.includes("."))
    const found = yield* Effect.forEach(
      projects,
      (project) =>
        Effect.map(
          files.list(path.join(directory, project)),
          (names) => names.filter((name) => name.endsWith(".json")).map((name) => path.join(directory, project, name))
        )
    )
    return (yield* Effect.forEach(found.flat(), read)).flatMap(Option.toArray)
  })

  return {
    get,
    list,
    bind: Effect.fnUntraced(function*(key: Key, session: Session.SessionRef) {
      const record = yield* rebound(key, session, yield* get(key))
      yield* files.write(yield* fileOf(key, ".json"), encode(record))
      return record
    }),
    forget: (key: Key) => Effect.flatMap(fileOf(key, ".json"), files.remove),
    lease: (key: Key, agent: string) =>
      Effect.flatMap(
        fileOf(key, ".lease"),
        (directory) => lease({ directory, agent, project: key.project, name: key.name })
      )
  }
})
