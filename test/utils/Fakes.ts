/**
 * The fake CLIs as requests see them.
 */
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export type Name = "claude" | "codex" | "copilot"

export const program = (name: Name): string => fileURLToPath(new URL(`../fakes/fake-${name}`, import.meta.url))

/** A scenario of `test/fakes/scenarios.mjs`, or steps of your own, with the parameters that it reads. */
export interface Scenario {
  readonly name?: string | undefined
  readonly steps?: ReadonlyArray<{ readonly do: string; readonly [key: string]: unknown }> | undefined
  readonly mark?: string | undefined
  readonly [parameter: string]: unknown
}

/** The environment that makes a fake play the scenario. */
export const environment = (scenario: Scenario): Record<string, string> => ({
  FAKE_NODE: process.execPath,
  FAKE_SCENARIO: JSON.stringify(scenario)
})

/** What a fake was started with, from the file that the parameter `dump` of its scenario names. */
export interface Dump {
  readonly argv: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly stdin?: string | undefined
  readonly prompt?: string | undefined
  readonly pid: number
  /** Of the run's own folder. */
  readonly files: Readonly<Record<string, { readonly path: string; readonly content: string; readonly mode: number }>>
}

export const readDump = (path: string): Effect.Effect<Dump> => Effect.sync(() => JSON.parse(readFileSync(path, "utf8")))
