/** Small files that are written whole or not at all, for nobody else to read. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AgentError from "../../AgentError.js"

// Unique among all processes: the seed of Effect's own Random has 32 bits.
const makeUuid = Effect.sync(() => globalThis.crypto.randomUUID())

const utf8 = new TextEncoder()

const refused = (file: string) => (cause: PlatformError) =>
  new AgentError.AgentSessionStoreError({ reason: "io", file, detail: cause.message, cause })

const isMissing = (cause: PlatformError): boolean => cause._tag === "SystemError" && cause.reason === "NotFound"

/** Nothing for what is not there; whatever else stands in the way is an error. */
const ifThere = <A>(
  file: string,
  effect: Effect.Effect<A, PlatformError>
): Effect.Effect<Option.Option<A>, AgentError.AgentSessionStoreError> =>
  effect.pipe(
    Effect.asSome,
    Effect.catchIf(isMissing, () => Effect.succeedNone),
    Effect.mapError(refused(file))
  )

export interface Files {
  readonly path: Path.Path
  readonly read: (file: string) => Effect.Effect<Option.Option<string>, AgentError.AgentSessionStoreError>
  readonly list: (directory: string) => Effect.Effect<ReadonlyArray<string>, AgentError.AgentSessionStoreError>
  readonly write: (file: string, text: string) => Effect.Effect<void, AgentError.AgentSessionStoreError>
  /** As `write`, if there is no file of that name yet. Tells whether there was none: of many who try, it tells so to one. */
  readonly create: (file: string, text: string) => Effect.Effect<boolean, AgentError.AgentSessionStoreError>
  /** What is not there is removed already. */
  readonly remove: (file: string) => Effect.Effect<void, AgentError.AgentSessionStoreError>
}

export const make: Effect.Effect<Files, never, FileSystem.FileSystem | Path.Path> = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path

  // Not every system can sync a directory.
  const syncDirectory = (directory: string) =>
    Effect.ignore(Effect.scoped(Effect.flatMap(fs.open(directory, { flag: "r" }), (handle) => handle.sync)))

  /** Gives its name to a file that is complete and on the disk. */
  const whole = <A>(
    file: string,
    text: string,
    name: (temporary: string) => Effect.Effect<A, PlatformError>
  ): Effect.Effect<A, AgentError.AgentSessionStoreError> =>
    Effect.gen(function*() {
      const directory = path.dirname(file)
      const temporary = `${file}.${yield* makeUuid}.tmp`
      yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
      const named = yield* fs.open(temporary, { flag: "wx", mode: 0o600 }).pipe(
        Effect.flatMap((handle) => Effect.zipRight(handle.writeAll(utf8.encode(text)), handle.sync)),
        Effect.scoped,
        Effect.zipRight(name(temporary)),
        Effect.ensuring(Effect.ignore(fs.remove(temporary)))
      )
      yield* syncDirectory(directory)
      return named
    }).pipe(Effect.mapError(refused(file)), Effect.uninterruptible)

  return {
    path,
    read: (file) => ifThere(file, fs.readFileString(file)),
    list: (directory) => Effect.map(ifThere(directory, fs.readDirectory(directory)), Option.getOrElse(() => [])),
    write: (file, text) => whole(file, text, (temporary) => fs.rename(temporary, file)),
    create: (file, text) =>
      whole(file, text, (temporary) =>
        fs.link(temporary, file).pipe(
          Effect.as(true),
          Effect.catchIf(
            (cause) => cause._tag === "SystemError" && cause.reason === "AlreadyExists",
            () => Effect.succeed(false)
          )
        )),
    remove: (file) => Effect.asVoid(ifThere(file, fs.remove(file)))
  }
})
