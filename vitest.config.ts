import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const src = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

/** Tests import the package by its own name and get the sources. */
export const alias = [
  { find: /^effect-agents$/, replacement: src("index.ts") },
  { find: /^effect-agents\/(Claude|Codex|Copilot)$/, replacement: src("drivers/$1.ts") },
  { find: /^effect-agents\/testing$/, replacement: src("testing/index.ts") },
  { find: /^effect-agents\/(\w+)$/, replacement: src("$1.ts") }
]

/** A state directory for all tests of this run, which are hosts of their own. */
export const state = mkdtempSync(join(tmpdir(), "effect-agents-test-state-"))
process.on("exit", () => rmSync(state, { recursive: true, force: true }))

export default defineConfig({
  resolve: { alias },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/{real,zoo}/**", "**/node_modules/**"],
    pool: "forks",
    // What hosts leave word of in the state directory of the user stays out of it.
    env: { XDG_STATE_HOME: state },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000
  }
})
