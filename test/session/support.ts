/**
 * Stores of named sessions under test.
 */
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Session from "effect-agents/Session"
import * as SessionStore from "effect-agents/SessionStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readdirSync } from "node:fs"
import { join } from "node:path"

export const key = { project: "My App", name: "../review" }

/** Where the files of `key` are, by the rule that is promised. */
export const stem = (directory: string) => join(directory, "%4dy%20%41pp", "%2e%2e%2freview")

export const inFiles = (directory: string) =>
  SessionStore.layerWith({ directory }).pipe(Layer.provide(NodeProcessTree.layerWith({ sweepStale: false })))

export const ref = (id: string, agent = "claude", cwd = "/work") => Session.SessionRef.make({ agent, id, cwd })

export const store = SessionStore.SessionStore

/** The names of all files below a directory, and of the directories. */
export const filesBelow = (directory: string) =>
  Effect.sync(() => readdirSync(directory, { recursive: true, encoding: "utf8" }).sort())
