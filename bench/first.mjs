/** From the call to the first event in the caller's hands. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { lines } from "./feed.mjs"
import { median, now } from "./measure.mjs"
import { load } from "./ours.mjs"

export const title = "first event"
export const baseline = "spawn and readline"
export const metrics = { warm: "ms", cold: "ms" }

export const cases = (quick) => [{
  name: "a program that prints 10 lines; cold is the first run of a process, warm the median of those after it",
  make: (directory) => lines(directory, "codex", 10, 500),
  times: quick ? 10 : 30
}]

const raw = async () => async (program) => {
  const child = spawn(program, { stdio: ["ignore", "pipe", "ignore"] })
  let first
  for await (const line of createInterface({ input: child.stdout })) {
    first ??= JSON.parse(line) && now()
  }
  return first
}

const ours = async (program) => {
  const { Agent, Effect, Stream, host, request } = await load("Codex")
  const provided = await host({ program })
  return () => {
    let first
    return Agent.stream(request).pipe(
      Stream.runForEach(() => Effect.sync(() => void (first ??= now()))),
      provided,
      Effect.map(() => first),
      Effect.runPromise
    )
  }
}

const command = async () => {
  const [Command, NodeContext, Effect, Stream] = await Promise.all([
    import("@effect/platform/Command"),
    import("@effect/platform-node/NodeContext"),
    import("effect/Effect"),
    import("effect/Stream")
  ])
  return (program) => {
    let first
    return Command.streamLines(Command.make(program)).pipe(
      Stream.runForEach((line) => Effect.sync(() => void (first ??= JSON.parse(line) && now()))),
      Effect.provide(NodeContext.layer),
      Effect.map(() => first),
      Effect.runPromise
    )
  }
}

export const arms = Object.fromEntries(
  Object.entries({ [baseline]: raw, ours, "Command of Effect 3": command }).map(([name, prepare]) => [
    name,
    async ({ program, times }) => {
      const first = await prepare(program)
      const all = []
      for (let n = 0; n <= times; n++) {
        const began = now()
        all.push(await first(program) - began)
      }
      return { cold: all[0], warm: median(all.slice(1)) }
    }
  ])
)
