/**
 * Who this host is for those that come later, and who is told of its trees.
 */
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import type * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { waitForSleepers, waitUntil } from "../utils/Processes.js"
import { judged, seconds, sh } from "./support.js"

/** A process that is not a host, and says nothing. */
const bystander = Effect.acquireRelease(
  Effect.sync(() => spawn("sleep", ["60"], { stdio: "ignore" })),
  (child) => Effect.sync(() => child.kill("SIGKILL"))
)

const startTimeOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19])
}

describe("owner", () => {
  it.scopedLive("a host lives until its process has ended, and not in another boot", () =>
    Effect.gen(function*() {
      const { isAlive, owner } = yield* ProcessTree.Spawner
      const own = yield* owner
      const json = Schema.parseJson(ProcessTree.Owner)
      assert.deepStrictEqual(yield* Schema.decode(json)(yield* Schema.encode(json)(own)), own)
      assert.strictEqual(own.pid, process.pid)
      assert.isTrue(yield* isAlive(own))

      const child = yield* bystander
      const pid = child.pid ?? 0
      const other = { ...own, pid, startTime: startTimeOf(pid), id: "0".repeat(24) }
      assert.isTrue(yield* isAlive(other))
      assert.isFalse(yield* isAlive({ ...other, startTime: other.startTime + 1 }), "a later process of its number")
      assert.isFalse(yield* isAlive({ ...other, boot: "an earlier one" }))
      child.kill("SIGKILL")
      yield* waitUntil("its end", Effect.negate(isAlive(other)))

      assert.isTrue(yield* isAlive({ ...other, namespace: "another one" }), "nothing is known of other namespaces")
      assert.isTrue(yield* isAlive({ ...other, boot: "x", machine: "elsewhere" }), "nothing is known of other machines")
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("a host whose trees have not been swept yet is alive", () =>
    Effect.gen(function*() {
      const { isAlive, owner } = yield* ProcessTree.Spawner
      const dead = { ...(yield* owner), pid: 2 ** 22 + 1, id: "a".repeat(24) }
      assert.isFalse(yield* isAlive(dead))
      const hosts = join(process.env["XDG_STATE_HOME"] ?? "", "effect-agents", "hosts")
      const ledger = join(hosts, `${dead.id}.json`)
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(ledger, { force: true })))
      mkdirSync(hosts, { recursive: true })
      writeFileSync(ledger, "{}")
      assert.isTrue(yield* isAlive(dead))
      rmSync(ledger)
      assert.isFalse(yield* isAlive(dead))
    }).pipe(Effect.provide(NodeProcessTree.layerWith({ sweepStale: false }))))

  it.scopedLive("whoever asked is told of the trees that an effect started, and of no others", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const told: Array<string> = []
        const tell = (name: string) => (report: Teardown.TeardownReport) =>
          Effect.sync(() => {
            told.push(`${name} ${report.reason}`)
          })
        const start = ProcessTree.start(sh("sleep $1 & wait", seconds(mark)))
        yield* Effect.scoped(start)
        assert.deepStrictEqual(told, [])
        yield* Effect.scoped(Effect.zipRight(start, Effect.never)).pipe(
          ProcessTree.onReport(tell("inner")),
          Effect.raceFirst(waitForSleepers(mark, 1)),
          ProcessTree.onReport(tell("outer"))
        )
        assert.deepStrictEqual(told, ["outer interrupted", "inner interrupted"])
      })
    ))
})
