/**
 * How a pid namespace is seen from outside, on tables that no machine would hold still.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Teardown from "effect-agents/Teardown"
import * as gauge from "../../src/internal/kernel/gauge.js"
import * as namespace from "../../src/internal/kernel/namespace.js"
import type { ProcessTable, Row } from "../../src/internal/kernel/processTable.js"
import { sweep } from "../../src/internal/kernel/sweep.js"
import * as tracker from "../../src/internal/kernel/tracker.js"

/** No pid of these is anybody's: a signal would say so. */
const far = 1_000_000_000

const row = (pid: number, fields: Partial<Row> = {}): Row => ({
  pid,
  parent: 1,
  group: pid,
  session: pid,
  startTime: 1000,
  state: "S",
  command: "test",
  dead: false,
  ticks: 0,
  childTicks: 0,
  pages: 0,
  ...fields
})

const host = row(far - 1, { startTime: 1 })
const monitor = row(far)
const init = row(far + 1, { parent: far, group: far, session: far })
const program = row(far + 2, { parent: far + 1 })
const orphan = row(far + 3, { parent: far + 1 })
const outside = row(far + 4)

const numbers = new Map<number | "self", ReadonlyArray<number>>([
  ["self", [far - 1]],
  [far, [far]],
  [far + 1, [far + 1, 1]],
  [far + 2, [far + 2, 2]],
  [far + 3, [far + 3, 7]],
  [far + 4, [far + 4]],
  // The program of a namespace inside this one.
  [far + 5, [far + 5, 9, 2]]
])

const watch = () => {
  let rows: ReadonlyArray<Row> = []
  let at = 1000
  const table: ProcessTable = {
    rows: () => rows,
    settled: () => true,
    still: () => false,
    complete: () => true,
    row: (pid) => rows.find((each) => each.pid === pid),
    lives: (each) => rows.some((other) => other.pid === each.pid && other.startTime === each.startTime),
    markOf: () => ({ by: undefined, certain: true }),
    numbersOf: (pid) => numbers.get(pid) ?? [],
    inodeOf: () => undefined,
    remember: () => {},
    wasThere: () => false,
    pidReuseMs: 0
  }
  const tracked = tracker.make({
    table,
    leader: monitor,
    host,
    mark: { id: "x", rlimit: undefined },
    now: () => at,
    seal: namespace.watch(table, monitor)
  })
  return {
    tracked,
    at: () => at,
    /** In the order in which the table is read. */
    set: (...next: ReadonlyArray<Row>) => {
      rows = next
      at += 10
    }
  }
}

const seen = (tracked: tracker.Tracker) => tracked.look().map(({ by, row, seal }) => [row.pid - far, by, seal])

describe("a pid namespace", () => {
  it("has a monitor, a first process, the program, and orphans whom nothing else gives away", () => {
    const { set, tracked } = watch()
    set(outside, orphan, program, init, monitor)
    assert.sameDeepMembers(seen(tracked), [
      [2, "leader", false],
      [1, "namespace", true],
      [0, "namespace", true],
      [3, "namespace", false]
    ])
    assert.strictEqual(tracked.leader().row, program)
    set(orphan, init)
    assert.sameDeepMembers(seen(tracked), [[1, "namespace", true], [3, "namespace", false]])
    assert.isFalse(tracked.leaderAlive())
    // Whoever has the number of the first process once that has ended is a stranger.
    set(orphan, row(init.pid, { startTime: 2000 }))
    assert.deepStrictEqual(seen(tracked), [[3, "namespace", false]])
  })

  it("is led by the program, also when that comes in the midst of a look", () => {
    const { set, tracked } = watch()
    set(monitor)
    assert.deepStrictEqual(seen(tracked), [[0, "leader", false]])
    assert.isTrue(tracked.pending())
    set(monitor, init, program)
    assert.sameDeepMembers(seen(tracked), [[0, "namespace", true], [1, "namespace", true], [2, "leader", false]])
    assert.strictEqual(tracked.leader().row, program)
    assert.isFalse(tracked.pending())
  })

  it("is not led by the program of a namespace inside", () => {
    const { set, tracked } = watch()
    set(row(far + 5, { parent: far + 3 }), orphan, init, monitor)
    assert.deepInclude(seen(tracked), [5, "parent", false])
    assert.isTrue(tracked.pending())
  })

  it("is never asked politely by the group of its first process", () => {
    const { set, tracked } = watch()
    // Not yet in a session of its own.
    const young = { ...program, group: far, session: far }
    set(young, init, monitor)
    tracked.look()
    const sent: Array<[number, string | number | undefined]> = []
    const { kill } = process
    process.kill = (pid, signal) => {
      sent.push([pid - far, signal])
      return true
    }
    try {
      for (const signal of ["SIGTERM", "SIGSTOP"] as const) {
        assert.isFalse(tracked.signalGroup({ row: young, by: "leader", seal: false }, signal))
      }
      tracked.signal(tracked.leader(), "SIGTERM")
    } finally {
      process.kill = kill
    }
    assert.deepStrictEqual(sent, [[2, "SIGTERM"]])
  })

  it("is not ended before it has said how the program ended", () => {
    const { at, set, tracked } = watch()
    set(program, init, monitor)
    tracked.look()
    set(init, monitor)
    let killed = 0
    const sweeping = sweep({
      tracker: { ...tracked, killSealed: () => killed++ === 0 },
      pid: monitor.pid,
      command: "test",
      policy: Teardown.immediate,
      reason: "completed",
      layers: () => [],
      notes: () => [],
      seesAll: true,
      now: at,
      urgent: () => false,
      outputHeld: () => false,
      gauge: gauge.none
    })
    for (let step = 0; step < 5; step++) assert.isFalse(sweeping.next().done)
    assert.strictEqual(killed, 0)
    set(init)
    sweeping.next()
    assert.isAbove(killed, 0)
  })
})
