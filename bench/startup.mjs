/** A fresh process: what it imports, and when it has started its first agent. */
import { readFileSync } from "node:fs"
import { lines } from "./feed.mjs"
import { cpu } from "./measure.mjs"

const entries = ["Agent", "AgentRequest", "Claude", "NodeProcessTree"].map((name) => `effect-agents/${name}`)
const effect = ["effect/Effect", "effect/Layer"]

export const title = "start-up"
export const baseline = "what it needs of effect and platform-node"
export const metrics = { import: "ms", importCpu: "ms", spawned: "ms", spawnedCpu: "ms", memory: "bytes" }
export const rounds = 9

export const cases = () => [{
  name: "from the first import to the first spawn",
  make: (directory) => lines(directory, "claude", 10, 500)
}]

/** The modules of others that these entries come to import, in their order. */
const needed = () => {
  const seen = new Set()
  const others = new Set(effect)
  const visit = (url) => {
    if (seen.has(url)) return
    seen.add(url)
    for (const [, name] of readFileSync(new URL(url), "utf8").matchAll(/^(?:import|export)[^"=;]* from "([^"]+)"/gm)) {
      if (name.startsWith(".")) visit(new URL(name, url).href)
      else if (!name.startsWith("node:")) others.add(name)
    }
  }
  for (const entry of entries) visit(import.meta.resolve(entry))
  return [...others]
}

/** Milliseconds from here to the end of the imports, and to the process that was started. */
const timed = async (names, start) => {
  const [began, used] = [performance.now(), cpu()]
  const modules = await Promise.all(names.map((name) => import(name)))
  const imported = { import: performance.now() - began, importCpu: cpu() - used }
  const found = Object.fromEntries(modules.map((module, n) => [names[n].split("/").at(-1), module]))
  const { Effect } = found
  await Effect.runPromise(Effect.scoped(Effect.tap(await start(found), () => {
    imported.spawned = performance.now() - began
    imported.spawnedCpu = cpu() - used
  })))
  return { ...imported, memory: process.memoryUsage.rss() }
}

export const arms = {
  [baseline]: ({ program }) =>
    timed(needed(), async ({ Command, Effect, Layer, NodeFileSystem }) => {
      const NodeCommandExecutor = await import("@effect/platform-node/NodeCommandExecutor")
      return Effect.provide(
        Command.start(Command.make(program)),
        Layer.provide(NodeCommandExecutor.layer, NodeFileSystem.layer)
      )
    }),
  ours: ({ program }) =>
    timed([...effect, ...entries], ({ Agent, AgentRequest, Claude, Effect, Layer, NodeProcessTree }) =>
      Effect.provide(
        Agent.start(AgentRequest.make({ prompt: "go on" })),
        Layer.provide(Claude.layer({ program }), NodeProcessTree.layer)
      ))
}
