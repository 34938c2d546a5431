/**
 * What the run loop owes to drivers and callers that it does not know, on a small driver of its own.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { mkdirSync, rmdirSync } from "node:fs"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as TempDir from "../utils/TempDir.js"

/** A shell as the agent: the prompt is its script. */
const driver: AgentDriver.AgentDriver<AgentDriver.Progress> = {
  name: "shell",
  executable: { names: ["sh"], directories: [], native: () => [], installHint: "", loginHint: "" },
  environment: [],
  nesting: [],
  teardown: Teardown.immediate,
  plan: (request) => Either.right({ args: request.extraArgs, env: {}, stdin: request.prompt, files: [] }),
  protocol: {
    initial: () => ({
      session: undefined,
      text: "",
      structured: undefined,
      usage: {},
      openToolCalls: [],
      terminal: undefined
    }),
    step: (state, record) => {
      if (record["type"] === "throw") throw new Error("a mistake in the driver")
      return record["type"] === "answer"
        ? { state: { ...state, text: String(record["text"]), terminal: { stop: "completed" } }, events: [] }
        : { state, events: [{ _tag: "Unknown", type: "other", raw: record }] }
    },
    progress: (state) => state,
    diagnose: () => undefined
  }
}

const shell = Layer.provideMerge(Agent.layer(driver), NodeProcessTree.layer)

const answer = AgentRequest.make({ prompt: "echo '{\"type\":\"answer\",\"text\":\"done\"}'" })

/** MiB in use once the garbage has gone. */
const heap = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
  return process.memoryUsage().heapUsed / 2 ** 20
})

describe("run", () => {
  it.live("a driver that throws does not look like a stream that has come to its end", () =>
    Effect.gen(function*() {
      const prompt = "echo '{\"type\":\"throw\"}'"
      const exit = yield* Effect.exit(Stream.runDrain(Agent.stream(AgentRequest.make({ prompt }))))
      assert.isTrue(exit._tag === "Failure" && Cause.isDie(exit.cause))
    }).pipe(Effect.provide(shell)))

  it.live("what cannot be handed over is refused without being shown", () =>
    Effect.gen(function*() {
      const refused = (fields: { readonly env?: Record<string, string>; readonly extraArgs?: Array<string> }) =>
        Effect.flip(Agent.run(AgentRequest.make({ prompt: "true", ...fields })))
      for (const fields of [{ env: { TOKEN: "hunter2\0" } }, { extraArgs: ["-c", "hunter2\0"] }]) {
        const error = yield* refused(fields)
        assert.strictEqual(error._tag, "AgentSpawnError")
        assert.include(error.message, "holds a NUL character")
        assert.notInclude(Cause.pretty(Cause.fail(error)), "hunter2")
      }
    }).pipe(Effect.provide(shell)))

  it.live("an agent starts its runs with the Spawner that it was given, whatever the caller has", () =>
    Effect.gen(function*() {
      const started = yield* Ref.make<ReadonlyArray<string>>([])
      const spawner = (name: string) =>
        Effect.map(NodeProcessTree.make(), (inner) =>
          ProcessTree.Spawner.of({
            ...inner,
            start: (command, options) =>
              Effect.zipRight(Ref.update(started, (names) => [...names, name]), inner.start(command, options))
          }))
      const layer = (name: string) =>
        Layer.provideMerge(Layer.effect(ProcessTree.Spawner, spawner(name)), NodeProcessTree.layer)
      const outcome = yield* Agent.run(answer).pipe(
        Effect.provide(Layer.merge(Layer.provide(Agent.layer(driver), layer("the agent's")), layer("the caller's")))
      )
      assert.strictEqual(outcome.text, "done")
      assert.deepStrictEqual(yield* Ref.get(started), ["the agent's"])
    }))

  it.live("a seal that cannot be had is told before anything is started; a run can do without", () =>
    Effect.gen(function*() {
      const PATH = process.env.PATH ?? ""
      const request = AgentRequest.make({ prompt: answer.prompt, env: { PATH } })
      process.env.PATH = "/nowhere"
      yield* Effect.addFinalizer(() => Effect.sync(() => void (process.env.PATH = PATH)))
      const error = yield* Effect.flip(Agent.run(request))
      assert.isTrue(error._tag === "AgentSpawnError" && error.reason === "containment", String(error))
      assert.include(error.message, "bwrap: not installed; unshare: not installed")
      assert.strictEqual((yield* Agent.run(request, { seal: "none" })).text, "done")
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.provideMerge(Agent.layer(driver, { seal: "namespace" }), NodeProcessTree.layer))
    ))

  const spawning = (change: (tree: ProcessTree.ProcessTree) => ProcessTree.ProcessTree) =>
    Layer.provideMerge(
      Layer.effect(
        ProcessTree.Spawner,
        Effect.map(ProcessTree.Spawner, (inner) =>
          ProcessTree.Spawner.of({
            ...inner,
            start: (command, options) => Effect.map(inner.start(command, options), change)
          }))
      ),
      NodeProcessTree.layer
    )

  it.live("a host that was busy when the agent ended reads what waits in the pipe", () =>
    Effect.gen(function*() {
      // Busy until after the silence is due; timers come next, and only then a look at what has arrived.
      const busy = Effect.async<void>((resume) => {
        setImmediate(() => {
          const end = performance.now() + 300
          while (performance.now() < end);
          setImmediate(() => resume(Effect.void))
        })
      })
      const layer = spawning((tree) => ({
        ...tree,
        stdout: Stream.unwrap(Effect.as(Effect.zipRight(tree.exit, busy), tree.stdout))
      }))
      const outcome = yield* Agent.run(answer, { drain: "100 millis" }).pipe(
        Effect.provide(Layer.provideMerge(Agent.layer(driver), layer))
      )
      assert.strictEqual(outcome.text, "done")
    }))

  it.live("long lines that are no records do not stay in memory", () =>
    Effect.gen(function*() {
      const before = yield* heap
      // 20 lines of 4 MiB.
      const prompt = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
        + "head -c 4194304 /dev/zero | tr '\\0' x; echo; done; sleep 300"
      const notices = yield* Agent.stream(AgentRequest.make({ prompt })).pipe(
        Stream.take(20),
        Stream.runCollect,
        Effect.zip(heap)
      )
      assert.strictEqual(notices[0].length, 20)
      assert.isBelow(notices[1] - before, 40)
    }).pipe(Effect.provide(shell)))

  it.live("however much an agent says, what is kept of it does not grow", () =>
    Effect.gen(function*() {
      const before = yield* heap
      const prompt = "line=$(head -c 64000 /dev/zero | tr '\\0' x); echo '{\"type\":\"begin\"}'; "
        + "while :; do printf '{\"type\":\"word\",\"pad\":\"%s\"}\\n' \"$line\"; done"
      const after = yield* Agent.stream(AgentRequest.make({ prompt })).pipe(
        Stream.drop(2_000),
        Stream.mapEffect(() => heap),
        Stream.runHead
      )
      assert.isBelow(Option.getOrThrow(after) - before, 40)
    }).pipe(Effect.provide(shell)))

  it.live("a line that no string can hold is refused, whatever the limit", () =>
    Effect.gen(function*() {
      const prompt = "head -c 530000000 /dev/zero | tr '\\0' x"
      const error = yield* Effect.flip(
        Agent.run(AgentRequest.make({ prompt }), { maxLineBytes: Number.POSITIVE_INFINITY })
      )
      assert.strictEqual(error._tag, "AgentLineTooLong")
    }).pipe(Effect.provide(shell)))

  it.scopedLive("the working directory of the host was removed", () =>
    Effect.gen(function*() {
      const home = process.cwd()
      const folder = yield* TempDir.make
      const gone = join(folder, "gone")
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          mkdirSync(gone)
          process.chdir(gone)
          rmdirSync(gone)
        }),
        () => Effect.sync(() => process.chdir(home))
      )
      const elsewhere = yield* Agent.run(AgentRequest.make({ ...answer, cwd: folder }))
      assert.strictEqual(elsewhere.text, "done")
      for (const cwd of [{}, { cwd: "sub" }, { cwd: ".." }]) {
        const error = yield* Effect.flip(Agent.run(AgentRequest.make({ prompt: answer.prompt, ...cwd })))
        assert.isTrue(error._tag === "AgentSpawnError" && error.reason === "cwd", String(error))
      }
    }).pipe(Effect.provide(shell)))

  it.live("without a home, nothing is looked for in the places of a home", () =>
    Effect.gen(function*() {
      const homeless = Layer.provideMerge(
        Layer.effect(
          ProcessTree.Spawner,
          Effect.map(ProcessTree.Spawner, (inner) =>
            ProcessTree.Spawner.of({
              ...inner,
              host: Effect.map(inner.host, (host) => ({ ...host, environment: { PATH: "/nowhere" } }))
            }))
        ),
        NodeProcessTree.layer
      )
      const wanted = { ...driver.executable, names: ["no-such-agent"], directories: ["~/bin", "/opt/no-such-place"] }
      const error = yield* Effect.flip(Agent.run(answer)).pipe(
        Effect.provide(Layer.provideMerge(Agent.layer({ ...driver, executable: wanted }), homeless))
      )
      assert.deepStrictEqual(error._tag === "AgentNotInstalled" ? error.looked : error, [
        "/nowhere",
        "/opt/no-such-place"
      ])
    }))

  it.live("what a killed leader leaves at work is not listened to for long, however much it says", () =>
    Effect.gen(function*() {
      // The loop is a child that goes on talking when the leader is killed; each word comes long before the drain is over.
      const prompt = "(while :; do echo '{\"type\":\"x\"}'; sleep 0.05; done) & wait"
      const error = yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(AgentRequest.make({ prompt }), { drain: "400 millis" })
        yield* Stream.runHead(run.events)
        yield* run.tree.signal("SIGKILL", "leader")
        return yield* Effect.timed(Effect.flip(run.outcome))
      }))
      const [took, failure] = error
      assert.strictEqual(failure._tag, "AgentFailed")
      // Ten drains are four seconds.
      assert.isBelow(Duration.toMillis(took), 2500)
    }).pipe(Effect.provide(shell)))

  const limited = { limits: { processes: 10 } }
  const crowd = "while :; do sleep 60 & done"

  it.live("a run whose processes go beyond a limit fails with what it had said until then, and names them", () =>
    Effect.gen(function*() {
      const prompt = `echo '{"type":"other"}'; ${crowd}`
      const error = yield* Effect.flip(Agent.run(AgentRequest.make({ prompt }), limited))
      if (error._tag !== "AgentLimitExceeded") return assert.fail(String(error))
      assert.strictEqual(error.limit, "processes")
      assert.strictEqual(error.allowed, 10)
      assert.isAbove(error.measured, 10)
      assert.match(error.message, /^shell: \d+ of at most 10 processes: (sleep|sh) \(\d+\) \d+/)
      assert.strictEqual(error.partial.resumable, "unknown")
      assert.strictEqual(error.partial.teardown?.reason, "limit")
      assert.strictEqual(error.partial.teardown?.verified, "empty")
      assert.isFalse(error.isTransient)
    }).pipe(Effect.provide(shell)))

  it.live("an answer that was complete before that is kept", () =>
    Effect.gen(function*() {
      const prompt = `${answer.prompt}; ${crowd}`
      const outcome = yield* Agent.run(AgentRequest.make({ prompt }), limited)
      assert.strictEqual(outcome.text, "done")
      assert.strictEqual(outcome.teardown.reason, "limit")
      assert.strictEqual(outcome.teardown.exceeded?.limit, "processes")
    }).pipe(Effect.provide(shell)))

  it.live("limits that cannot be kept to are refused before the start, and usage is told when asked for", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Agent.run(answer, { limits: { memoryBytes: 0.5 } }))
      assert.strictEqual(error._tag, "AgentSpawnError")
      assert.include(error.message, "memoryBytes is 0.5")
      const prompt = `sleep 0.4; ${answer.prompt}`
      const { teardown } = yield* Agent.run(AgentRequest.make({ prompt }), { usage: true })
      assert.strictEqual(teardown.usage?.peakProcesses, 2)
    }).pipe(Effect.provide(shell)))
})
