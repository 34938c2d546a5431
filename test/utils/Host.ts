/**
 * A program that uses the library, as a process of its own: for what happens when a host gets a signal, exits or crashes.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { waitUntil } from "./Processes.js"
import * as TempDir from "./TempDir.js"

interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

interface Host {
  readonly pid: number
  /** Everything it has printed so far, both outputs. */
  readonly output: Effect.Effect<string>
  /** Waits until it has printed `text`. */
  readonly says: (text: string) => Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  readonly exit: Effect.Effect<Exit>
}

const root = fileURLToPath(new URL("../..", import.meta.url))

/**
 * Runs a TypeScript program by the Node of the tests. `input` is written to a file whose path is the program's only
 * argument: neither its arguments nor its environment carry the mark of a test. It is killed at the end of the scope.
 */
export const start = (script: URL, input: unknown): Effect.Effect<Host, never, Scope.Scope> =>
  Effect.gen(function*() {
    const file = join(yield* TempDir.make, "input.json")
    const ended = yield* Deferred.make<Exit>()
    let printed = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        writeFileSync(file, JSON.stringify(input))
        const started = spawn(process.execPath, ["--import", "tsx", fileURLToPath(script), file], {
          cwd: root,
          stdio: ["ignore", "pipe", "pipe"]
        })
        for (const output of [started.stdout, started.stderr]) {
          output.setEncoding("utf8").on("data", (text: string) => {
            printed += text
          })
        }
        started.on("exit", (code, signal) => Deferred.unsafeDone(ended, Effect.succeed({ code, signal })))
        return started
      }),
      (started) =>
        Effect.sync(() => {
          if (started.exitCode === null && started.signalCode === null) started.kill("SIGKILL")
        })
    )
    const output = Effect.sync(() => printed)
    return {
      pid: child.pid ?? 0,
      output,
      says: (text) =>
        waitUntil(
          `the host says ${text}`,
          Effect.sync(() => {
            if (printed.includes(text)) return true
            if (child.exitCode === null && child.signalCode === null) return false
            throw new Error(`the host ended without saying ${text}:\n${printed}`)
          }),
          { deadline: "20 seconds" }
        ),
      signal: (signal) => Effect.sync(() => child.kill(signal)),
      exit: Deferred.await(ended)
    }
  })
