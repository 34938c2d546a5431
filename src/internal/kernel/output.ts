/**
 * What a process writes, for whoever reads it now, later, or not at all.
 */
import type { PlatformError } from "@effect/platform/Error"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Readable } from "node:stream"
import { onNativeTime } from "../nativeClock.js"

export interface Output {
  /** A reader that has enough closes the pipe, one that is interrupted does not. */
  readonly stream: Stream.Stream<Uint8Array, PlatformError>
  /** From now on what nobody reads is discarded, so that a process does not wait for a reader while it ends. */
  readonly discard: () => void
  /** Nothing is expected any more: a reader gets what is there, and the end. */
  readonly close: () => void
  /** Whether somebody still holds the other end open. */
  readonly held: () => boolean
}

/** How long a reader waits for the end of an output that was closed. */
const lastWordMs = 100

export const none: Output = { stream: Stream.empty, discard: () => {}, close: () => {}, held: () => false }

export const make = (readable: Readable, failed: (cause: unknown) => PlatformError): Output => {
  // Without a listener at the exit, Node throws away what is in the pipe.
  readable.on("readable", () => {})
  readable.on("error", () => {})
  let readers = 0
  let phase: "open" | "discarding" | "closed" = "open"

  const ended = (): boolean => readable.readableEnded || readable.destroyed

  const flow = (): void => {
    readable.removeAllListeners("readable")
    readable.resume()
  }

  const wake = Effect.async<void>((resume) => {
    const events = ["readable", "end", "error", "close"]
    const stop = () => {
      for (const event of events) readable.off(event, woken)
    }
    const woken = () => {
      stop()
      resume(Effect.void)
    }
    for (const event of events) readable.on(event, woken)
    return Effect.sync(stop)
  })

  const pull: Effect.Effect<Chunk.Chunk<Uint8Array>, Option.Option<PlatformError>> = Effect.suspend(() => {
    const chunks: Array<Uint8Array> = []
    for (let bytes = readable.read(); bytes !== null; bytes = readable.read()) chunks.push(bytes)
    if (chunks.length > 0) return Effect.succeed(Chunk.unsafeFromArray(chunks))
    if (readable.errored) return Effect.fail(Option.some(failed(readable.errored)))
    if (ended()) return Effect.fail(Option.none())
    return phase !== "closed"
      ? Effect.zipRight(wake, pull)
      : Effect.timeoutOption(Effect.interruptible(wake), lastWordMs).pipe(
        onNativeTime,
        Effect.flatMap(Option.match({ onNone: () => Effect.fail(Option.none()), onSome: () => pull }))
      )
  })

  const stream = Stream.suspend(() => {
    readers++
    return Stream.repeatEffectChunkOption(pull).pipe(
      Stream.ensuringWith((exit) =>
        Effect.sync(() => {
          readers--
          // Whoever is interrupted may not be the last to read, and a process that is about to be asked to end may have
          // something to say while it does.
          if (phase === "closed" || !Exit.isInterrupted(exit)) readable.destroy()
          else if (phase === "discarding" && readers === 0) flow()
        })
      )
    )
  })

  return {
    stream,
    discard: () => {
      phase = "discarding"
      if (readers === 0) flow()
    },
    close: () => {
      phase = "closed"
      if (readers === 0) readable.destroy()
      // Wakes those that wait, so that they wait with a bound from now on.
      else readable.emit("readable")
    },
    held: () => !ended() && (readers === 0 || readable.readableLength === 0)
  }
}
