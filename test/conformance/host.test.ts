/**
 * What happens to the trees of a host that is told to end, or ends by itself.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Host from "../utils/Host.js"
import { expectGone, makeMark, sleepers, waitUntil } from "../utils/Processes.js"
import type { Input } from "./hostProgram.js"

const start = (mark: string, input: Pick<Input, "ending" | "sleepers" | "graceMs"> & { readonly name: string }) =>
  Effect.gen(function*() {
    const { name, ...rest } = input
    const host = yield* Host.start(
      new URL("./hostProgram.ts", import.meta.url),
      { ...rest, scenario: { name, mark } } satisfies Input
    )
    yield* host.says("ready")
    return host
  })

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const

describe("a host", () => {
  for (const signal of signals) {
    it.scopedLive(`under runMain: ${signal} ends every tree before the host ends`, () =>
      Effect.gen(function*() {
        const mark = yield* makeMark
        const host = yield* start(mark, { ending: "runMain", name: "F-ZOO", sleepers: 12, graceMs: 300 })
        yield* host.signal(signal)
        assert.isNull((yield* host.exit).signal)
        assert.include(yield* host.output, "finalizers ran")
        yield* expectGone(mark)
      }))

    it.scopedLive(`without runMain: ${signal} ends every tree`, () =>
      Effect.gen(function*() {
        const mark = yield* makeMark
        const host = yield* start(mark, { ending: "bare", name: "F-ZOO", sleepers: 12, graceMs: 60_000 })
        yield* host.signal(signal)
        const exit = yield* host.exit
        assert.isTrue(exit.signal === signal || (exit.code !== null && exit.code > 128), JSON.stringify(exit))
        yield* expectGone(mark)
      }))
  }

  it.scopedLive("under runMain: the second signal skips the grace", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const host = yield* start(mark, { ending: "runMain", name: "F-STUBBORN", sleepers: 2, graceMs: 60_000 })
      const before = yield* Clock.currentTimeMillis
      yield* host.signal("SIGINT")
      // Once the polite part of the tree has gone, the first signal was heard and the grace is running.
      yield* waitUntil("the polite one goes", Effect.map(sleepers(mark), (left) => left.length === 1))
      yield* host.signal("SIGINT")
      yield* host.exit
      assert.isBelow((yield* Clock.currentTimeMillis) - before, 10_000)
      yield* expectGone(mark)
    }))

  for (const [ending, code] of [["exit", 3], ["throw", 1], ["reject", 1]] as const) {
    it.scopedLive(`${ending}: a synchronous pass takes every tree along`, () =>
      Effect.gen(function*() {
        const mark = yield* makeMark
        const host = yield* start(mark, { ending, name: "F-ZOO", sleepers: 12, graceMs: 60_000 })
        assert.deepStrictEqual(yield* host.exit, { code, signal: null }, yield* host.output)
        yield* expectGone(mark)
      }))
  }
})
