/**
 * What is read of an output, whoever holds the other end.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { PassThrough } from "node:stream"
import * as output from "../../src/internal/kernel/output.js"
import { fromErrno } from "../../src/internal/kernel/resolve.js"
import { waitUntil } from "../utils/Processes.js"
import { text } from "./support.js"

const made = Effect.sync(() => {
  const pipe = new PassThrough()
  return { pipe, output: output.make(pipe, fromErrno("stdout", "test")) }
})

describe("an output", () => {
  it.live("that is held by somebody has an end for its reader once it is closed", () =>
    Effect.gen(function*() {
      const { output, pipe } = yield* made
      pipe.write("some")
      let read = 0
      const reader = yield* Effect.fork(
        Stream.runForEach(output.stream, (bytes) =>
          Effect.sync(() => {
            read += bytes.length
          }))
      )
      yield* waitUntil("it is read", Effect.sync(() => read === 4))
      output.discard()
      pipe.write("more")
      yield* waitUntil("it is read, too", Effect.sync(() => read === 8))
      assert.isTrue(output.held())
      output.close()
      yield* Fiber.join(reader)
      assert.strictEqual(read, 8)
      assert.isTrue(pipe.destroyed)
      assert.strictEqual(yield* text(output.stream), "")
    }))

  it.live("that is closed under a slow reader is read to its end", () =>
    Effect.gen(function*() {
      const { output, pipe } = yield* made
      const reader = yield* Effect.fork(
        Stream.runCollect(
          Stream.mapEffect(output.stream, (bytes) => Effect.as(Effect.sleep("30 millis"), bytes.length))
        )
      )
      for (let count = 0; count < 3; count++) {
        pipe.write("x".repeat(1000))
        yield* Effect.sleep("10 millis")
      }
      output.discard()
      output.close()
      pipe.end("last")
      assert.strictEqual(Chunk.reduce(yield* Fiber.join(reader), 0, (sum, length) => sum + length), 3004)
      assert.isFalse(output.held())
    }))

  it.live("that nobody reads is discarded once it is asked to be, and gone once it is closed", () =>
    Effect.gen(function*() {
      const { output, pipe } = yield* made
      pipe.write("x".repeat(100_000))
      output.discard()
      yield* waitUntil("it is drained", Effect.sync(() => pipe.readableLength === 0 && pipe.writableLength === 0))
      assert.isTrue(output.held())
      output.close()
      assert.isTrue(pipe.destroyed)
    }))

  it.live("that fails is a failure for its reader", () =>
    Effect.gen(function*() {
      const { output, pipe } = yield* made
      const reader = yield* Effect.fork(Effect.flip(text(output.stream)))
      yield* Effect.sleep("10 millis")
      pipe.destroy(Object.assign(new Error("read EIO"), { code: "EIO" }))
      assert.include((yield* Fiber.join(reader)).message, "EIO")
    }))
})
