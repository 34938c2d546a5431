/**
 * Every adversary in every ending, judged from outside.
 */
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import { afterAll, assert } from "vitest"
import * as Host from "./host.js"
import { columns, type Ending, endings, type Row, rows } from "./rows.js"
import * as Trial from "./trial.js"

const short = process.env.EFFECT_AGENTS_ZOO === "short"

const scope = Effect.runSync(Scope.make())
const place = await Effect.runPromise(Scope.extend(Host.makePlace, scope))
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const runs = (file: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(file, args, { cwd: "/", ...(place.user === undefined ? {} : { uid: place.user, gid: place.user }) })
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

const results: Array<Trial.Result> = []

const endingsOf = (row: Row, index: number): ReadonlyArray<Ending> => {
  if (row.killsHost === true) return ["SIGKILL"]
  if (!short) return endings
  return endings.filter((_, at) => at === index % endings.length)
}

for (const column of columns) {
  describe(`ended in ${column.name} mode`, () => {
    rows.forEach((row, index) => {
      if (whyNot(row) !== undefined) return
      for (const ending of endingsOf(row, index)) {
        it.live(`${row.name}: ${ending}`, () =>
          Effect.map(Trial.run(place, row, column, ending), (result) => {
            results.push(result)
            Trial.judge(result)
          }))
      }
    })
  })
}

describe("the zoo", () => {
  it("is whole, or says what is missing", () => {
    const skipped = rows.flatMap((row) => {
      const why = whyNot(row)
      return why === undefined ? [] : [`${row.name}: ${why}`]
    })
    if (skipped.length > 0) console.log(`${skipped.length} adversaries skipped\n${skipped.join("\n")}`)
    assert.isAbove(results.length, 0)
  })
})
