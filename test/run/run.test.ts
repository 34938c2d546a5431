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
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"

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

const answer = AgentRequest.make({ prompt: "echo '{\"type\":\"answer\",\"text\":\"done\"}'" })

describe("run", () => {
  it.live("a driver that throws does not look like a stream that has come to its end", () =>
    Effect.gen(function*() {
      const prompt = "echo '{\"type\":\"throw\"}'"
      const exit = yield* Effect.exit(Stream.runDrain(Agent.stream(AgentRequest.make({ prompt }))))
      assert.isTrue(exit._tag === "Failure" && Cause.isDie(exit.cause))
    }).pipe(Effect.provide(Agent.layer(driver)), Effect.provide(NodeProcessTree.layer)))

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
    }).pipe(Effect.provide(Agent.layer(driver)), Effect.provide(NodeProcessTree.layer)))

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
        Effect.provide(Layer.provide(Agent.layer(driver), layer("the agent's"))),
        Effect.provide(layer("the caller's"))
      )
      assert.strictEqual(outcome.text, "done")
      assert.deepStrictEqual(yield* Ref.get(started), ["the agent's"])
    }))
})
