/**
 * What runs may fail with and what they need flows through all of them, no more and no less: checked by the compiler.
 */
import { assert, describe, it } from "@effect/vitest"
import type * as Agent from "effect-agents/Agent"
import type * as AgentError from "effect-agents/AgentError"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Fleet from "effect-agents/Fleet"
import type * as ProcessTree from "effect-agents/ProcessTree"
import * as Worktree from "effect-agents/Worktree"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

class One extends Context.Tag("test/One")<One, number>() {}
class Two extends Context.Tag("test/Two")<Two, string>() {}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const same = <A, B>(_: Same<A, B>): void => {}

/** Needs a service and a scope, and may fail. */
const one = Effect.acquireRelease(One, () => Effect.void).pipe(Effect.filterOrFail((n) => n > 0, () => "none" as const))
const two = Effect.flatMap(
  Two,
  (text) => Effect.if(text === "", { onTrue: () => Effect.fail(0), onFalse: () => Effect.succeed(text) })
)

const provided = <A, E>(self: Effect.Effect<A, E, One | Two>) =>
  self.pipe(Effect.provideService(One, 1), Effect.provideService(Two, "two"))

describe("types", () => {
  it.effect("of a race", () =>
    Effect.gen(function*() {
      const raced = Fleet.race({ one, two })
      same<
        typeof raced,
        Effect.Effect<
          Fleet.Raced<"one" | "two", number | string, "none" | number>,
          Fleet.RaceFailed<"one" | "two", "none" | number>,
          One | Two
        >
      >(true)
      assert.include([1, "two"], (yield* provided(raced)).value)
    }))

  it.effect("of a fan-out", () =>
    Effect.gen(function*() {
      const all = Fleet.forEach([1, 2], () => one, { concurrency: 2 })
      same<typeof all, Effect.Effect<ReadonlyArray<number>, "none", One>>(true)
      const collected = Fleet.forEach([1, 2], () => one, { concurrency: 2, mode: "collect" })
      same<typeof collected, Effect.Effect<ReadonlyArray<Exit.Exit<number, "none">>, never, One>>(true)
      assert.deepStrictEqual(yield* provided(all), [1, 1])
      assert.strictEqual((yield* provided(collected)).length, 2)
    }))

  it.effect("of a pool", () =>
    Effect.gen(function*() {
      const pool = yield* Fleet.pool({ size: 1, queue: 0 })
      const permitted = pool.withPermit(one)
      same<typeof permitted, Effect.Effect<number, "none" | AgentError.FleetFull, One>>(true)
      assert.strictEqual(yield* provided(permitted), 1)
    }).pipe(Effect.scoped))

  it("of supervision, a private config home and a worktree", () => {
    const request = AgentRequest.make({ prompt: "" })
    const supervised = Fleet.supervise(request, Schedule.tapOutput(Schedule.recurs(1), () => One), {
      approve: () => Effect.zipRight(Two, Effect.fail("no" as const))
    })
    same<typeof supervised, Effect.Effect<Fleet.Supervised, Fleet.SuperviseFailed | "no", Agent.Agent | One | Two>>(
      true
    )
    const isolated = Fleet.isolated(request)
    type Files = ProcessTree.Spawner | FileSystem.FileSystem | Path.Path | Scope.Scope
    same<
      typeof isolated,
      Effect.Effect<
        AgentRequest.AgentRequest,
        AgentError.AgentUnsupported | AgentError.AgentSpawnError,
        Agent.Agent | Files
      >
    >(true)
    const worktree = Worktree.make({ repo: "." })
    same<typeof worktree, Effect.Effect<Worktree.Worktree, Worktree.WorktreeError, Files>>(true)
  })
})
