/**
 * Whatever an agent prints and does, in whatever pieces, and whatever its caller does meanwhile: one end, in time, and
 * nothing is left. Real processes, judged from outside. `EFFECT_AGENTS_PROPERTY_RUNS` makes it more than 30 runs,
 * `EFFECT_AGENTS_PROPERTY_SEED` those of another time.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import type * as AgentEvent from "effect-agents/AgentEvent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Approval from "effect-agents/Approval"
import * as Teardown from "effect-agents/Teardown"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expectGone, makeMark } from "../utils/Processes.js"
import { generated } from "./talker.js"

const runs = Number(process.env["EFFECT_AGENTS_PROPERTY_RUNS"] ?? 30)
const seed = Number(process.env["EFFECT_AGENTS_PROPERTY_SEED"] ?? Date.now() % 2 ** 31)

const takes = { "nothing": 0, "two": 2, "two and stops": 3, "all": Number.MAX_SAFE_INTEGER }

const reads: ReadonlyArray<keyof typeof takes> = ["nothing", "two", "two and stops", "all"]

/** What the agent is told to do. `cuts` are the sizes of the pieces that it prints, over and over. */
const program = FastCheck.record({
  steps: FastCheck.tuple(
    FastCheck.array(
      FastCheck.oneof(
        FastCheck.constantFrom(
          { type: "named", id: "one" },
          { type: "words" },
          { type: "retry" },
          { type: "cost", usd: 1 },
          { type: "answer", text: "done" }
        ).map((record) => ({ do: "say", record })),
        FastCheck.tuple(FastCheck.constantFrom("call", "returned", "ask", "withdraw"), FastCheck.nat(2)).map(
          ([type, id]) => ({ do: "say", record: { type, id: `${id}` } })
        ),
        FastCheck.nat(3_000).map((size) => ({ do: "say", record: { type: "new", pad: "漢🎉é".repeat(size / 3) } })),
        FastCheck.constantFrom("välkommen\n", "\n", "\u001b[31m{\"type\"\n", "{\"type\":\"answer\"", "{}\r\n", "[]\n")
          .map((
            text
          ) => ({ do: "raw", text })),
        FastCheck.nat(60).map((ms) => ({ do: "pause", ms })),
        FastCheck.constantFrom("child", "session", "daemon", "holder", "deaf").map((kind) => ({ do: "spawn", kind })),
        FastCheck.constant({ do: "complain", text: "fake: something\n" })
      ),
      { maxLength: 14, size: "max" }
    ),
    FastCheck.constantFrom(
      [{ do: "exit", code: 0 }],
      [{ do: "exit", code: 3 }],
      [{ do: "kill", signal: "SIGKILL" }],
      [{ do: "kill", signal: "SIGSEGV" }],
      [{ do: "close" }],
      []
    )
  ).map(([steps, end]) => [...steps, ...end]),
  cuts: FastCheck.array(FastCheck.integer({ min: 1, max: 200 }), { maxLength: 4 }),
  deaf: FastCheck.subarray(["hello", "message", "interrupt"]),
  stubborn: FastCheck.boolean()
})

/** What the caller does. */
const caller = FastCheck.record({
  interactive: FastCheck.boolean(),
  approve: FastCheck.constantFrom("nobody", "allows", "denies", "slow", "never", "fails"),
  reads: FastCheck.constantFrom(...reads),
  acts: FastCheck.array(
    FastCheck.record({ after: FastCheck.nat(150), act: FastCheck.constantFrom("send", "interrupt") }),
    { maxLength: 3 }
  ),
  /** After so many milliseconds; else when the run does. */
  ends: FastCheck.option(FastCheck.nat(400), { freq: 3 }),
  wall: FastCheck.integer({ min: 300, max: 1_200 })
})

class Doubt extends Data.TaggedError("Doubt")<{ readonly tool: string }> {}

const handlers: Readonly<Record<string, Approval.Handler<Doubt>>> = {
  allows: () => Effect.succeed(Approval.allow()),
  denies: () => Effect.succeed(Approval.deny("no")),
  slow: () => Effect.as(Effect.sleep("80 millis"), Approval.allow()),
  never: () => Effect.never,
  fails: ({ tool }) => Effect.fail(new Doubt({ tool }))
}

/** Beyond what the limit of time allows: the grace, what waits for an answer, the machine. */
const bound = 8_000

interface Case {
  readonly program: typeof program extends FastCheck.Arbitrary<infer A> ? A : never
  readonly caller: typeof caller extends FastCheck.Arbitrary<infer A> ? A : never
}

const tagOf = <A, E extends { readonly _tag: string }>(exit: Exit.Exit<A, E>): string => {
  if (Exit.isSuccess(exit)) return "success"
  assert.isFalse(Cause.isDie(exit.cause), Cause.pretty(exit.cause))
  const [failure] = Cause.failures(exit.cause)
  return failure?._tag ?? "interrupted"
}

const hangs = () => new Error("it hangs")

const seqOf = ({ seq }: AgentEvent.AgentEvent): number => seq

const play = ({ caller, program }: Case) =>
  Effect.gen(function*() {
    const mark = yield* makeMark
    const seen: Array<AgentEvent.AgentEvent> = []
    let asking = 0
    const approve = handlers[caller.approve]
    const request = AgentRequest.make({
      prompt: "play",
      interactive: caller.interactive,
      extraArgs: [JSON.stringify({ ...program, mark, interactive: caller.interactive || approve !== undefined })]
    })
    const began = performance.now()
    const whole = Effect.gen(function*() {
      const run = yield* Agent.start(request, {
        approve: approve === undefined
          ? undefined
          : (question) =>
            Effect.acquireUseRelease(
              Effect.sync(() => asking++),
              () => approve(question),
              () => Effect.sync(() => asking--)
            ),
        limits: { wall: caller.wall, afterResult: "200 millis" },
        replyWithin: "400 millis",
        interruptWithin: "200 millis",
        drain: "100 millis",
        teardown: Teardown.graceful("150 millis")
      })
      const reader = yield* run.events.pipe(
        Stream.take(takes[caller.reads]),
        Stream.runForEach((event) =>
          Effect.suspend(() => seen.push(event) === 2 && caller.reads === "two and stops" ? Effect.never : Effect.void)
        ),
        Effect.exit,
        Effect.forkScoped
      )
      const acting = yield* Effect.forEach(caller.acts, ({ act, after }) =>
        Effect.zipRight(Effect.sleep(after), act === "send" ? Effect.exit(run.send("and")) : run.interrupt)).pipe(
          Effect.forkScoped
        )
      if (caller.ends !== null) {
        return yield* Effect.sleep(caller.ends)
      }
      const end = yield* Effect.exit(run.outcome)
      yield* expectGone(mark)
      assert.deepStrictEqual(yield* run.tree.members, [])
      assert.strictEqual(yield* Effect.exit(run.outcome).pipe(Effect.map(tagOf)), tagOf(end), "one end")
      if (Exit.isSuccess(end)) {
        assert.strictEqual(end.value.teardown.verified, "empty")
      }
      assert.include(["AgentTurnEnded", "AgentUnsupported"], yield* Effect.map(Effect.exit(run.send("late")), tagOf))
      yield* run.interrupt
      yield* Fiber.join(acting)
      if (caller.reads === "all") {
        assert.strictEqual(tagOf(yield* Fiber.join(reader)), tagOf(end), "the events end so")
      }
    })
    yield* Effect.scoped(whole).pipe(
      Effect.timeoutFail({
        duration: caller.wall + bound,
        onTimeout: hangs
      }),
      Effect.orDie
    )
    const count = seen.length
    yield* expectGone(mark)
    assert.strictEqual(asking, 0, "a handler goes on")
    assert.isBelow(performance.now() - began, caller.wall + bound)
    assert.deepStrictEqual(
      seen.map(seqOf),
      seen.map((_, index) =>
        index
      ),
      "numbered without a gap"
    )
    yield* Effect.sleep("20 millis")
    assert.strictEqual(seen.length, count, "an event after the end")
    yield* expectGone(mark)
  }).pipe(
    Effect.scoped,
    Effect.tapErrorCause(() => Effect.sync(() => console.error("seed", seed, JSON.stringify({ caller, program }))))
  )

/** MiB in use once the garbage has gone. */
const heap = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
  return process.memoryUsage().heapUsed / 2 ** 20
})

describe("any run", () => {
  it.live("has one end, in time, and nothing is left of it", () =>
    Effect.gen(function*() {
      const cases = FastCheck.sample(FastCheck.record({ program, caller }), { numRuns: runs, seed })
      const [warm, ...others] = cases
      if (warm !== undefined) yield* play(warm)
      const before = yield* heap
      yield* Effect.forEach(others, play, { concurrency: 3, discard: true })
      assert.isBelow((yield* heap) - before, 20, "memory grows")
    }).pipe(Effect.provide(generated)), 60_000 + runs * 10_000)
})
