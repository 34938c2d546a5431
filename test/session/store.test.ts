/**
 * What is remembered of named sessions: the same for every store, and what is promised of the files.
 */
import * as PlatformError from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, describe, it } from "@effect/vitest"
import type * as AgentError from "effect-agents/AgentError"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as SessionStore from "effect-agents/SessionStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as TempDir from "../utils/TempDir.js"
import { filesBelow, inFiles, key, ref, stem, store } from "./support.js"

const stores = {
  files: Layer.unwrapScoped(Effect.map(TempDir.make, inFiles)),
  memory: SessionStore.layerMemory
}

for (const [title, layer] of Object.entries(stores)) {
  describe(`a store in ${title}`, () => {
    it.scoped("remembers, and goes on remembering what was first", () =>
      Effect.gen(function*() {
        const { bind, get, list } = yield* store
        assert.isTrue(Option.isNone(yield* get(key)))
        assert.deepStrictEqual(yield* list, [])
        yield* TestClock.adjust("1 hour")
        const first = yield* bind(key, ref("one"))
        assert.deepStrictEqual({ ...first }, {
          ...key,
          agent: "claude",
          id: "one",
          cwd: "/work",
          created: 3_600_000,
          updated: 3_600_000
        })
        yield* TestClock.adjust("1 hour")
        const second = yield* bind(key, ref("two", "claude", "/elsewhere"))
        assert.deepStrictEqual({ ...second }, { ...first, id: "two", cwd: "/elsewhere", updated: 7_200_000 })
        assert.deepStrictEqual(yield* get(key), Option.some(second))
        assert.deepStrictEqual(yield* list, [second])
      }).pipe(Effect.provide(layer)))

    it.scoped("keeps names apart to the letter", () =>
      Effect.gen(function*() {
        const { bind, get, list } = yield* store
        const names = [
          "",
          ".",
          "..",
          "a",
          "A",
          "a/b",
          "é",
          "e\u0301",
          "\ud800",
          "con",
          "x".repeat(999),
          "x".repeat(998)
        ]
        const keys = names.flatMap((project) => names.map((name) => ({ project, name })))
        yield* Effect.forEach(keys, (key, index) => bind(key, ref(`id-${index}`)))
        yield* Effect.forEach(
          keys,
          (key, index) =>
            Effect.map(get(key), (found) => assert.strictEqual(Option.getOrThrow(found).id, `id-${index}`))
        )
        assert.strictEqual((yield* list).length, keys.length)
      }).pipe(Effect.provide(layer)))

    it.scoped("gives a name to one agent for good", () =>
      Effect.gen(function*() {
        const { bind, forget, get } = yield* store
        yield* bind(key, ref("one"))
        const error = yield* Effect.flip(bind(key, ref("two", "codex")))
        assert.strictEqual(error._tag, "AgentSessionConflict")
        assert.include(error.message, "belongs to claude")
        assert.strictEqual(Option.getOrThrow(yield* get(key)).id, "one")
        yield* forget(key)
        assert.strictEqual((yield* bind(key, ref("two", "codex"))).agent, "codex")
      }).pipe(Effect.provide(layer)))

    it.scoped("forgets, also what it does not know", () =>
      Effect.gen(function*() {
        const { bind, forget, get, list } = yield* store
        yield* forget(key)
        yield* bind(key, ref("one"))
        yield* bind({ ...key, name: "other" }, ref("two"))
        yield* forget(key)
        yield* forget(key)
        assert.isTrue(Option.isNone(yield* get(key)))
        assert.deepStrictEqual((yield* list).map(({ id }) => id), ["two"])
      }).pipe(Effect.provide(layer)))

    it.scoped("refuses what is no id", () =>
      Effect.gen(function*() {
        const { bind, get } = yield* store
        for (const id of ["", "--resume", "a b"]) {
          const error = yield* Effect.flip(bind(key, ref(id)))
          assert.isTrue(error._tag === "AgentSessionStoreError" && error.reason === "id", String(error))
        }
        assert.isTrue(Option.isNone(yield* get(key)))
      }).pipe(Effect.provide(layer)))

    it.scopedLive("leases a name to one at a time, until the scope ends or before", () =>
      Effect.gen(function*() {
        const { lease } = yield* store
        yield* Effect.scoped(Effect.gen(function*() {
          yield* lease(key, "claude")
          const error = yield* Effect.flip(Effect.scoped(lease(key, "codex")))
          assert.isTrue(error._tag === "AgentSessionBusy" && error.agent === "codex" && error.isTransient)
          assert.match(error.message, /"\.\.\/review" of "My App" is held by .* since \d{4}-/)
          yield* lease({ ...key, name: "another" }, "claude")
        }))
        const { release } = yield* lease(key, "claude")
        yield* release
        yield* lease(key, "claude")
        // What was released once has nothing to do with those that come after.
        yield* release
        assert.strictEqual((yield* Effect.flip(lease(key, "claude")))._tag, "AgentSessionBusy")
      }).pipe(Effect.provide(layer)))
  })
}

/** A store whose file system refuses what it is told to. */
const refusing = (
  directory: string,
  method: "open" | "rename" | "readFileString" | "readDirectory" | "link" | "remove"
) => {
  const refusal = Effect.fail(
    new PlatformError.SystemError({ reason: "Unknown", module: "FileSystem", method, description: "ENOSPC: no space" })
  )
  const base = NodeProcessTree.layerWith({ sweepStale: false })
  const fs = Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (fs) => ({ ...fs, [method]: () => refusal }))
  )
  return SessionStore.layerWith({ directory }).pipe(Layer.provide(fs), Layer.provide(base))
}

type Refusing = Effect.Effect<
  unknown,
  AgentError.AgentSessionStoreError | AgentError.AgentSessionConflict | AgentError.AgentSessionBusy
>

const withStore = <A, E>(
  layer: Layer.Layer<SessionStore.SessionStore>,
  use: (store: typeof SessionStore.SessionStore.Service) => Effect.Effect<A, E>
) => Effect.provide(Effect.flatMap(store, use), layer)

describe("the files of a store", () => {
  it.scoped("are for their owner only, whole, and nothing else is there", () =>
    Effect.gen(function*() {
      const directory = join(yield* TempDir.make, "state", "sessions")
      yield* withStore(inFiles(directory), (store) =>
        Effect.scoped(Effect.gen(function*() {
          yield* store.lease(key, "claude")
          yield* store.bind(key, ref("one"))
          const file = `${stem(directory)}.json`
          assert.strictEqual(statSync(file).mode & 0o777, 0o600)
          for (const above of [dirname(file), directory, dirname(directory)]) {
            assert.strictEqual(statSync(above).mode & 0o777, 0o700, above)
          }
          assert.strictEqual(statSync(join(`${stem(directory)}.lease`, "1")).mode & 0o777, 0o600)
          assert.strictEqual(JSON.parse(readFileSync(file, "utf8")).name, "../review")
        })))
      assert.deepStrictEqual(yield* filesBelow(directory), [
        "%4dy%20%41pp",
        "%4dy%20%41pp/%2e%2e%2freview.json",
        "%4dy%20%41pp/%2e%2e%2freview.lease"
      ])
    }))

  it.scoped("are in the state directory of the user, where no other is named", () =>
    Effect.gen(function*() {
      const home = yield* TempDir.make
      const storeOf = (environment: Record<string, string>) => {
        const base = NodeProcessTree.layerWith({ sweepStale: false })
        const spawner = Layer.effect(
          ProcessTree.Spawner,
          Effect.map(ProcessTree.Spawner, (inner) => ({
            ...inner,
            host: Effect.map(inner.host, (host) => ({ ...host, environment }))
          }))
        )
        return SessionStore.layer.pipe(Layer.provide(spawner), Layer.provide(base))
      }
      yield* withStore(storeOf({ HOME: home, XDG_STATE_HOME: "relative" }), ({ bind }) => bind(key, ref("one")))
      yield* withStore(storeOf({ HOME: "/", XDG_STATE_HOME: join(home, "xdg") }), ({ bind }) => bind(key, ref("one")))
      const files = yield* filesBelow(home)
      assert.include(files, ".local/state/effect-agents/sessions/%4dy%20%41pp/%2e%2e%2freview.json")
      assert.include(files, "xdg/effect-agents/sessions/%4dy%20%41pp/%2e%2e%2freview.json")
      const error = yield* Effect.flip(withStore(storeOf({}), ({ get }) => get(key)))
      assert.include(error.message, "SessionStore.layerWith")
    }))

  const corrupt = {
    empty: "",
    torn: "{\"project\":\"My App\",\"na",
    foreign: "[1,2,3]",
    "of another form": JSON.stringify({ ...key, agent: "claude", id: "--resume", cwd: "/", created: 1, updated: 1 })
  }
  for (const [how, text] of Object.entries(corrupt)) {
    it.scoped(`that are ${how} are an error that names the file, until they are forgotten`, () =>
      Effect.gen(function*() {
        const directory = yield* TempDir.make
        const file = `${stem(directory)}.json`
        mkdirSync(dirname(file))
        writeFileSync(file, text)
        yield* withStore(inFiles(directory), (store) =>
          Effect.gen(function*() {
            const uses: ReadonlyArray<Refusing> = [store.get(key), store.list, store.bind(key, ref("one"))]
            for (const use of uses) {
              const error = yield* Effect.flip(use)
              assert.isTrue(
                error._tag === "AgentSessionStoreError" && error.reason === "corrupt" && error.file === file
              )
              assert.include(error.message, "forget the session")
            }
            assert.strictEqual(readFileSync(file, "utf8"), text)
            yield* store.forget(key)
            assert.isTrue(Option.isNone(yield* store.get(key)))
          }))
      }))
  }

  it.scoped("that were copied under another name are no sessions", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* withStore(inFiles(directory), (store) =>
        Effect.gen(function*() {
          yield* store.bind(key, ref("one"))
          copyFileSync(`${stem(directory)}.json`, join(dirname(stem(directory)), "copy.json"))
          const error = yield* Effect.flip(store.get({ ...key, name: "copy" }))
          assert.include(error.message, "another session")
          assert.strictEqual(Option.getOrThrow(yield* store.get(key)).id, "one")
        }))
    }))

  it.scoped("leave others alone that lie beside them", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* withStore(inFiles(directory), (store) =>
        Effect.gen(function*() {
          yield* store.bind(key, ref("one"))
          writeFileSync(join(directory, ".DS_Store"), "")
          writeFileSync(join(dirname(stem(directory)), "notes.txt"), "")
          writeFileSync(`${stem(directory)}.json.x.tmp`, "half of")
          assert.deepStrictEqual((yield* store.list).map(({ id }) => id), ["one"])
        }))
    }))

  it.scoped("that cannot be read are not missing", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      writeFileSync(dirname(stem(directory)), "a file where the project's directory should be")
      const error = yield* Effect.flip(withStore(inFiles(directory), ({ get }) => get(key)))
      assert.isTrue(error._tag === "AgentSessionStoreError" && error.reason === "io", String(error))
      const closed = yield* TempDir.make
      chmodSync(closed, 0)
      // Root may read everything.
      if (process.getuid?.() !== 0) {
        const refused = yield* Effect.flip(withStore(inFiles(closed), ({ get }) => get(key)))
        assert.strictEqual(refused.reason, "io")
      }
      chmodSync(closed, 0o700)
    }))

  it.scoped("are not touched by a write that the disk refuses", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* withStore(inFiles(directory), ({ bind }) => bind(key, ref("one")))
      const before = yield* filesBelow(directory)
      for (const method of ["open", "rename"] as const) {
        const error = yield* Effect.flip(withStore(refusing(directory, method), ({ bind }) => bind(key, ref("two"))))
        assert.isTrue(error._tag === "AgentSessionStoreError" && error.reason === "io", String(error))
        assert.include(error.message, "no space")
        assert.deepStrictEqual(yield* filesBelow(directory), before)
      }
      const found = yield* withStore(inFiles(directory), ({ get }) => get(key))
      assert.strictEqual(Option.getOrThrow(found).id, "one")
    }))

  it.scoped("that the disk refuses are an error of every operation, and leave nothing held", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* withStore(inFiles(directory), ({ bind }) => bind(key, ref("one")))
      const failures: ReadonlyArray<Refusing> = [
        withStore(refusing(directory, "readFileString"), ({ get }) => get(key)),
        withStore(refusing(directory, "readDirectory"), ({ list }) => list),
        withStore(refusing(directory, "remove"), ({ forget }) => forget(key)),
        withStore(refusing(directory, "open"), ({ lease }) => Effect.scoped(lease(key, "claude"))),
        withStore(refusing(directory, "link"), ({ lease }) => Effect.scoped(lease(key, "claude")))
      ]
      for (const failure of failures) {
        assert.include((yield* Effect.flip(failure)).message, "no space")
      }
      yield* withStore(inFiles(directory), ({ lease }) => Effect.scoped(lease(key, "claude")))
    }))
})
