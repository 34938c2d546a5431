/** A consumer that takes one event in a while, of an agent that has a gigabyte to say: whose memory grows? */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { program, write } from "./feed.mjs"
import { growth, sleep } from "./measure.mjs"
import { load } from "./ours.mjs"

const pause = 5

export const title = "back-pressure"
export const baseline = "a plain pipe"
export const metrics = { memory: "bytes", pieces: "count" }
export const rounds = 2

export const cases = (quick) => [{
  name: `1 GB, of which one piece is taken every 5 ms for ${quick ? 1 : 5} s`,
  make: (directory) => {
    const file = join(directory, "block.jsonl")
    write(file, "codex", 20_000, 500)
    return program(directory, "gigabyte", `i=0; while [ $i -lt 100 ]; do cat '${file}'; i=$((i+1)); done`)
  },
  time: quick ? 1000 : 5000
}]

/** Counts pieces, and says when it was enough. What the first ones take is that of the start. */
const consumer = (time) => {
  let count = 0
  let grown
  let end
  return {
    took: () => {
      if (++count === 50) {
        grown = growth()
        end = performance.now() + time
      }
      return performance.now() > end
    },
    result: () => ({ memory: grown(), pieces: count })
  }
}

const pipe = async () => async (program, time) => {
  const child = spawn(program, { stdio: ["ignore", "pipe", "ignore"], detached: true })
  const { result, took } = consumer(time)
  for await (const _ of child.stdout) {
    if (took()) break
    await sleep(pause)
  }
  process.kill(-child.pid, "SIGKILL")
  return result()
}

const ours = async () => {
  const { Agent, Effect, Stream, layer, request } = await load("Codex")
  return async (program, time) => {
    const { result, took } = consumer(time)
    await Agent.stream(request).pipe(
      Stream.runForEachWhile(() => Effect.map(Effect.sleep(pause), () => !took())),
      Effect.provide(layer({ program })),
      Effect.runPromise
    )
    return result()
  }
}

export const arms = Object.fromEntries(
  Object.entries({ [baseline]: pipe, ours }).map((
    [name, prepare]
  ) => [name, async ({ program, time }) => (await prepare())(program, time)])
)
