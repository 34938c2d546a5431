/** Many short runs in one process: is anything still there of them? */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { lines } from "./feed.mjs"
import { load } from "./ours.mjs"
import { children, memory } from "./processes.mjs"

const samples = 20

export const title = "endurance"
export const baseline = undefined
export const metrics = {
  "per run": "ms",
  descriptors: "count",
  children: "count",
  ledgers: "count",
  heap: "bytes",
  rss: "bytes",
  guard: "bytes"
}
export const rounds = 1
export const unfit = () => process.platform !== "linux" && "reads /proc"

export const cases = (quick) => [{
  name: `${(quick ? 200 : 10_000).toLocaleString("en")} runs, 8 at a time: growth after the first twentieth`,
  make: (directory) => lines(directory, "codex", 3, 200),
  runs: quick ? 200 : 10_000
}]

const count = (directory) => {
  try {
    return readdirSync(directory).length
  } catch {
    return 0
  }
}

const look = (state) => {
  for (let n = 0; n < 3; n++) globalThis.gc()
  const all = children()
  return {
    descriptors: count("/proc/self/fd"),
    children: all.length,
    ledgers: count(join(state, "effect-agents", "hosts")),
    heap: process.memoryUsage().heapUsed,
    rss: process.memoryUsage.rss(),
    guard: all.filter(({ command }) => command.includes("guardMain")).reduce((sum, { pid }) => sum + memory(pid), 0)
  }
}

export const arms = {
  ours: async ({ program, runs }) => {
    const state = mkdtempSync(join(tmpdir(), "effect-agents-state-"))
    process.env.XDG_STATE_HOME = state
    const { Agent, Effect, Layer, Scope, layer, request } = await load("Codex")
    const context = await Layer.buildWithScope(layer({ program }), Effect.runSync(Scope.make())).pipe(Effect.runPromise)
    const seen = []
    const began = performance.now()
    for (let n = 0; n < samples; n++) {
      await Effect.runPromise(Effect.provide(
        Effect.all(Array.from({ length: runs / samples }, () => Agent.run(request)), { concurrency: 8, discard: true }),
        context
      ))
      seen.push(look(state))
    }
    rmSync(state, { recursive: true })
    const first = seen[0]
    const last = seen.at(-1)
    return {
      "per run": (performance.now() - began) / runs,
      ...Object.fromEntries(Object.keys(last).map((what) => [what, last[what] - first[what]])),
      seen
    }
  }
}
