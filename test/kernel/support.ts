/**
 * What the tests of the kernel share. The judge is `test/utils/Processes.ts`.
 */
import * as Command from "@effect/platform/Command"
import type { PlatformError } from "@effect/platform/Error"
import { assert } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import type * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { readdirSync, readFileSync } from "node:fs"
import * as Adversary from "../utils/Adversary.js"
import { expectGone, makeMark } from "../utils/Processes.js"

/** A script, with its arguments as `$1` and so on. */
export const sh = (script: string, ...args: ReadonlyArray<string>): Command.Command =>
  Command.make("sh", "-c", script, "sh", ...args)

export const text = <E, R>(output: Stream.Stream<Uint8Array, E, R>): Effect.Effect<string, E, R> =>
  output.pipe(Stream.decodeText(), Stream.mkString)

/** The argument of a `sleep` that carries the mark: no number that is written twice, and under two minutes. */
export const seconds = (mark: string, number = 0): string => `100.${mark}${number + 100}`

export const brief = Teardown.graceful("400 millis")

/** Gives a test its mark; once the scope of the body has closed, nothing may carry it. */
export const judged = <A, E>(
  body: (mark: string) => Effect.Effect<A, E, Scope.Scope | ProcessTree.Spawner>
): Effect.Effect<A, E, Scope.Scope> =>
  Effect.gen(function*() {
    const mark = yield* makeMark
    const result = yield* Effect.scoped(body(mark))
    yield* expectGone(mark)
    return result
  }).pipe(Effect.provide(NodeProcessTree.layer))

export const expectEmpty = (report: Teardown.TeardownReport): void => {
  assert.strictEqual(report.verified, "empty", String(report))
  assert.deepStrictEqual(report.survivors, [])
}

/** The reason of a failed start, with its method. */
export const reasonOf = (error: PlatformError | ProcessTree.ContainmentUnavailable): string =>
  error._tag === "SystemError" ? `${error.method}: ${error.reason}` : error._tag

/** The hard limit on file locks of a process. */
export const locksLimit = (pid: number): string =>
  /^Max file locks\s+\S+\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1] ?? "unreadable"

/** Whether any thread of a process lives, also when its first one has ended. */
export const anyThreadAlive = (pid: number): boolean => {
  try {
    return readdirSync(`/proc/${pid}/task`).some((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1")
      return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))
    })
  } catch {
    return false
  }
}

/** Programs that no shell can play, or why there are none. */
export const adversary = Adversary.make()
