// A host that shares its process, or its program, with another one: `worker` starts a thread, `fork` a forked process,
// each with a tree of its own. Lines on its input say what happens to the other.
import { Command } from "@effect/platform"
import { Effect } from "effect"
import { NodeProcessTree, ProcessTree } from "effect-agents"
import { fork } from "node:child_process"
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { isMainThread, Worker, workerData } from "node:worker_threads"

// The arguments do not show what the trees do: neither host is one of those that the test looks for.
const [how, file] = isMainThread ? process.argv.slice(2) : ["in a worker", workerData]
const { others, own, seal } = JSON.parse(readFileSync(file, "utf8"))
const isFirst = how === "worker" || how === "fork"

const live = Effect.scoped(
  Effect.zipRight(
    ProcessTree.start(Command.make("sh", "-c", "setsid sleep $0 & wait", isFirst ? own : others), { seal }),
    Effect.never
  )
)
const running = Effect.runFork(Effect.provide(live, NodeProcessTree.layerWith({ sweepStale: false })))

const self = fileURLToPath(import.meta.url)
const other = how === "worker"
  ? new Worker(self, { workerData: file })
  : how === "fork"
  ? fork(self, ["forked", file])
  : undefined

const orders = {
  terminate: () => other.terminate(),
  kill: () => other.kill("SIGKILL"),
  end: () => {
    running.unsafeInterruptAsFork(running.id())
    running.addObserver(() => process.exit())
  }
}

if (other !== undefined) createInterface({ input: process.stdin }).on("line", (line) => orders[line]())
