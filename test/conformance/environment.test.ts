/**
 * What an agent is started with.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as Effect from "effect/Effect"
import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import * as Fakes from "../utils/Fakes.js"
import { waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { conformance } from "./harness.js"

/** A variable of the host for the time of a test. */
const hostVariable = (name: string, value: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.env[name]
      process.env[name] = value
      return before
    }),
    (before) =>
      Effect.sync(() => {
        if (before === undefined) delete process.env[name]
        else process.env[name] = before
      })
  )

conformance("environment", (agent) => {
  const { layer, name, request } = agent
  const started = (fields: Parameters<typeof request>[1]) =>
    Effect.gen(function*() {
      const dump = join(yield* TempDir.make, "dump.json")
      yield* Agent.run(request({ name: "OK", dump }, fields))
      return yield* Fakes.readDump(dump)
    })

  it.scopedLive("minimal: what a program needs to run, and nothing else of the host", () =>
    Effect.gen(function*() {
      yield* hostVariable("SECRET_OF_THE_HOST", "hunter2")
      const { env } = yield* started({ env: { OWN: "1" } })
      assert.notProperty(env, "SECRET_OF_THE_HOST")
      assert.strictEqual(env["PATH"], process.env["PATH"])
      assert.strictEqual(env["HOME"], process.env["HOME"])
      assert.strictEqual(env["OWN"], "1")
      assert.isString(env["EFFECT_AGENTS_TREE"])
    }).pipe(Effect.provide(layer())))

  it.scopedLive("inherit: all of the host, but not the marks of an agent around it", () =>
    Effect.gen(function*() {
      const nesting = { claude: "CLAUDECODE", codex: "CODEX_THREAD_ID", copilot: "COPILOT_CLI" }[name]
      yield* hostVariable("SECRET_OF_THE_HOST", "hunter2")
      yield* hostVariable(nesting, "1")
      const { env } = yield* started({ envPolicy: "inherit" })
      assert.strictEqual(env["SECRET_OF_THE_HOST"], "hunter2")
      assert.notProperty(env, nesting)
      assert.isString(env["EFFECT_AGENTS_TREE"])
    }).pipe(Effect.provide(layer())))

  it.scopedLive("only: those that are named", () =>
    Effect.gen(function*() {
      yield* hostVariable("SECRET_OF_THE_HOST", "hunter2")
      yield* hostVariable("WANTED", "yes")
      const { env } = yield* started({ envPolicy: { only: ["WANTED", "NOT_SET_ANYWHERE"] } })
      assert.strictEqual(env["WANTED"], "yes")
      assert.notProperty(env, "SECRET_OF_THE_HOST")
      assert.notProperty(env, "NOT_SET_ANYWHERE")
      assert.notProperty(env, "HOME")
      assert.isString(env["EFFECT_AGENTS_TREE"])
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the variables of the request beat those of the host", () =>
    Effect.gen(function*() {
      yield* hostVariable("SHARED", "of the host")
      assert.strictEqual((yield* started({ envPolicy: "inherit", env: { SHARED: "own" } })).env["SHARED"], "own")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("every run has a folder for temporary files, and it goes with the run", () =>
    Effect.gen(function*() {
      const folder = yield* TempDir.make
      const dumps = [join(folder, "first"), join(folder, "second")]
      const paths = yield* Effect.forEach(dumps, (dump) =>
        Effect.scoped(Effect.gen(function*() {
          const run = yield* Agent.start(request({ name: "OK", dump }))
          yield* run.outcome
          return (yield* Fakes.readDump(dump)).env["TMPDIR"]!
        })))
      assert.notStrictEqual(paths[0], paths[1])
      for (const path of paths) assert.isFalse(existsSync(path), path)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the folder is there while the run is, for nobody else to read", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const seen = yield* Effect.scoped(Effect.gen(function*() {
        const steps = [{ do: "start" }, { do: "idle" }]
        const dump = join(state, "dump")
        yield* Agent.start(request({ steps, dump }))
        yield* waitUntil("it has started", Effect.sync(() => existsSync(dump)))
        const path = (yield* Fakes.readDump(dump)).env["TMPDIR"]!
        assert.strictEqual(statSync(path).mode & 0o077, 0)
        return path
      }))
      assert.isFalse(existsSync(seen))
    }).pipe(Effect.provide(layer())))

  it.scopedLive("works where it is told to", () =>
    Effect.gen(function*() {
      const cwd = yield* TempDir.make
      assert.strictEqual((yield* started({ cwd })).cwd, cwd)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("prompts of any form arrive as they are", () =>
    Effect.gen(function*() {
      const prompts = [
        "--help",
        "-",
        "-p",
        "exec",
        "resume",
        "two\nlines \"quoted\" $HOME `ls`",
        "grüße 🙂",
        "  padded  ",
        "x".repeat(300 * 1024)
      ]
      for (const prompt of prompts) {
        const seen = yield* started({ prompt })
        assert.strictEqual(seen.prompt, prompt)
      }
    }).pipe(Effect.provide(layer())))

  it.scopedLive("system prompts of any length", () =>
    Effect.gen(function*() {
      for (const system of ["Be brief.", "s".repeat(300 * 1024)]) {
        const seen = yield* started({ system })
        assert.isTrue(seen.argv.every((argument) => argument.length < 128 * 1024))
      }
    }).pipe(Effect.provide(layer())))

  it.scopedLive("arguments of the caller arrive unchanged", () =>
    Effect.gen(function*() {
      const extraArgs = ["--add-dir", "/somewhere else"]
      const { argv } = yield* started({ extraArgs })
      assert.include(argv.join("\0"), extraArgs.join("\0"))
    }).pipe(Effect.provide(layer())))

  it.scopedLive("every permission is a command line that the CLI takes", () =>
    Effect.gen(function*() {
      for (const permission of ["ReadOnly", "Plan", "Edit", "Auto", "Bypass"] as const) {
        const result = yield* Effect.either(started({ permission }))
        assert.isTrue(
          result._tag === "Right" || result.left._tag === "AgentUnsupported",
          `${permission}: ${result._tag === "Left" ? String(result.left) : ""}`
        )
      }
    }).pipe(Effect.provide(layer())))
})
