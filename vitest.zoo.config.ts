import { defineConfig } from "vitest/config"
import { alias, state } from "./vitest.config.js"

export default defineConfig({
  resolve: { alias },
  test: {
    include: ["test/zoo/**/*.test.ts"],
    pool: "forks",
    env: { XDG_STATE_HOME: state },
    // Ends are timed here, so nothing runs beside them.
    fileParallelism: false,
    maxConcurrency: 1,
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000
  }
})
