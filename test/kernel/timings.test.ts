/**
 * How long a teardown takes. Printed, not judged: only what no machine should need fails.
 */
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { expectGone, makeMark, waitForSleepers } from "../utils/Processes.js"
import { seconds, sh } from "./support.js"

const median = (numbers: ReadonlyArray<number>): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

/** Milliseconds from the interruption to its end, in which the tree was verified to be empty. */
const interrupted = (script: string, sleepers: number, teardown: Teardown.Teardown) =>
  Effect.gen(function*() {
    const mark = yield* makeMark
    const run = Effect.scoped(Effect.zipRight(ProcessTree.start(sh(script, seconds(mark)), { teardown }), Effect.never))
    const fiber = yield* Effect.fork(run)
    yield* waitForSleepers(mark, sleepers)
    const before = yield* Clock.currentTimeNanos
    yield* Fiber.interrupt(fiber)
    const after = yield* Clock.currentTimeNanos
    yield* expectGone(mark)
    return Number(after - before) / 1e6
  }).pipe(Effect.scoped, Effect.provide(NodeProcessTree.layer))

const many = (count: number) => `i=0; while [ $i -lt ${count} ]; do i=$((i+1)); sleep $1 & done; wait`

describe("from the interruption to verified empty", () => {
  const measure = (what: string, times: number, script: string, sleepers: number, teardown: Teardown.Teardown) =>
    it.scopedLive(what, () =>
      Effect.gen(function*() {
        const taken = yield* Effect.replicateEffect(interrupted(script, sleepers, teardown), times)
        yield* Console.log(
          `${what}: median ${median(taken).toFixed(1)} ms of ${times}, best ${Math.min(...taken).toFixed(1)}`
        )
        assert.isBelow(median(taken), 10_000)
      }))

  measure("a polite tree of three", 15, "sleep $1 & setsid sleep $1 & wait", 2, Teardown.graceful("20 seconds"))
  measure("a polite tree of three hundred", 1, many(300), 300, Teardown.graceful("20 seconds"))
  measure("a thousand, killed at once", 1, many(1000), 1000, Teardown.immediate)
})
