import { defineConfig } from "vitest/config"
import { alias, state } from "./vitest.config.js"

export default defineConfig({
  resolve: { alias },
  test: {
    include: ["test/real/**/*.test.ts"],
    pool: "forks",
    env: { XDG_STATE_HOME: state },
    // Real CLIs are timed here, so nothing runs beside them.
    fileParallelism: false,
    maxConcurrency: 1,
    retry: 0,
    testTimeout: 300_000,
    hookTimeout: 600_000,
    teardownTimeout: 30_000
  }
})
