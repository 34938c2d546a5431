/** The peers that end what they started: each is loaded first, then starts the program, and gives how to end it. */
import { spawn } from "node:child_process"
import { chmodSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { crateProgram } from "./ready.mjs"

const gone = (child) => new Promise((resolve) => child.once("exit", resolve))

export const treeKill = async (grace) => {
  const { default: treeKill } = await import("tree-kill")
  return async (program) => {
    const child = spawn(program, { stdio: "ignore" })
    return async () => {
      const exit = gone(child)
      const asked = new Promise((resolve) => treeKill(child.pid, "SIGTERM", resolve))
      const timer = setTimeout(() => treeKill(child.pid, "SIGKILL"), grace)
      await Promise.all([asked, exit])
      clearTimeout(timer)
    }
  }
}

const cancelled = (execa, options) => async (program) => {
  const controller = new AbortController()
  const child = execa(program, { cancelSignal: controller.signal, stdio: "ignore", reject: false, ...options })
  return () => {
    controller.abort()
    return child
  }
}

export const execa = async (grace) => cancelled((await import("execa")).execa, { forceKillAfterDelay: grace })

export const execa10 = async (grace) =>
  cancelled((await import("execa-10")).execa, { forceKillAfterDelay: grace, killDescendants: true })

export const effect4 = async (grace) => {
  const [ChildProcess, NodeServices, Effect, Exit, Scope] = await Promise.all([
    import("effect/process/ChildProcess"),
    import("@effect/platform-node/NodeServices"),
    import("effect/Effect"),
    import("effect/Exit"),
    import("effect/Scope")
  ])
  return async (program) => {
    const scope = Effect.runSync(Scope.make())
    const options = { stdin: "ignore", stdout: "ignore", stderr: "ignore", forceKillAfter: `${grace} millis` }
    await ChildProcess.make(program, [], options).pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.provide(NodeServices.layer),
      Effect.runPromise
    )
    return () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const read = async (events) => {
  try {
    for await (const _ of events);
  } catch {
    // that of the abort
  }
}

export const codex = async () => {
  const { Codex } = await import("@openai/codex-sdk")
  return async (program) => {
    const controller = new AbortController()
    const thread = new Codex({ codexPathOverride: program }).startThread()
    const { events } = await thread.runStreamed("go on", { signal: controller.signal })
    const end = read(events)
    return () => {
      controller.abort()
      return end
    }
  }
}

/** For those who first close the standard input, and wait: a polite leader ends with it. */
const env = { ...process.env, ENDS_WITH_INPUT: "1" }

export const claude = async () => {
  const { query } = await import("@anthropic-ai/claude-agent-sdk")
  return async (program) => {
    const abortController = new AbortController()
    const end = read(query({ prompt: "go on", options: { abortController, pathToClaudeCodeExecutable: program, env } }))
    return () => {
      abortController.abort()
      return end
    }
  }
}

/** An agent of the Agent Client Protocol until it is asked, then the leader. */
const protocol = (program) =>
  `#!/bin/sh
while read -r line; do
  id=\${line#*\\"id\\":}
  id=\${id%%[!0-9]*}
  case $line in
  *'"initialize"'*) echo "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$id,\\"result\\":{\\"protocolVersion\\":1,\\"agentCapabilities\\":{}}}" ;;
  *'"session/new"'*) echo "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$id,\\"result\\":{\\"sessionId\\":\\"one\\"}}" ;;
  *'"session/prompt"'*) exec '${program}' ;;
  esac
done
`

export const acpx = async () => async (program) => {
  const agent = `${program}-of-acpx`
  writeFileSync(agent, protocol(program))
  chmodSync(agent, 0o755)
  const cli = fileURLToPath(new URL("node_modules/acpx/dist/cli.js", import.meta.url))
  const child = spawn(process.execPath, [cli, "--agent", agent, "exec", "go on"], { stdio: "ignore", env })
  return () => {
    const exit = gone(child)
    child.kill("SIGINT")
    return exit
  }
}

/** It is told, and tells, by lines; what it measures is its own. */
export const crate = async () => {
  const child = spawn(crateProgram, ["end"], { stdio: ["pipe", "pipe", "ignore"] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  process.once("exit", () => child.kill("SIGKILL"))
  return async (program) => {
    child.stdin.write(`${program}\n`)
    return async () => {
      child.stdin.write("end\n")
      return JSON.parse((await lines.next()).value)
    }
  }
}
