/**
 * Programs that use the library, run as processes of their own: for what cannot happen in the process of the tests.
 */
import * as Command from "@effect/platform/Command"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Containment from "effect-agents/Containment"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { waitForSleepers } from "../utils/Processes.js"

export interface Input {
  readonly mode: keyof typeof modes
  /** The script of each tree, with its arguments. */
  readonly script: string
  readonly args: ReadonlyArray<string>
  readonly trees?: number | undefined
  readonly graceMs?: number | undefined
  /** Waits for so many sleepers with the mark. */
  readonly sleepers?: readonly [mark: string, count: number] | undefined
  readonly seal?: ProcessTree.Seal | undefined
  /** Where this host looks for the tools that seal. */
  readonly path?: string | undefined
  readonly underRunMain?: boolean | undefined
  readonly guard?: boolean | undefined
  readonly limits?: ProcessTree.Limits | undefined
  /** For `repeat` and `detach`: the last argument of each tree in turn. */
  readonly variants?: ReadonlyArray<string> | undefined
  readonly then?: "wait" | "exit" | "end" | undefined
}

const input: Input = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"))
const teardown = Teardown.graceful(input.graceMs ?? 300)
const PATH = process.env.PATH
if (input.path !== undefined) process.env.PATH = input.path

const startWith = (...more: ReadonlyArray<string>) =>
  ProcessTree.start(Command.make("sh", "-c", input.script, "sh", ...input.args, ...more).pipe(Command.env({ PATH })), {
    teardown,
    seal: input.seal,
    limits: input.limits
  })

const start = startWith()

const ready = Effect.zipRight(
  input.sleepers === undefined ? Effect.void : waitForSleepers(...input.sleepers),
  Console.log("ready")
)

const print = (report: Teardown.TeardownReport) =>
  Console.log(`report ${JSON.stringify(Schema.encodeSync(Teardown.TeardownReport)(report))}`)

const many = Effect.replicateEffect(start, input.trees ?? 1)

/** Who else lives here, by the process table alone. Asked again and again: a re-spawner is not there at every look. */
const others = Effect.sync(() => {
  const seen = new Set<number>()
  for (let look = 0; look < 15; look++) {
    for (const pid of readdirSync("/proc").map(Number)) {
      if (!(pid > 1) || pid === process.pid) continue
      try {
        // The guard is a process beside the host, not one of its trees, and so is what compiles this program.
        if (/guardMain|esbuild/.test(readFileSync(`/proc/${pid}/cmdline`, "latin1"))) continue
        const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
        if (!/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))) seen.add(pid)
      } catch {
        continue // ended while it was looked at
      }
    }
  }
  return seen
})

const exit = Effect.sync((): void => process.exit(3))

const modes = {
  /** Waits to be told. */
  wait: Effect.scoped(Effect.zipRight(many, Effect.zipRight(ready, Effect.never))),

  /** Leaves a file among its temporary ones, and waits. */
  scratch: Effect.scoped(Effect.gen(function*() {
    yield* many
    const spawner = yield* ProcessTree.Spawner
    const directory = yield* spawner.scratch
    writeFileSync(`${directory}/file`, "")
    yield* Console.log(`scratch ${directory}.`)
    yield* ready
    return yield* Effect.never
  })),

  /** Hands the first of its trees over, and leaves something among its temporary files. */
  detach: Effect.scoped(Effect.gen(function*() {
    const trees = yield* Effect.forEach(input.variants ?? [], (variant) => startWith(variant))
    yield* input.sleepers === undefined ? Effect.void : waitForSleepers(...input.sleepers)
    const spawner = yield* ProcessTree.Spawner
    writeFileSync(`${yield* spawner.scratch}/file`, "")
    for (const tree of trees.slice(0, 1)) {
      const { mark } = yield* tree.detach
      yield* Console.log(`detached ${mark}.`)
    }
    yield* Console.log("ready")
    if (input.then === "wait") return yield* Effect.never
    if (input.then === "exit") yield* exit
  })),

  /** Exits at once, in the midst of all. */
  exit: Effect.scoped(Effect.zipRight(many, Effect.zipRight(ready, exit))),

  /** Exits while the trees are being torn down. */
  exitMidway: Effect.gen(function*() {
    yield* Effect.scoped(Effect.gen(function*() {
      yield* many
      yield* ready
      yield* Effect.forkDaemon(Effect.zipRight(Effect.sleep("200 millis"), exit))
    }))
    yield* Console.log("the teardown has ended before")
  }),

  /** Handles signals itself, for good: the first one ends the tree, no one the host. */
  ownListener: Effect.gen(function*() {
    let count = 0
    yield* Effect.async<void>((resume) => {
      process.on("SIGINT", () => {
        count++
        Effect.runFork(Console.log(`signal ${count}`))
        resume(Effect.void)
      })
      Effect.runFork(ready)
    }).pipe((interrupted) => Effect.scoped(Effect.zipRight(many, interrupted)))
    yield* Console.log(`still here after ${count}`)
    yield* Effect.scoped(Effect.zipRight(many, Effect.zipRight(Console.log("second tree"), Effect.never))).pipe(
      Effect.raceFirst(Effect.repeat(Effect.sleep("5 millis"), { until: () => count >= 6 }))
    )
    process.exit(9)
  }),

  /** Has nothing more to do when its trees have ended. */
  done: Effect.scoped(Effect.zipRight(many, ready)),

  /** Ends one tree after another and prints each report, and how many others live then. */
  repeat: Effect.forEach(
    Array.from({ length: input.trees ?? 1 }).flatMap(() => input.variants ?? []),
    (variant) =>
      Effect.gen(function*() {
        const report = yield* Effect.scoped(Effect.gen(function*() {
          const tree = yield* startWith(variant)
          yield* Effect.sleep("30 millis")
          return yield* tree.teardown
        }))
        yield* print(report)
        yield* Console.log(`others ${(yield* others).size}`)
      })
  ),

  /** Tells how many milliseconds its first start takes. */
  first: Effect.scoped(Effect.gen(function*() {
    const before = yield* Clock.currentTimeNanos
    yield* start
    yield* Console.log(`first ${Number((yield* Clock.currentTimeNanos) - before) / 1e6}`)
  })),

  /** Waits for its tree, which its limits end, and prints the report and how many others live then. */
  limited: Effect.scoped(Effect.gen(function*() {
    const before = yield* Clock.currentTimeMillis
    const tree = yield* start
    const report = yield* tree.report
    yield* Console.log(`took ${(yield* Clock.currentTimeMillis) - before}`)
    yield* print(report)
    yield* Console.log(`others ${(yield* others).size}`)
  })),

  /** Ends its first tree when it reads a line, and prints the report. */
  inner: Effect.scoped(Effect.gen(function*() {
    const trees = yield* many
    yield* ready
    yield* Effect.async<void>((resume) => {
      process.stdin.once("data", () => resume(Effect.void))
    })
    for (const tree of trees.slice(0, 1)) yield* Effect.flatMap(tree.teardown, print)
    return yield* Effect.never
  })),

  /** Ends its tree, and prints the report and what is published. */
  report: Effect.scoped(Effect.gen(function*() {
    const tree = yield* start
    yield* Stream.runHead(tree.stdout)
    yield* ready
    const { warnings } = yield* Containment.probe
    yield* Effect.forEach(warnings, (warning) => Console.log(`warning ${warning}`))
    yield* Effect.flatMap(tree.teardown, print)
  }))
}

const mode: Effect.Effect<unknown, unknown, ProcessTree.Spawner> = modes[input.mode]
const program = Effect.asVoid(mode).pipe(Effect.provide(NodeProcessTree.layerWith({ guard: input.guard })))

if (input.underRunMain === true) NodeRuntime.runMain(program)
else Effect.runFork(program)
