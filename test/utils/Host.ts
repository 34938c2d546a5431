/**
 * A program that uses the library, as a process of its own: for what happens when a host gets a signal, exits or crashes.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { build } from "esbuild"
import { spawn } from "node:child_process"
import { chownSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
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

/** The program and the guard, with all that they need, in a folder that is a user's own: the repository may not be theirs. */
const bundled = (script: URL, folder: string, user: number) =>
  Effect.promise(async () => {
    await build({
      entryPoints: [fileURLToPath(script), join(root, "dist/internal/kernel/guardMain.js")],
      entryNames: "[name]",
      outdir: folder,
      bundle: true,
      platform: "node",
      format: "esm",
      tsconfig: join(root, "tsconfig.base.json"),
      logLevel: "error"
    })
    writeFileSync(join(folder, "package.json"), "{\"type\":\"module\"}")
    chownSync(folder, user, user)
    return {
      args: [join(folder, `${basename(fileURLToPath(script), ".ts")}.js`)],
      cwd: folder,
      uid: user,
      gid: user,
      env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder }
    }
  })

/**
 * Runs a TypeScript program by the Node of the tests. `input` is written to a file whose path is the program's only
 * argument: neither its arguments nor its environment carry the mark of a test. It is killed at the end of the scope.
 */
export const start = (
  script: URL,
  input: unknown,
  options?: { readonly user?: number | undefined }
): Effect.Effect<Host, never, Scope.Scope> =>
  Effect.gen(function*() {
    const folder = yield* TempDir.make
    const file = join(folder, "input.json")
    const { args, ...more } = options?.user === undefined
      ? { args: ["--import", "tsx", fileURLToPath(script)], cwd: root }
      : yield* bundled(script, folder, options.user)
    const ended = yield* Deferred.make<Exit>()
    let printed = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        writeFileSync(file, JSON.stringify(input))
        const started = spawn(process.execPath, [...args, file], {
          ...more,
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
