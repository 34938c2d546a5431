/**
 * The pool: any interleaving on the test clock, and real runs counted from outside.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentError from "effect-agents/AgentError"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Fleet from "effect-agents/Fleet"
import type * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as onReport from "../../src/internal/kernel/onReport.js"
import { conformance, marked } from "../conformance/harness.js"
import { aliveWith, expectGone, waitForSleepers, waitUntil } from "../utils/Processes.js"

const steps = FastCheck.integer({ min: 0, max: 30 })

const worker = FastCheck.record({
  asks: steps,
  holds: steps,
  fails: FastCheck.boolean(),
  interrupted: FastCheck.option(steps, { nil: undefined })
})

const programs = FastCheck.record({
  size: FastCheck.integer({ min: 1, max: 3 }),
  queue: FastCheck.integer({ min: 0, max: 5 }),
  workers: FastCheck.array(worker, { minLength: 1, maxLength: 12 })
})

/** Time without a clock: so many turns of the other fibers. */
const wait = (turns: number) => Effect.repeatN(Effect.yieldNow(), turns)

const lives = (live: Ref.Ref<number>) =>
  Effect.acquireRelease(
    Ref.update(live, (n) => n + 1),
    () => Effect.zipRight(wait(3), Ref.update(live, (n) => n - 1))
  )

/** A run without a process: it lives until its scope closes. */
const stand = (live: Ref.Ref<number>): Agent.Agent["Type"] => ({
  name: "stand-in",
  conversation: () =>
    Effect.succeed({
      agent: "stand-in",
      session: Effect.succeed(undefined),
      turn: () => Effect.never,
      start: () => Effect.dieMessage("a turn is enough")
    }),
  plan: () => Effect.fail(new AgentError.AgentUnsupported({ agent: "stand-in", what: "plans" })),
  probe: () => Effect.dieMessage("not asked"),
  start: () =>
    lives(live).pipe(
      Effect.as({
        agent: "stand-in",
        events: Stream.empty,
        outcome: Effect.never,
        session: Effect.never
      } as never) // only its life is of interest
    )
})

const request = AgentRequest.make({ prompt: "" })

const survivor: ProcessTree.Member = {
  pid: 2,
  parent: 1,
  group: 2,
  session: 2,
  startTime: 1,
  state: "D",
  command: "stuck",
  by: "leader"
}

const withSurvivor = Teardown.TeardownReport.make({
  pid: 2,
  command: "stuck",
  reason: "completed",
  steps: [],
  killed: [],
  survivors: [Teardown.SurvivingProcess.make({
    pid: 2,
    startTime: 1,
    command: "stuck",
    by: "leader",
    why: "uninterruptible"
  })],
  verified: "survivors",
  layers: [],
  notes: [],
  looks: 1,
  outputHeld: false,
  durationMs: 1
})

describe("pool", () => {
  for (const way of ["withPermit", "wrap"] as const) {
    it.effect(`${way}: whatever comes between, no place is lost, the cap holds, and the order is kept`, () =>
      Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(programs, ({ queue, size, workers }) =>
            Effect.runPromise(Effect.scoped(Effect.gen(function*() {
              const pool = yield* Fleet.pool({ size, queue })
              const live = yield* Ref.make(0)
              const agent = pool.wrap(stand(live))
              const waited: Array<number> = []
              const got: Array<number> = []
              const ask = (id: number) =>
                Effect.map(pool.status, ({ live, waiting }) => {
                  assert.isTrue(waiting === 0 || live === size, "a place is free while somebody waits for it")
                  if (live === size && waiting < queue) {
                    waited.push(id)
                  }
                })
              const hold = (id: number, holds: number) =>
                Effect.gen(function*() {
                  got.push(id)
                  assert.isAtMost(yield* Ref.get(live), size)
                  yield* wait(holds)
                })
              const run = (id: number, { fails, holds }: (typeof workers)[number]) =>
                Effect.zipRight(
                  ask(id),
                  way === "wrap"
                    ? Effect.scoped(Effect.zipRight(agent.start(request), hold(id, holds)))
                    : pool.withPermit(Effect.zipRight(lives(live), hold(id, holds)))
                ).pipe(
                  Effect.zipRight(fails ? Effect.fail("failed") : Effect.void)
                )
              const exits = yield* Effect.forEach(workers, (one, id) =>
                Effect.gen(function*() {
                  yield* wait(one.asks)
                  const fiber = yield* Effect.fork(run(id, one))
                  if (one.interrupted === undefined) {
                    return yield* Fiber.await(fiber)
                  }
                  yield* wait(one.interrupted)
                  return yield* Fiber.interrupt(fiber)
                }), { concurrency: "unbounded" })
              assert.strictEqual(yield* Ref.get(live), 0)
              assert.deepStrictEqual(yield* pool.status, { size, live: 0, queue, waiting: 0 })
              const served = got.filter((id) =>
                waited.includes(id)
              )
              assert.deepStrictEqual(served, waited.filter((id) => got.includes(id)), "the order of the queue")
              for (const exit of exits) {
                if (Exit.isFailure(exit) && !Exit.isInterrupted(exit) && workers.length <= size + queue) {
                  assert.include(String(exit.cause), "failed", "nobody is refused while there is room")
                }
              }
            })))),
          { numRuns: 500 }
        )
      ))
  }

  it.effect("who comes when places and queue are full is refused with the numbers, also by a wrapped agent", () =>
    Effect.gen(function*() {
      const pool = yield* Fleet.pool({ size: 1, queue: 1 })
      yield* Effect.fork(pool.withPermit(Effect.never))
      const waiter = yield* Effect.fork(pool.withPermit(Effect.never))
      yield* Effect.yieldNow()
      const live = yield* Ref.make(0)
      const error = yield* Effect.flip(Effect.scoped(pool.wrap(stand(live)).start(request)))
      assert.strictEqual(error._tag, "FleetFull")
      assert.isTrue(AgentError.isTransient(error))
      assert.deepInclude({ ...error }, { size: 1, live: 1, queue: 1, waiting: 1 })
      yield* Fiber.interrupt(waiter)
      assert.deepStrictEqual(yield* pool.status, { size: 1, live: 1, queue: 1, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("one without a place is a mistake, and not a wait without end", () =>
    Effect.gen(function*() {
      for (const options of [{ size: 0, queue: 1 }, { size: Number.NaN, queue: 1 }, { size: 1, queue: -1 }]) {
        const exit = yield* Effect.exit(Fleet.pool(options))
        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause), JSON.stringify(options))
      }
    }).pipe(Effect.scoped))

  it.effect("starts are at least so far apart, and whoever is interrupted before his gives the place back", () =>
    Effect.gen(function*() {
      const pool = yield* Fleet.pool({ size: 3, queue: 9, stagger: "1 second" })
      const starts: Array<number> = []
      const note = Effect.tap(Clock.currentTimeMillis, (at) => starts.push(at))
      const fibers = yield* Effect.replicateEffect(Effect.fork(pool.withPermit(note)), 3)
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(fibers[1] ?? fibers[0]!)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(starts, [0, 1000])
      assert.strictEqual((yield* pool.status).live, 0)
    }).pipe(Effect.scoped))
})

conformance("pool", (agent) => {
  it.scopedLive("at most so many trees live, seen from outside", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const pooled = Fleet.pooled(agent.layer()).pipe(Layer.provide(Fleet.layerPool({ size: 2, queue: 9 })))
        let most = 0
        const run = () =>
          Agent.start(agent.request({ name: "F-DAEMON", mark }), { teardown: Teardown.graceful("50 millis") }).pipe(
            Effect.zipRight(waitForSleepers(mark, 2)),
            Effect.zipRight(aliveWith(mark)),
            Effect.tap((alive) => {
              // What a fake is just about to start looks like another one, whose parent it is.
              const fakes = alive.filter(({ command }) => command.includes("fake-cli"))
              const leaders = fakes.filter(({ parent }) => fakes.every(({ pid }) => pid !== parent))
              most = Math.max(most, leaders.length)
            }),
            Effect.scoped
          )
        yield* Effect.forEach([1, 2, 3, 4, 5], run, { concurrency: "unbounded" }).pipe(Effect.provide(pooled))
        yield* expectGone(mark)
        assert.strictEqual(most, 2)
      })
    ))
})

conformance("a place", (agent) => {
  it.scopedLive("is given back when the tree is empty, and not before", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const pool = yield* Fleet.pool({ size: 1, queue: 1 })
        const inner = yield* Agent.Agent
        const next = yield* Effect.scoped(Effect.gen(function*() {
          yield* pool.wrap(inner).start(agent.request({ name: "F-DAEMON", mark }))
          yield* waitForSleepers(mark, 2)
          const next = yield* Effect.forkDaemon(pool.withPermit(expectGone(mark)))
          yield* waitUntil("the next one waits", Effect.map(pool.status, ({ waiting }) => waiting === 1))
          return next
        }))
        yield* Fiber.join(next)
      }).pipe(Effect.provide(agent.layer()))
    ))
})

describe("a place", () => {
  for (const way of ["run", "conversation", "withPermit"] as const) {
    it.scopedLive(`stays taken while something survives of the ${way}`, () =>
      Effect.gen(function*() {
        const pool = yield* Fleet.pool({ size: 1, queue: 1 })
        const survives = yield* Ref.make(true)
        const members = Effect.map(Ref.get(survives), (left) => left ? [survivor] : [])
        const inner = stand(yield* Ref.make(0))
        // No test can make a process that hangs in the kernel, so the Spawner's word for it is spoken here.
        const tree = Effect.flatMap(FiberRef.get(onReport.current), (tell) =>
          Effect.addFinalizer(() => tell(withSurvivor, members)))
        const agent = pool.wrap({
          ...inner,
          start: (...args) =>
            Effect.zipRight(tree, inner.start(...args)),
          conversation: (...args) =>
            Effect.flatMap(Effect.scope, (scope) =>
              Effect.map(inner.conversation(...args), (conversation) => ({
                ...conversation,
                turn: () => Effect.zipRight(Scope.extend(tree, scope), Effect.interrupt)
              })))
        })
        const ways = {
          run: agent.start(request),
          conversation: Effect.flatMap(agent.conversation({}), ({ turn }) => Effect.exit(turn("hello"))),
          withPermit: pool.withPermit(tree)
        }
        yield* Effect.scoped(ways[way])
        yield* Effect.sleep("50 millis")
        assert.strictEqual((yield* pool.status).live, 1)
        yield* Ref.set(survives, false)
        yield* waitUntil("the place is free", Effect.map(pool.status, ({ live }) => live === 0))
      }))
  }

  it.effect("is taken by a conversation from its first turn until its end", () =>
    Effect.gen(function*() {
      const pool = yield* Fleet.pool({ size: 1, queue: 0 })
      const agent = pool.wrap(stand(yield* Ref.make(0)))
      yield* Effect.scoped(Effect.gen(function*() {
        const { turn } = yield* agent.conversation({})
        assert.strictEqual((yield* pool.status).live, 0)
        const turns = yield* Effect.replicateEffect(Effect.fork(turn("hello")), 2)
        yield* wait(5)
        for (const turn of turns) assert.isTrue(Option.isNone(yield* Fiber.poll(turn)), "both go on, in one place")
        yield* Fiber.interruptAll(turns)
        assert.strictEqual((yield* pool.status).live, 1)
        const other = yield* agent.conversation({})
        const error = yield* Effect.flip(other.turn("hello"))
        assert.strictEqual(error._tag, "FleetFull")
      }))
      assert.strictEqual((yield* pool.status).live, 0)
    }).pipe(Effect.scoped))

  it.effect("is free again at once when the start fails", () =>
    Effect.gen(function*() {
      const pool = yield* Fleet.pool({ size: 1, queue: 0 })
      const refusal = new AgentError.AgentUnsupported({ agent: "none", what: "anything" })
      const { start } = pool.wrap({ ...stand(yield* Ref.make(0)), start: () => Effect.fail(refusal) })
      assert.strictEqual(yield* Effect.flip(start(request)), refusal)
      assert.strictEqual((yield* pool.status).live, 0)
      yield* Effect.scoped(Effect.flip(start(request)))
      assert.strictEqual((yield* pool.status).live, 0, "and given back once only")
    }).pipe(Effect.scoped))
})
