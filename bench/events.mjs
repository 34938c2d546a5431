/** What an agent prints, read to its end: typed and normalised, or by other means. */
import { spawn } from "node:child_process"
import { lines } from "./feed.mjs"
import { load } from "./ours.mjs"
import { measured } from "./measure.mjs"

const names = { claude: "Claude", codex: "Codex", copilot: "Copilot" }

export const title = "events"
export const baseline = "bytes split by hand"
export const metrics = { wall: "ms", cpu: "ms", again: "ms", memory: "bytes" }

export const cases = (quick) => {
  const count = quick ? 10_000 : 100_000
  const times = quick ? 1 : 4
  const some = (thousand) => thousand.toLocaleString("en")
  return [
    ...Object.keys(names).filter((agent) => !quick || agent !== "copilot").map((agent) => ({
      name: `${agent}: ${some(count)} lines of 500 B`,
      make: (directory) => lines(directory, agent, count, 500),
      agent,
      count,
      times
    })),
    {
      name: `codex: one line of ${quick ? 2 : 20} MB`,
      make: (directory) => lines(directory, "codex", 1, quick ? 2e6 : 20e6),
      agent: "codex",
      count: 1,
      times
    },
    {
      name: `codex: ${some(count / 5)} lines of 1 KB, written in pieces of 1,021 B`,
      make: (directory) => lines(directory, "codex", count / 5, 1000, "dd bs=1021 status=none if="),
      agent: "codex",
      count: count / 5,
      times
    }
  ]
}

/** By hand: bytes cut at line ends, each line decoded and parsed. */
const hand = (program) =>
  new Promise((resolve) => {
    let count = 0
    let pieces = []
    const child = spawn(program, { stdio: ["ignore", "pipe", "ignore"] })
    child.stdout.on("data", (chunk) => {
      let from = 0
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        const line = chunk.subarray(from, at)
        from = at + 1
        const text = (pieces.length === 0 ? line : Buffer.concat([...pieces, line])).toString("utf8")
        pieces = []
        if (typeof JSON.parse(text).type === "string") count++
      }
      if (from < chunk.length) pieces.push(chunk.subarray(from))
    })
    child.once("close", () => resolve({ count }))
  })

const readline = async () => {
  const { createInterface } = await import("node:readline")
  return async (program) => {
    let count = 0
    const child = spawn(program, { stdio: ["ignore", "pipe", "ignore"] })
    for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
      if (typeof JSON.parse(line).type === "string") count++
    }
    return { count }
  }
}

const ours = (how) => async (agent, program) => {
  const { Agent, Effect, Stream, host, request } = await load(names[agent])
  const provided = await host({ program, maxLineBytes: 2 ** 25 })
  return async () => {
    let count = 0
    const effect = how === "events"
      ? Agent.stream(request).pipe(Stream.runForEachChunk((chunk) => Effect.sync(() => void (count += chunk.length))))
      : Agent.run(request)
    await Effect.runPromise(provided(effect))
    return { count: how === "events" ? count : Infinity }
  }
}

const command = async () => {
  const [Command, NodeContext, Effect, Schema, Stream] = await Promise.all([
    import("@effect/platform/Command"),
    import("@effect/platform-node/NodeContext"),
    import("effect/Effect"),
    import("effect/Schema"),
    import("effect/Stream")
  ])
  const decode = Schema.decodeUnknown(Schema.parseJson(Schema.Struct({ type: Schema.String })))
  return async (program) => {
    let count = 0
    await Command.streamLines(Command.make(program)).pipe(
      Stream.mapEffect(decode),
      Stream.runForEach(() => Effect.sync(() => void count++)),
      Effect.provide(NodeContext.layer),
      Effect.runPromise
    )
    return { count }
  }
}

const peer = (name) => async () => (await import("./peers/lines.mjs"))[name]()

/** From the start of the program to its last line, several times; what the arm needs is loaded before. */
const arm = (prepare) => async ({ agent, count, program, times }) => {
  const read = await prepare(agent, program)
  const result = await measured(() => read(program, agent))
  if (result.count < count) throw new Error(`${result.count} of ${count} lines`)
  let again
  for (let n = 0; n < times; n++) again = await measured(() => read(program, agent))
  return { ...result, again: again.cpu }
}

export const arms = Object.fromEntries(
  Object.entries({
    [baseline]: async () => hand,
    "ours: events": ours("events"),
    "ours: outcome": ours("outcome"),
    readline,
    "execa 9": peer("execa"),
    tinyexec: peer("tinyexec"),
    "Command of Effect 3, Schema": command,
    "ChildProcess of Effect 4, Schema": peer("effect4"),
    "codex-sdk": peer("codex"),
    "claude-agent-sdk": peer("claude"),
    "agent-abstraction": peer("crate")
  }).map(([name, prepare]) => [name, arm(prepare)])
)

/** Why an arm is not for a case; a quick run has no time for all. */
export const unfit = (arm, { agent, name }, quick) =>
  arm === "codex-sdk" && agent !== "codex" || arm === "claude-agent-sdk" && agent !== "claude"
  || quick && !name.includes("lines of 500 B") && arm !== baseline && !arm.startsWith("ours")
