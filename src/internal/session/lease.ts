/**
 * One run at a time in a named session, among all processes.
 *
 * The locks of the operating system that end with their holder are out of reach: Node has none. A file that is there while
 * somebody runs is to be had everywhere, but it stays behind when its holder is killed, and of two who find it so, one may
 * remove what the other has just put in its place. So a lease is a directory, and a holder is a file in it, which says
 * whose it is and has the next number as its name. Such a file comes into being whole and by one process only, is never
 * changed, and is removed by others only when its host is dead. Whoever has made one looks again, and holds the lease only
 * if all others in there belong to the dead: of two, the later one to look sees the other.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AgentError from "../../AgentError.js"
import * as ProcessTree from "../../ProcessTree.js"
import { onNativeTime } from "../nativeClock.js"
import type { Files } from "./files.js"

const Holder = Schema.Struct({
  owner: ProcessTree.Owner,
  since: Schema.Number.pipe(Schema.between(0, 8.64e15))
})
const HolderJson = Schema.parseJson(Holder)
// Looked up at each use: parsers are made at the first one, and not at the import.
const decode = (text: string) => Schema.decode(HolderJson)(text)
const encode = (holder: typeof Holder.Type) => Schema.encodeSync(HolderJson)(holder)

interface Entry {
  readonly file: string
  readonly number: number
  readonly holder: typeof Holder.Type
}

/** How long the processes of a host that was killed may take to end, before it is said that the name is held. */
const endingMs = 10_000

/** More than enough: whoever loses to another one finds the lease held at the next look. */
const attempts = 32

/** What is to be held, where, and who wants it. */
export interface Wanted {
  readonly directory: string
  readonly agent: string
  readonly project: string
  readonly name: string
}

/**
 * Takes a lease for as long as the scope, or until it is released. Does not wait for other runs, only for what a
 * host that was killed has left, while that is being ended.
 */
export const make = (
  { create, list, path, read, remove }: Files,
  spawner: Context.Tag.Service<ProcessTree.Spawner>
) => {
  const entryOf = Effect.fnUntraced(function*(file: string) {
    const text = yield* read(file)
    if (Option.isNone(text)) return []
    const holder = yield* Effect.mapError(decode(text.value), (cause) =>
      new AgentError.AgentSessionStoreError({
        reason: "corrupt",
        file,
        detail: "it does not tell who holds the session; remove it when no run is going on in there",
        cause
      }))
    return [{ file, number: Number(path.basename(file)), holder }]
  })

  const look = Effect.fnUntraced(function*(directory: string) {
    const names = (yield* list(directory)).filter((name) => /^\d{1,15}$/.test(name))
    const entries: ReadonlyArray<ReadonlyArray<Entry>> = yield* Effect.forEach(
      names,
      (name) => entryOf(path.join(directory, name))
    )
    return entries.flat()
  })

  const isAlive = ({ holder }: Entry) => spawner.isAlive(holder.owner)

  /** Of a host that is dead itself, the processes get the time to end; what has no guard any more is ended here. */
  const settle = Effect.fnUntraced(function*(entry: Entry) {
    // Without its id, a host is nothing but its process.
    const hostLives = yield* spawner.isAlive({ ...entry.holder.owner, id: "none" })
    if (hostLives || !(yield* isAlive(entry))) return
    yield* spawner.sweepStale
    yield* Effect.sleep(20).pipe(
      Effect.zipRight(isAlive(entry)),
      Effect.repeat({ while: (alive) => alive }),
      Effect.interruptible,
      Effect.timeoutOption(endingMs),
      onNativeTime
    )
  })

  const busy = Effect.fnUntraced(function*({ agent, name, project }: Wanted, { file, holder }: Entry) {
    const own = yield* spawner.owner
    const { machine, namespace, pid } = holder.owner
    const hidden = machine !== own.machine || namespace !== own.namespace
    return yield* new AgentError.AgentSessionBusy({
      agent,
      project,
      name,
      pid,
      since: holder.since,
      ...(hidden
        ? { hint: `Nothing more is known of it here, it runs on "${machine}": if it is gone, remove ${file}` }
        : {})
    })
  })

  /** Whether nobody else who lives is in there; the dead go. */
  const alone = Effect.fnUntraced(function*(file: string) {
    const others = (yield* look(path.dirname(file))).filter((entry) => entry.file !== file)
    const living = yield* Effect.filter(others, isAlive)
    if (living.length > 0) return false
    yield* Effect.forEach(others, (entry) => remove(entry.file), { discard: true })
    return true
  })

  const claim = Effect.fnUntraced(function*(file: string, text: string) {
    if (!(yield* create(file, text))) return Option.none()
    const mine = yield* Effect.tapError(alone(file), () => Effect.ignore(remove(file)))
    if (mine) {
      // Once only: later, the number may be somebody else's.
      const release = yield* Effect.once(
        Effect.catchAll(remove(file), (error) => Effect.logWarning(`a session stays held: ${error.message}`))
      )
      yield* Effect.addFinalizer(() => release)
      return Option.some({ release })
    }
    yield* remove(file)
    return Option.none()
  }, Effect.uninterruptible)

  return Effect.fnUntraced(function*(wanted: Wanted) {
    const text = encode({ owner: yield* spawner.owner, since: yield* Clock.currentTimeMillis })
    for (let attempt = 0; attempt < attempts; attempt++) {
      const entries = yield* look(wanted.directory)
      yield* Effect.forEach(entries, settle, { discard: true })
      const [living] = yield* Effect.filter(entries, isAlive)
      if (living !== undefined) return yield* busy(wanted, living)
      const number = 1 + Math.max(0, ...entries.map((entry) => entry.number))
      const lease = yield* claim(path.join(wanted.directory, String(number)), text)
      if (Option.isSome(lease)) return lease.value
    }
    return yield* new AgentError.AgentSessionStoreError({
      reason: "io",
      file: wanted.directory,
      detail: `no place in it was to be had in ${attempts} attempts`
    })
  })
}
