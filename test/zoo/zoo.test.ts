/**
 * Every adversary in every ending, judged from outside, beside five hundred who must not be harmed.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { spawn, spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, constants, setPriority } from "node:os"
import { type Seen, seenAt, waitUntil } from "../utils/Processes.js"
import * as Document from "./document.js"
import * as Group from "./group.js"
import * as Host from "./host.js"
import * as LookAlikes from "./lookAlikes.js"
import { type Column, columns, type Ending, endings, type Row, rows } from "./rows.js"
import * as Trial from "./trial.js"

/** Each adversary in one ending, and few races; the document stays as it is. */
const short = process.env.EFFECT_AGENTS_ZOO === "short"

const scope = Effect.runSync(Scope.make())
const forAll = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> => Scope.extend(effect, scope)
const place = await Effect.runPromise(forAll(Host.makePlace))
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const runs = (file: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(file, args, { cwd: "/", ...Host.as(place.user) })
    .status === 0

const missing: Record<NonNullable<Row["needs"]>[number], string | undefined> = {
  cc: place.adversaryMissing,
  private: process.env.EFFECT_AGENTS_ZOO_PRIVATE === "1" ? undefined : "no pid namespace here",
  root: place.user === undefined ? "no other users here" : undefined,
  namespaces: runs("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true")
    ? undefined
    : "no user namespaces here",
  tmux: runs("tmux", "-V") ? undefined : "no tmux here"
}

const whyNot = (row: Row): string | undefined => (row.needs ?? []).flatMap((need) => missing[need] ?? [])[0]

const present = rows.filter((row) => whyNot(row) === undefined)

/** Why a seal is not to be had here, asked by doing it once. */
const noSeal = Effect.fnUntraced(function*(column: Column) {
  const stage = yield* Trial.makeStage(place, { name: "", script: "stay &" }, column)
  return yield* stage.loose.pipe(
    Effect.as(undefined),
    Effect.catchAllDefect((defect) => {
      const why = /ContainmentUnavailable: (.*)"/.exec(String(defect))?.[1]
      return why === undefined ? Effect.die(defect) : Effect.succeed(why)
    })
  )
}, Effect.scoped)

const unsealed = await Effect.runPromise(
  Effect.all({ none: noSeal("none"), namespace: noSeal("namespace"), cgroup: noSeal("cgroup") })
)

const lookAlikes: Array<Seen> = []

describe("those who only look like members of a run", () => {
  const every = "stay & setsid \"$S\" \"$L\" & (env -i setsid sh -c '\"$0\" \"$1\" >/dev/null 2>&1 &' \"$S\" \"$L\" &)"

  it.live("are not harmed when runs end beside which they were born", () =>
    Effect.scoped(Effect.gen(function*() {
      const stage = yield* Trial.makeStage(place, { name: "beside look-alikes", script: every, count: 3 }, "none")
      const others = yield* forAll(
        Trial.makeStage(place, { name: "of another host", script: every, trees: 50, count: 150 }, "none")
      )
      yield* others.loose
      lookAlikes.push(...others.members())
      Group.spare(others.all())
      yield* stage.loose
      yield* waitUntil("the leader", Effect.sync(() => stage.leaders().length > 0))
      const [leader = 0] = stage.leaders()
      lookAlikes.push(...yield* forAll(LookAlikes.make(500 - lookAlikes.length, leader, place.user)))
      Group.spare(lookAlikes)
      assert.strictEqual(lookAlikes.length, 500)
      Trial.judge(yield* stage.end("close"))
      assert.deepStrictEqual(LookAlikes.harmed(lookAlikes), [])
      yield* stage.loose
      Trial.judge(yield* stage.end("SIGKILL"))
      yield* stage.leave
      assert.deepStrictEqual(LookAlikes.harmed(lookAlikes), [])
    })))

  const reused = "(setsid \"$S\" \"$L\" >/dev/null 2>&1 &)\n"
    + "setsid sh -c 'echo $$ >> \"$0\"; until [ -e \"$0.go\" ]; do sleep 0.01; done' \"$L\" &\n"
    + "until [ -e \"$L.go\" ]; do sleep 0.01; done; exit"

  if (!LookAlikes.canChooseNumbers()) {
    it("cannot be given the numbers of those who have gone here", () => assert.isFalse(LookAlikes.canChooseNumbers()))
  } else {
    it.live("are not harmed when they have got the number of a leader or of a member that has gone", () =>
      Effect.scoped(Effect.gen(function*() {
        const stage = yield* Trial.makeStage(place, { name: "numbers", script: reused, count: 2 }, "none")
        // Once for nothing: a guard that still starts takes numbers for its threads.
        yield* stage.loose
        Trial.judge(yield* stage.end("close"))
        yield* stage.loose
        stage.host.order("look")
        yield* waitUntil("a look", Effect.sync(() => stage.host.printed().includes("looked")))
        const [leader = 0] = stage.leaders()
        const said = readFileSync(stage.ledger, "utf8").split("\n").map(Number)
        const member = said.find((pid) => seenAt(pid)?.command.includes(".go") === true) ?? 0
        writeFileSync(`${stage.ledger}.go`, "")
        // The higher number first: numbers go on from the last one that was given.
        const gone = [leader, member].sort((a, b) => b - a)
        yield* waitUntil("their end", Effect.sync(() => gone.every((pid) => seenAt(pid) === undefined)))
        const next = yield* Effect.forEach(gone, (pid) => LookAlikes.withNumber(pid, place.user))
        Group.spare(next)
        // For so long a number is taken for that of whoever was seen with it: it cannot come round faster.
        yield* Effect.sleep("1100 millis")
        const result = yield* stage.end("close")
        Trial.judge(result)
        assert.deepStrictEqual(result.reports?.flatMap(({ killed }) => killed.map(({ command }) => command)), ["sleep"])
        assert.deepStrictEqual(LookAlikes.harmed(next), [])
        yield* stage.leave
      })))
  }
})

const results: Array<Trial.Result> = []

/** What is written down is timed ahead of all else that the machine does, where that is allowed. */
const prioritised = (priority: number) => () => {
  if (!short && place.user !== undefined) setPriority(priority)
}

/** In the short form each adversary is in one ending of each column, and each ending is there. */
const endingsOf = (row: Row, index: number): ReadonlyArray<Ending> => {
  if (row.killsHost === true) return ["SIGKILL"]
  return short ? endings.filter((_, at) => at === index % endings.length) : endings
}

let cells = 0

columns.forEach((column, number) => {
  if (unsealed[column] !== undefined) return
  describe(`seal: ${column}`, () => {
    beforeAll(prioritised(constants.priority.PRIORITY_HIGHEST))
    afterAll(prioritised(constants.priority.PRIORITY_NORMAL))
    present.forEach((row, index) => {
      if (Trial.fateOf(row, column) === "cannot") return
      for (const ending of endingsOf(row, index + 3 * number)) {
        cells++
        it.live(`${row.name}: ${ending}`, () =>
          Effect.map(Trial.run(place, row, column, ending), (result) => {
            results.push(result)
            Trial.judge(result)
          }))
      }
    })
  })
})

const respawners = present.filter(({ respawns }) => respawns === true)
const times = { none: short ? 7 : 90, namespace: short ? 0 : 20, cgroup: short ? 0 : 20 }
const raced: Array<Trial.Result> = []

const burners = Effect.acquireRelease(
  Effect.sync(() =>
    Array.from(
      { length: 2 * availableParallelism() },
      () => spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" })
    )
  ),
  (children) => Effect.sync(() => children.forEach((child) => child.kill("SIGKILL")))
)

describe("raced under load", () => {
  for (const column of columns) {
    if (unsealed[column] !== undefined || times[column] === 0) continue
    for (const row of respawners) {
      it.live(`${row.name}, seal: ${column}`, () =>
        Effect.scoped(Effect.gen(function*() {
          yield* burners
          const results = yield* Trial.races(place, row, column, times[column])
          raced.push(...results)
          results.forEach(Trial.judge)
        })), 300_000)
    }
  }
})

describe("the zoo", () => {
  it("has harmed nobody", () => {
    assert.deepStrictEqual(LookAlikes.harmed(lookAlikes), [])
  })

  it("tells what it found, and what is missing here", () => {
    const claims = raced.filter(({ reports }) => reports?.every(({ verified }) => verified === "empty") === true)
    const lies = claims.filter(({ denied }) => denied.length > 0)
    console.log(`${claims.length} claims of emptiness in ${raced.length} races under load, ${lies.length} false`)
    const skipped = [
      ...rows.map((row) => [row.name, whyNot(row)]),
      ...columns.map((column) => [column, unsealed[column]])
    ]
      .flatMap(([name, why]) => why === undefined ? [] : [`${name}: ${why}`])
    if (skipped.length > 0) console.log(`${skipped.length} skipped here\n${skipped.join("\n")}`)
    // Not what was asked for by name alone.
    if (!short && results.length === cells) {
      Document.write(results, [
        `${claims.length} times in ${raced.length} races against re-spawners under load a report said \`empty\`; ${
          lies.length === 0 ? "each time" : `${lies.length} times falsely, else`
        } nobody was there.`,
        `${lookAlikes.length} look-alikes lived beside all of this; ${
          LookAlikes.harmed(lookAlikes).length
        } were harmed.`
      ])
    }
    assert.strictEqual(lies.length, 0)
  })
})
