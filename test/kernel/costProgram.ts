/**
 * What looking costs on a machine with many others. Run in a pid namespace of its own, which it fills with strangers.
 */
import * as Command from "@effect/platform/Command"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { waitUntil } from "../utils/Processes.js"

const [what, strangers] = [process.argv[2], Number(process.argv[3])]

const pids = () => readdirSync("/proc").filter((name) => /^\d+$/.test(name))

const crowd = Effect.suspend(() => {
  spawn("sh", ["-c", "i=0; while [ $i -lt $1 ]; do i=$((i+1)); sleep 600 & done; wait", "sh", String(strangers)], {
    stdio: "ignore"
  })
  return Effect.zipRight(
    waitUntil("the strangers", Effect.sync(() => pids().length > strangers), { deadline: "1 minute" }),
    Effect.sleep("2 seconds")
  )
})

const start = (options: ProcessTree.StartOptions) =>
  ProcessTree.start(Command.make("sh", "-c", "sleep 600 & setsid sleep 600 & wait"), {
    teardown: Teardown.graceful("5 seconds"),
    ...options
  })

/** Milliseconds of this process. */
const ownCpu = Effect.sync(() => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
})

/** Milliseconds of the guard. */
const guardCpu = Effect.sync(() => {
  const guard = pids().find((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("guardMain")
    } catch {
      return false
    }
  })
  const stat = readFileSync(`/proc/${guard}/stat`, "latin1").split(") ")[1]?.split(" ") ?? []
  return 10 * (Number(stat[11]) + Number(stat[12]))
})

const spent = <A, E, R>(cpu: Effect.Effect<number>, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = yield* cpu
    yield* effect
    return Math.round(10 * ((yield* cpu) - before)) / 10
  })

const programs = {
  teardown: Effect.replicateEffect(
    Effect.scoped(Effect.gen(function*() {
      const tree = yield* start({})
      yield* Effect.sleep("500 millis")
      return yield* spent(ownCpu, tree.teardown)
    })),
    9
  ),
  watching: Effect.scoped(Effect.gen(function*() {
    yield* Effect.replicateEffect(start({ limits: { processes: 100, memoryBytes: 2 ** 30 } }), 100)
    yield* Effect.sleep("3 seconds")
    return [yield* spent(ownCpu, Effect.sleep("5 seconds")), yield* spent(guardCpu, Effect.sleep("5 seconds"))]
  }))
}

const program = what === "teardown" ? programs.teardown : programs.watching

Effect.runFork(
  Effect.zipRight(crowd, program).pipe(
    Effect.flatMap((costs) => Console.log(`costs ${JSON.stringify(costs)}`)),
    Effect.provide(NodeProcessTree.layerWith({ sweepStale: false })),
    Effect.ensuring(Effect.sync((): void => process.exit()))
  )
)
