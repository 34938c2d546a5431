/** The peers that read lines: each is loaded first, then given the program. */
import { spawn } from "node:child_process"
import { crateProgram } from "./ready.mjs"

const count = async (lines, isLine) => {
  let count = 0
  for await (const line of lines) if (isLine(line)) count++
  return { count }
}

const parses = (line) => typeof JSON.parse(line).type === "string"

export const execa = async () => {
  const { execa } = await import("execa")
  return (program) => count(execa(program, { buffer: false, stdin: "ignore", stderr: "ignore" }), parses)
}

export const tinyexec = async () => {
  const { x } = await import("tinyexec")
  return (program) => count(x(program), parses)
}

export const effect4 = async () => {
  const [ChildProcess, NodeServices, Effect, Schema, Stream] = await Promise.all([
    import("effect/process/ChildProcess"),
    import("@effect/platform-node/NodeServices"),
    import("effect/Effect"),
    import("effect/Schema"),
    import("effect/Stream")
  ])
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ type: Schema.String })))
  return async (program) => {
    let count = 0
    await Effect.gen(function*() {
      const { stdout } = yield* ChildProcess.make(program, [], { stdin: "ignore", stderr: "ignore" })
      yield* stdout.pipe(
        Stream.decodeText(),
        Stream.splitLines,
        Stream.mapEffect(decode),
        Stream.runForEach(() => Effect.sync(() => void count++))
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer), Effect.runPromise)
    return { count }
  }
}

export const codex = async () => {
  const { Codex } = await import("@openai/codex-sdk")
  // It listens for no error of the standard input, which a program that ends early gives it.
  process.on("uncaughtException", (error) => error.code === "EPIPE" || process.exit(1))
  return async (program) => {
    const thread = new Codex({ codexPathOverride: program }).startThread()
    return count((await thread.runStreamed("go on")).events, () => true)
  }
}

export const claude = async () => {
  const { query } = await import("@anthropic-ai/claude-agent-sdk")
  return (program) =>
    count(
      query({ prompt: "go on", options: { pathToClaudeCodeExecutable: program, includePartialMessages: true } }),
      () => true
    )
}

/** Measures itself: what it takes is not this process's. Several lines may be one event of it. */
export const crate = async () => (program, agent) =>
  new Promise((resolve, reject) => {
    const child = spawn(crateProgram, ["events", agent, program], { stdio: ["ignore", "pipe", "inherit"] })
    let said = ""
    child.stdout.on("data", (chunk) => said += chunk)
    child.once("error", reject)
    child.once("close", (code) =>
      code === 0 ? resolve({ ...JSON.parse(said), count: Infinity }) : reject(new Error(`ended with ${code}`)))
  })
