/**
 * One trial: an adversary is let loose in a run, the run ends in one of the ways that there are, and the group tells
 * what has become of it.
 */
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Teardown from "effect-agents/Teardown"
import { existsSync, readFileSync } from "node:fs"
import { constants } from "node:os"
import { join } from "node:path"
import { type Seen, seenAt, waitUntil } from "../utils/Processes.js"
import * as Group from "./group.js"
import * as Host from "./host.js"
import type { Run } from "./hostProgram.js"
import type { Column, Ending, Fate, Row } from "./rows.js"

export interface Result {
  readonly row: Row
  readonly column: Column
  readonly ending: Ending
  /** From the trigger until nobody was left. */
  readonly ms: number | undefined
  readonly left: ReadonlyArray<Seen>
  readonly reports: ReadonlyArray<Teardown.TeardownReport> | undefined
  /** Who lived at the moment when a report said that nobody did. */
  readonly denied: ReadonlyArray<Seen>
}

/** The polite part of every teardown here. */
export const graceMs = 100

const prelude = "L=$1 A=$2 S=$3; stay() { exec \"$S\" \"$L\"; }; adversary() { exec \"$A\" \"$L\" \"$1\" zoo; }"

const runOf = (row: Row, column: Column, place: Host.Place, home: string): Run => ({
  script: `${prelude}\n${row.script}\nexec sleep 1800`,
  args: [join(home, "ledger"), join(place.folder, "adversary"), join(place.folder, "stay")],
  trees: row.trees ?? 1,
  graceMs,
  seal: column
})

/** Tells a guard by its command line, and goes on to know it when it ends and has none any more. */
const makeIsGuard = () => {
  const known = new Set<string>()
  return ({ command, pid, startTime }: Seen): boolean => {
    const id = `${pid}:${startTime}`
    if (command.includes("guardMain.js")) known.add(id)
    return known.has(id)
  }
}

/** Whether a guard has come so far as to listen to signals that Node leaves alone. */
const isReady = ({ pid }: Seen): boolean => {
  const caught = /^SigCgt:\s*([\da-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "0"
  return (BigInt(`0x${caught}`) >> BigInt(constants.signals.SIGUSR2 - 1) & 1n) === 1n
}

const lines = (file: string): number => readFileSync(file, "utf8").split("\n").length - 1

const now = (): number => performance.now()

const hostLives = new Set<Ending>(["close", "interrupt", "timeout"])

/** Whether there is time for a report. */
const speaks = (ending: Ending): boolean => hostLives.has(ending) || ending === "SIGTERM"

export const fateOf = (row: Row, column: Column): Fate => row.fate?.[column] ?? "dies"

/** A host in a group, for one row, and what is done with it. */
interface Stage {
  readonly host: Host.Host
  /** Where everybody says that he is there. */
  readonly ledger: string
  /** The leaders of the trees of the run. */
  readonly leaders: () => ReadonlyArray<number>
  /** Who lives of the run. */
  readonly members: () => ReadonlyArray<Seen>
  /** The same with host and guard. */
  readonly all: () => ReadonlyArray<Seen>
  /** Starts the run, and waits until all of it is there. */
  readonly loose: Effect.Effect<void>
  /** Ends the run, and tells what has become of it. */
  readonly end: (ending: Ending) => Effect.Effect<Result>
  /** Waits until host and guard have gone. */
  readonly leave: Effect.Effect<void>
}

export const makeStage = Effect.fnUntraced(function*(place: Host.Place, row: Row, column: Column) {
  const user = row.root === true ? undefined : place.user
  const home = yield* Host.makeHome(user)
  const group = yield* Group.make(user)
  const ledger = join(home, "ledger")
  const strangers = new Set<number>()
  if (row.served === true) {
    const server = yield* Host.serve(group, user, home, `${ledger}.door`)
    strangers.add(server.pid ?? 0)
    yield* waitUntil("the door", Effect.sync(() => existsSync(`${ledger}.door`)))
  }
  const start = Host.start(place, group, user, home)
  const host = yield* start
  strangers.add(host.pid)
  const isGuard = makeIsGuard()
  const noGuard = (): boolean => group.look(isGuard, 1).length === 0
  const matters = (seen: Seen): boolean => !strangers.has(seen.pid) && !isGuard(seen)
  const stays = fateOf(row, column) !== "dies"
  let expected = 0

  const loose = Effect.suspend(() => {
    expected += row.count ?? row.trees ?? 1
    host.run(runOf(row, column, place, home))
    return waitUntil(
      "the adversary is there",
      Effect.suspend(() => {
        const failed = /^failed (.*)$/m.exec(host.printed())?.[1]
        if (failed !== undefined) return Effect.dieMessage(failed)
        return Effect.succeed(
          lines(ledger) >= expected
            && (row.early === true || row.killsHost === true || group.look(isGuard).every(isReady))
            && (row.state === undefined || group.look(({ state }) => state === row.state, 1).length > 0)
        )
      }),
      { deadline: "30 seconds" }
    )
  })

  const end = Effect.fnUntraced(
    function*(ending: Ending) {
      let reports: Result["reports"]
      const denied: Array<Seen> = []
      host.onReports((said) => {
        reports = said
        if (said.every(({ verified }) => verified === "empty")) denied.push(...group.look(matters))
      })
      const heard = (): boolean =>
        (!speaks(ending) || reports !== undefined)
        && (hostLives.has(ending) || (host.hasEnded() && (!stays || noGuard())))

      if (row.killsHost === true) {
        yield* waitUntil("the end of the host", Effect.sync(host.hasEnded))
        strangers.add((yield* start).pid)
      }
      const began = now()
      if (row.killsHost === true) {
        // The next host is there.
      } else if (ending === "SIGTERM" || ending === "SIGKILL") host.signal(ending)
      else host.order(ending)

      // Looks every millisecond, until the group has been empty for some looks and all is said. A chain of re-spawners can
      // be between two of its members.
      const looks = row.respawns === true ? 15 : 3
      let known: Seen | undefined
      let clean = 0
      let empty = 0
      while (now() - began < 20_000) {
        const seen = known === undefined ? undefined : seenAt(known.pid)
        if (seen === undefined || seen.dead || seen.startTime !== known?.startTime) known = group.look(matters, 1)[0]
        if (known === undefined) {
          if (clean++ === 0) empty = now()
          if (clean >= looks && heard()) break
        } else {
          clean = 0
          if (!stays && reports?.every(({ verified }) => verified === "empty") === true) {
            denied.push(known)
          }
          if (stays && heard()) break
        }
        yield* Effect.sleep("1 millis")
      }
      const left = group.look(matters)
      return { row, column, ending, ms: left.length > 0 ? undefined : empty - began, left, reports, denied }
    },
    Effect.scoped,
    Effect.withClock(Clock.make())
  )

  const leave = Effect.suspend(() => {
    host.signal("SIGKILL")
    return row.killsHost === true ? Effect.void : waitUntil("the end of the guard", Effect.sync(noGuard))
  })

  const leaders = (): ReadonlyArray<number> => JSON.parse(/.*^started ([^\n]*)$/ms.exec(host.printed())?.[1] ?? "[]")

  const stage: Stage = { host, ledger, leaders, members: () => group.look(matters), all: group.look, loose, end, leave }
  return stage
})

export const run = (place: Host.Place, row: Row, column: Column, ending: Ending): Effect.Effect<Result> =>
  Effect.scoped(Effect.gen(function*() {
    const stage = yield* makeStage(place, row, column)
    yield* stage.loose
    const result = yield* stage.end(ending)
    yield* stage.leave
    return result
  }))

/** The same run again and again on one host, each ended while the host lives. */
export const races = (
  place: Host.Place,
  row: Row,
  column: Column,
  times: number
): Effect.Effect<ReadonlyArray<Result>> =>
  Effect.scoped(Effect.gen(function*() {
    const stage = yield* makeStage(place, row, column)
    const results = yield* Effect.replicateEffect(Effect.zipRight(stage.loose, stage.end("close")), times)
    yield* stage.leave
    return results
  }))

/** What must be so, in both directions. */
export const judge = ({ column, denied, ending, left, ms, reports, row }: Result): void => {
  const fate = fateOf(row, column)
  const said = reports?.map(String).join("\n") ?? "no report"
  assert.strictEqual(reports !== undefined, speaks(ending))
  if (fate === "dies") {
    assert.deepStrictEqual(left, [], said)
    assert.isDefined(ms)
    assert.deepStrictEqual(denied, [], `a false claim: ${said}`)
    for (const report of reports ?? []) assert.strictEqual(report.verified, "empty", said)
    return
  }
  assert.strictEqual(left.length, row.count ?? 1, `it is still there\n${said}`)
  if (reports === undefined) return
  const survivors = reports.flatMap((report) => report.survivors)
  assert.deepStrictEqual(
    survivors.map(({ pid, why }) => [pid, why]),
    fate === "named" ? left.map(({ pid }) => [pid, "not-permitted"]) : []
  )
}
