/**
 * A host that is told what to do line by line. Uses what the package exports, and is bundled from what is built.
 */
import * as Command from "@effect/platform/Command"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { createInterface } from "node:readline"

/** What is run: a script with its arguments, as so many trees. */
export interface Run {
  readonly script: string
  readonly args: ReadonlyArray<string>
  readonly trees: number
  readonly graceMs: number
  readonly seal: ProcessTree.Seal
}

/** To look at it, and the ways to end it that a host can be told of. */
export type Order = "look" | "close" | "interrupt" | "timeout" | "exit" | "throw"

const say = (what: string, value?: unknown) =>
  Console.log(value === undefined ? what : `${what} ${JSON.stringify(value)}`)

const start = ({ args, graceMs, script, seal, trees }: Run) =>
  ProcessTree.start(Command.make("sh", "-c", script, "sh", ...args), { teardown: Teardown.graceful(graceMs), seal })
    .pipe(
      Effect.replicateEffect(trees),
      Effect.tapError((error) => say("failed", `${error._tag}: ${error.message}`))
    )

/** As it is sent on, with few of many dead: the end of a long line is lost when the host exits. */
const short = (report: Teardown.TeardownReport) => {
  const encoded = Schema.encodeSync(Teardown.TeardownReport)(report)
  return { ...encoded, killed: encoded.killed.slice(0, 20) }
}

/** Lives until it is told to end, and then says the reports. */
const live = (run: Run, orders: Queue.Dequeue<string>) =>
  Effect.scoped(Effect.gen(function*() {
    const started: Array<ProcessTree.ProcessTree> = []
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(Effect.forEach(started, (tree) => tree.report), (reports) => say("reports", reports.map(short)))
    )
    started.push(...yield* start(run))
    yield* say("started", started.map((tree) => tree.pid))
    const look = Effect.zipRight(Effect.forEach(started, (tree) => tree.members), say("looked"))
    const next = Effect.tap(Queue.take(orders), (order) => order === "look" ? look : Effect.void)
    switch (yield* Effect.repeat(next, { while: (order) => order === "look" })) {
      case "close":
        return
      case "timeout":
        return yield* Effect.timeout(Effect.never, "1 millis")
      case "exit":
        return yield* Effect.sync((): void => process.exit(3))
      case "throw":
        return yield* Effect.async<never>(() => {
          setImmediate(() => {
            throw new Error("as if by a mistake")
          })
        })
      default:
        return yield* Effect.never
    }
  }))

const program = Effect.gen(function*() {
  const orders = yield* Queue.unbounded<string>()
  createInterface(process.stdin).on("line", (line) => orders.unsafeOffer(line))
  yield* say("ready")
  return yield* Effect.forever(Effect.gen(function*() {
    const run: Run = JSON.parse(yield* Queue.take(orders))
    const inner = yield* Queue.unbounded<string>()
    const fiber = yield* Effect.fork(live(run, inner))
    const forward = Effect.tap(
      Queue.take(orders),
      (order) => order === "interrupt" ? Fiber.interrupt(fiber) : Queue.offer(inner, order)
    )
    yield* Effect.repeat(forward, { while: (order) => order === "look" })
    yield* Fiber.await(fiber)
  }))
})

program.pipe(Effect.provide(NodeProcessTree.layer), NodeRuntime.runMain)
