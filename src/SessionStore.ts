/**
 * Where named sessions are remembered: for a user in files that all programs share, or for one program in memory. An agent
 * takes the store that its layer is provided with, and the user's one where there is none; only programs that list, forget
 * or bind sessions themselves need this module.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as AgentError from "./AgentError.js"
import * as fileStore from "./internal/session/fileStore.js"
import * as memoryStore from "./internal/session/memoryStore.js"
import type * as ProcessTree from "./ProcessTree.js"
import type * as Session from "./Session.js"

/**
 * What a session goes by. Any two texts, told apart to the letter.
 *
 * @since 0.1.0
 * @category models
 */
export interface Key {
  readonly project: string
  readonly name: string
}

/**
 * A name that is held: until the end of the scope, or until `release` is run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Lease {
  readonly release: Effect.Effect<void>
}

/**
 * A store of named sessions.
 *
 * - `get`: what is remembered. Nothing only where nothing is: what cannot be read is an error.
 * - `list`: all of them, in no order.
 * - `bind`: remembers a conversation under a name, whatever of the same agent it stood for before. Runs do so by
 *   themselves, as soon as the agent has named its conversation: never before that, so that no name stands for one that
 *   was never begun.
 * - `forget`: the name is free again, for any agent; the conversation itself stays where the agent keeps it. A run that is
 *   going on goes on.
 * - `lease`: takes the name, or fails at once. Runs do so by themselves, before they look the session up and until their
 *   processes have ended.
 *
 * **Example**
 *
 * ```ts
 * import { Clock, Effect } from "effect"
 * import { SessionStore } from "effect-agents"
 *
 * // Forgets what was not used for a month.
 * const tidy = Effect.gen(function*() {
 *   const store = yield* SessionStore.SessionStore
 *   const limit = (yield* Clock.currentTimeMillis) - 30 * 24 * 3600 * 1000
 *   yield* Effect.forEach(yield* store.list, (record) => record.updated < limit ? store.forget(record) : Effect.void)
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class SessionStore extends Context.Tag("effect-agents/SessionStore")<SessionStore, {
  readonly get: (key: Key) => Effect.Effect<Option.Option<Session.SessionRecord>, AgentError.AgentSessionStoreError>
  readonly list: Effect.Effect<ReadonlyArray<Session.SessionRecord>, AgentError.AgentSessionStoreError>
  readonly bind: (
    key: Key,
    session: Session.SessionRef
  ) => Effect.Effect<Session.SessionRecord, AgentError.AgentSessionConflict | AgentError.AgentSessionStoreError>
  readonly forget: (key: Key) => Effect.Effect<void, AgentError.AgentSessionStoreError>
  readonly lease: (
    key: Key,
    agent: string
  ) => Effect.Effect<
    Lease,
    AgentError.AgentSessionBusy | AgentError.AgentSessionStoreError,
    Scope.Scope
  >
}>() {}

/**
 * Options of a store in files. `directory`: where they are, relative to the host's working directory; by default
 * `effect-agents/sessions` in `XDG_STATE_HOME`, or else in `~/.local/state` (on Windows in `LOCALAPPDATA`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly directory?: string | undefined
}

/**
 * A store in files, one for each session, which only their owner can read (`0600`, directories `0700`). They are written
 * whole, and shared by all processes that use the same directory: it must be on a file system that has hard links.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { NodeProcessTree, Session, SessionStore } from "effect-agents"
 *
 * // Gives a conversation that was begun elsewhere a name.
 * const adopt = (id: string) =>
 *   SessionStore.make().pipe(
 *     Effect.flatMap((store) =>
 *       store.bind(
 *         { project: "my-app", name: "review" },
 *         Session.SessionRef.make({ agent: "claude", id, cwd: "/home/me/my-app" })
 *       )
 *     ),
 *     Effect.provide(NodeProcessTree.layer)
 *   )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options
): Effect.Effect<
  Context.Tag.Service<SessionStore>,
  never,
  ProcessTree.Spawner | FileSystem.FileSystem | Path.Path
> => fileStore.make(options)

/**
 * The store in files with options of your own.
 *
 * **Example**
 *
 * ```ts
 * import { Layer } from "effect"
 * import { Claude, NodeProcessTree, SessionStore } from "effect-agents"
 *
 * // Sessions that go with the project.
 * const claude = Claude.layer().pipe(
 *   Layer.provide(SessionStore.layerWith({ directory: ".sessions" })),
 *   Layer.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (
  options?: Options
): Layer.Layer<SessionStore, never, ProcessTree.Spawner | FileSystem.FileSystem | Path.Path> =>
  Layer.effect(SessionStore, make(options))

/**
 * The store in files in the state directory of the user, the one that agents use unless they are given another.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { NodeProcessTree, SessionStore } from "effect-agents"
 *
 * const forget = Effect.flatMap(SessionStore.SessionStore, (store) =>
 *   store.forget({ project: "my-app", name: "review" })).pipe(
 *     Effect.provide(SessionStore.layer),
 *     Effect.provide(NodeProcessTree.layer)
 *   )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<SessionStore, never, ProcessTree.Spawner | FileSystem.FileSystem | Path.Path> =
  layerWith()

/**
 * A store in memory, for tests and for programs whose sessions end with them. Other processes know nothing of it.
 *
 * **Example**
 *
 * ```ts
 * import { Layer } from "effect"
 * import { Claude, NodeProcessTree, SessionStore } from "effect-agents"
 *
 * const claude = Claude.layer().pipe(
 *   Layer.provide(SessionStore.layerMemory),
 *   Layer.provide(NodeProcessTree.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<SessionStore> = Layer.effect(SessionStore, memoryStore.make)
