/**
 * What the process table says, seen from outside: nothing of the library is asked. A process belongs to a test when the
 * test's mark is in its arguments or in the environment it was started with; zombies and the dead do not count.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { deepStrictEqual } from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"

export interface Seen {
  readonly pid: number
  readonly parent: number
  readonly startTime: number
  readonly state: string
  readonly command: string
  /** It has ended, and its parent does not know yet. */
  readonly dead: boolean
}

const read = (pid: number, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1")
  } catch {
    // Ended while it was looked at, or somebody else's.
    return ""
  }
}

/** One process, also a dead one. */
export const seenAt = (pid: number): Seen | undefined => {
  const stat = read(pid, "stat")
  // The name of the program stands in brackets and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const state = fields[0] ?? ""
  return state === "" ? undefined : {
    pid,
    parent: Number(fields[1]),
    startTime: Number(fields[19]),
    state,
    command: read(pid, "cmdline").replaceAll("\0", " ").trim(),
    // One whose first thread has ended while others run is shown as a zombie too.
    dead: state === "X" || (state === "Z" && !(Number(fields[17]) > 1))
  }
}

/** One process, or nothing when it does not live. */
const look = (pid: number): Seen | undefined => {
  const seen = seenAt(pid)
  return seen === undefined || seen.dead ? undefined : seen
}

const all = (): ReadonlyArray<number> =>
  readdirSync("/proc").map(Number).filter((pid) => pid > 1 && pid !== process.pid)

/** Who lives and carries the mark. */
export const aliveWith = (mark: string): Effect.Effect<ReadonlyArray<Seen>> =>
  Effect.sync(() =>
    all().flatMap((pid) => {
      const seen = look(pid)
      return seen !== undefined && (seen.command.includes(mark) || read(pid, "environ").includes(mark)) ? [seen] : []
    })
  )

/** Whether this very process lives, not another one of its number. */
export const isAlive = (seen: Seen): Effect.Effect<boolean> =>
  Effect.sync(() => look(seen.pid)?.startTime === seen.startTime)

/** Nobody carries the mark, now. */
export const expectGone = (mark: string): Effect.Effect<void> =>
  Effect.map(aliveWith(mark), (left) => deepStrictEqual(left, [], "something is left in the process table"))

/** Waits for a condition, on the time of the machine; dies when it does not come true in time. */
export const waitUntil = <E, R>(
  what: string,
  condition: Effect.Effect<boolean, E, R>,
  options?: { readonly deadline?: Duration.DurationInput | undefined }
): Effect.Effect<void, E, R> =>
  Effect.gen(function*() {
    const end = (yield* Clock.currentTimeMillis) + Duration.toMillis(options?.deadline ?? "10 seconds")
    while (!(yield* condition)) {
      if ((yield* Clock.currentTimeMillis) > end) return yield* Effect.dieMessage(`waited in vain: ${what}`)
      yield* Effect.sleep("5 millis")
    }
  }).pipe(Effect.withClock(Clock.make()))

/** The descendants that the fakes leave behind: who sleeps under the mark. */
export const sleepers = (mark: string): Effect.Effect<ReadonlyArray<Seen>> =>
  Effect.map(aliveWith(mark), (seen) => seen.filter(({ command }) => command.startsWith("sleep ")))

/** Waits until there are `count` of them. */
export const waitForSleepers = (mark: string, count: number): Effect.Effect<ReadonlyArray<Seen>> =>
  waitUntil(`${count} processes with the mark`, Effect.map(sleepers(mark), (seen) => seen.length >= count)).pipe(
    Effect.zipRight(sleepers(mark))
  )

const reap = (mark: string): Effect.Effect<void> =>
  Effect.gen(function*() {
    const left = yield* aliveWith(mark)
    for (const seen of left) {
      if (yield* isAlive(seen)) {
        yield* Effect.ignore(Effect.try(() => process.kill(seen.pid, "SIGKILL")))
      }
    }
    return left.length === 0
  }).pipe((look) => waitUntil(`the end of what carries ${mark}`, look))

/**
 * A mark that nothing else in the system carries. Whatever still does at the end of the scope is killed, so that a test
 * that fails leaves nothing behind.
 */
export const makeMark: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.map(Random.nextIntBetween(0, 1_000_000_000), (n) => `7${String(n).padStart(9, "0")}`),
  reap
)
