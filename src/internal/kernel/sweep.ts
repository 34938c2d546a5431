/**
 * The teardown of one tree: the polite steps, then freeze, kill, and look until nothing is left.
 *
 * Written once as a generator that yields the milliseconds to wait. The finalizer drives it with sleeps of a live clock,
 * the pass at the host's exit with a blocking wait.
 */
import * as Duration from "effect/Duration"
import * as Teardown from "../../Teardown.js"
import type { Gauge } from "./gauge.js"
import { keyOf, kill, makeAccount, note, send } from "./kill.js"
import type { Row } from "./processTable.js"
import type { Found, Tracker } from "./tracker.js"

export type Sweep = Generator<number, Teardown.TeardownReport>

export interface Options {
  readonly tracker: Tracker
  readonly pid: number
  /** The name of the program: the leader itself begins as the shell of the shim. */
  readonly command: string
  readonly policy: Teardown.Teardown
  readonly reason: Teardown.Reason
  readonly layers: () => ReadonlyArray<Teardown.Layer>
  readonly notes: () => ReadonlyArray<string>
  /** Whether this table shows every process that the marks can be read of. */
  readonly seesAll: boolean
  readonly now: () => number
  /** Whether the polite part is to be cut short. */
  readonly urgent: () => boolean
  readonly outputHeld: () => boolean
  readonly gauge: Gauge
}

const pendingBoundMs = 1000

/** The end of a pipe is told a moment after that of the last who held it. */
const pipesBoundMs = 25

export function* sweep(options: Options): Sweep {
  const { gauge, now, policy, tracker } = options
  const began = now()
  const account = makeAccount()
  const { denied, seen } = account
  const steps: Array<Teardown.StepReport> = []
  const see = (found: Found): void => void note(account, found)
  const isDenied = (found: Found): boolean => denied.has(keyOf(found))

  const asked = (found: Found): boolean => !found.seal && !isDenied(found)
  const look = () => {
    const found = tracker.look(see)
    if (!tracker.blind()) gauge.see(found)
    return found
  }

  let members = look()
  /** Until there is a program to talk to, or it is known how it ended. */
  const settle = function*(): Generator<number, void> {
    const deadline = now() + pendingBoundMs
    while (tracker.pending() && now() < deadline && !options.urgent()) {
      yield 1
      members = look()
    }
  }

  yield* settle()
  for (const step of policy.steps) {
    if (members.every(({ seal }) => seal) || options.urgent()) break
    if (step.to === "leader" && !tracker.leaderAlive()) continue
    const stepBegan = now()
    const deadline = stepBegan + Duration.toMillis(step.wait)
    for (const found of members) {
      if (found.seal || (step.to === "leader" && found.by !== "leader")) continue
      if (step.to === "tree" && tracker.signalGroup(found, step.signal)) note(account, found).signal = step.signal
      else send(account, tracker, found, step.signal)
      // A stopped process takes a signal only once it goes on.
      if (tracker.signal(found, "SIGCONT") === "not-permitted") denied.add(keyOf(found))
    }
    let pause = 1
    let nextLook = stepBegan + 100
    let urgent = options.urgent()
    while (now() < deadline && !urgent) {
      yield Math.min(pause, deadline - now())
      pause = Math.min(pause * 2, 25)
      urgent = options.urgent()
      if (step.to === "leader" && !tracker.leaderAlive()) break
      if (!tracker.anyKnownAlive() || now() >= nextLook) {
        members = look()
        nextLook = now() + 100
        if (!members.some(asked)) break
      }
    }
    if (members.length > 0) members = look()
    steps.push(
      new Teardown.StepReport({
        signal: step.signal,
        to: step.to,
        durationMs: round(now() - stepBegan),
        alive: members.filter(({ seal }) => !seal).length
      })
    )
  }

  yield* settle()
  // The bound of the policy holds for the kill too, and it always gets the time for its looks.
  const deadline = now() + Duration.toMillis(policy.settle)
  members = yield* kill(account, tracker, members, () => now() >= deadline)
  const pipesDeadline = now() + pipesBoundMs
  while (members.length === 0 && options.reason !== "host-exit" && options.outputHeld() && now() < pipesDeadline) {
    yield 1
  }

  const left = new Set(members.map(keyOf))
  const survivors = members.map((found) =>
    new Teardown.SurvivingProcess({ ...named(found), why: whyLeft(found.row, isDenied(found)) })
  )
  return new Teardown.TeardownReport({
    pid: options.pid,
    command: options.command,
    reason: options.reason,
    steps,
    killed: [...seen.entries()].filter(([key]) => !left.has(key)).map(([, { found, signal }]) =>
      new Teardown.KilledProcess({ ...named(found), ...(signal === undefined ? {} : { signal }) })
    ),
    survivors,
    verified: survivors.length > 0
      ? "survivors"
      : options.seesAll && !tracker.blind() && tracker.settled()
      ? "empty"
      : "not-visible",
    layers: options.layers(),
    notes: options.notes(),
    looks: tracker.looks(),
    outputHeld: options.outputHeld(),
    ...gauge.says(),
    durationMs: round(now() - began)
  })
}

const named = ({ by, row }: Found) => ({ pid: row.pid, startTime: row.startTime, command: row.command, by })

const whyLeft = (row: Row, isDenied: boolean): Teardown.SurvivingProcess["why"] =>
  isDenied ? "not-permitted" : row.state === "D" ? "uninterruptible" : "deadline"

const round = (ms: number): number => Math.round(ms * 100) / 100
