/**
 * The three drivers on the fakes, all in the same words.
 */
import { assert, describe } from "@effect/vitest"
import type * as Agent from "effect-agents/Agent"
import type { AgentError } from "effect-agents/AgentError"
import type * as AgentEvent from "effect-agents/AgentEvent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import type * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Fakes from "../utils/Fakes.js"
import { expectGone, makeMark } from "../utils/Processes.js"

/** Short enough for a suite, long enough for a polite process on a busy machine. */
export const brief = Teardown.graceful("300 millis")

type Fields = Omit<Parameters<typeof AgentRequest.make>[0], "prompt"> & { readonly prompt?: string | undefined }

export interface Tested {
  readonly name: Fakes.Name
  readonly layer: (options?: Agent.Options) => Layer.Layer<Agent.Agent | ProcessTree.Spawner>
  /** A request that makes the fake play the scenario. */
  readonly request: (scenario: Fakes.Scenario, fields?: Fields) => AgentRequest.AgentRequest
}

const layers = { claude: Claude.layer, codex: Codex.layer, copilot: Copilot.layer }

const tested = (name: Fakes.Name): Tested => ({
  name,
  layer: (options) =>
    layers[name]({ program: Fakes.program(name), teardown: brief, ...options }).pipe(
      Layer.provideMerge(NodeProcessTree.layer)
    ),
  request: (scenario, fields) =>
    AgentRequest.make({
      ...fields,
      prompt: fields?.prompt ?? "Do it",
      env: { ...Fakes.environment(scenario), ...fields?.env }
    })
})

const agents: ReadonlyArray<Tested> = [tested("claude"), tested("codex"), tested("copilot")]

/** The same tests for each driver. */
export const conformance = (title: string, define: (agent: Tested) => void): void => {
  for (const agent of agents) describe(`${title}: ${agent.name}`, () => define(agent))
}

/**
 * Gives a test its mark, and asserts at its end that nothing carries it any more, before the reaper looks.
 */
export const marked = <A, E, R>(body: (mark: string) => Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const mark = yield* makeMark
    const result = yield* body(mark)
    yield* expectGone(mark)
    return result
  })

/** The error of a run, by its tag. */
export const failsWith = <Tag extends AgentError["_tag"], A, E extends { readonly _tag: string }, R>(
  tag: Tag,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Extract<E, { readonly _tag: Tag }>, never, R> =>
  Effect.matchEffect(effect, {
    onSuccess: (value) => Effect.dieMessage(`expected ${tag}, but: ${JSON.stringify(value)}`),
    onFailure: (error) =>
      Effect.sync(() => {
        assert.strictEqual(error._tag, tag, String(error))
        return error as Extract<E, { readonly _tag: Tag }> // the tag has just been compared
      })
  })

export const tags = (events: Iterable<AgentEvent.AgentEvent>): ReadonlyArray<AgentEvent.AgentEvent["_tag"]> =>
  Array.from(events, (event) => event._tag)
