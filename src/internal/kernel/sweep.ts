/**
 * The teardown of one tree: the polite steps, then freeze, kill, and look until nothing is left.
 *
 * Written once as a generator that yields the milliseconds to wait. The finalizer drives it with sleeps of a live clock,
 * the pass at the host's exit with a blocking wait.
 */
import * as Duration from "effect/Duration"
import * as Teardown from "../../Teardown.js"
import type { Row } from "./processTable.js"
import type { Found, Tracker } from "./tracker.js"

export type Sweep = Generator<number, Teardown.TeardownReport>

export interface Options {
  readonly tracker: Tracker
  /** The name of the program: the leader itself begins as the shell of the shim. */
  readonly command: string
  readonly policy: Teardown.Teardown
  readonly reason: Teardown.Reason
  readonly layers: ReadonlyArray<Teardown.Layer>
  /** Whether this table shows every process that the marks can be read of. */
  readonly seesAll: boolean
  readonly now: () => number
  /** Whether the polite part is to be cut short. */
  readonly urgent: () => boolean
  readonly outputHeld: () => boolean
}

/** A re-spawner slips between two looks now and then; between six it was never seen to. */
const cleanLooks = 6
const betweenLooks = 2

interface Ended {
  readonly found: Found
  signal: string | undefined
}

export function* sweep(options: Options): Sweep {
  const { now, policy, tracker } = options
  const began = now()
  const seen = new Map<string, Ended>()
  const denied = new Set<string>()
  const steps: Array<Teardown.StepReport> = []

  const note = (found: Found): Ended => {
    const key = keyOf(found)
    const entry = seen.get(key) ?? { found, signal: undefined }
    seen.set(key, entry)
    return entry
  }
  const send = (found: Found, signal: NodeJS.Signals): void => {
    const entry = note(found)
    const result = tracker.signal(found, signal)
    if (result === "sent") entry.signal = signal
    if (result === "not-permitted") denied.add(keyOf(found))
  }
  const isDenied = (found: Found): boolean => denied.has(keyOf(found))

  let members = tracker.look(note)

  for (const step of policy.steps) {
    if (members.length === 0 || options.urgent()) break
    if (step.to === "leader" && !tracker.leaderAlive()) continue
    const stepBegan = now()
    const deadline = stepBegan + Duration.toMillis(step.wait)
    for (const found of members) {
      if (step.to === "leader" && found.by !== "leader") continue
      if (step.to === "tree" && tracker.signalGroup(found, step.signal)) note(found).signal = step.signal
      else send(found, step.signal)
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
        members = tracker.look(note)
        nextLook = now() + 100
        if (members.every(isDenied)) break
      }
    }
    members = tracker.look(note)
    steps.push(
      new Teardown.StepReport({
        signal: step.signal,
        to: step.to,
        durationMs: round(now() - stepBegan),
        alive: members.length
      })
    )
  }

  // The bound of the policy holds for the kill too, and it always gets the time for its looks.
  const deadline = now() + Duration.toMillis(policy.settle)
  if (members.length > 0) {
    const frozen = new Set<string>()
    for (let pass = 0; pass < 20 && now() < deadline; pass++) {
      let fresh = 0
      members = tracker.look((found) => {
        const key = keyOf(found)
        note(found)
        if (frozen.has(key)) return
        frozen.add(key)
        fresh++
        tracker.signalGroup(found, "SIGSTOP")
        if (tracker.signal(found, "SIGSTOP") === "not-permitted") denied.add(key)
      })
      if (fresh === 0) break
    }
  }

  let clean = members.length === 0 ? 1 : 0
  for (;;) {
    const before = seen.size
    const killed = new Set<number>()
    const left = members
    members = tracker.look((found) => {
      if (tracker.signalGroup(found, "SIGKILL")) killed.add(found.row.group)
      send(found, "SIGKILL")
    })
    // Whoever dies with its group before the look comes to it is not found any more.
    for (const found of [...left, ...members]) if (killed.has(found.row.group)) note(found).signal = "SIGKILL"
    const killable = members.some((found) => !isDenied(found))
    clean = killable ? 0 : tracker.blind() ? clean : clean + 1
    if (clean >= cleanLooks || (now() >= deadline && (clean === 0 || tracker.blind()))) break
    // While new ones turn up it is a race; after that the kernel needs a moment to bury the dead.
    yield seen.size > before ? 0 : clean === 0 ? 1 : betweenLooks
  }

  const left = new Set(members.map(keyOf))
  const survivors = members.map((found) =>
    new Teardown.SurvivingProcess({ ...named(found), why: whyLeft(found.row, isDenied(found)) })
  )
  return new Teardown.TeardownReport({
    pid: tracker.leader.pid,
    command: options.command,
    reason: options.reason,
    steps,
    killed: [...seen.entries()].filter(([key]) => !left.has(key)).map(([, { found, signal }]) =>
      new Teardown.KilledProcess({ ...named(found), ...(signal === undefined ? {} : { signal }) })
    ),
    survivors,
    verified: survivors.length > 0 ? "survivors" : options.seesAll && !tracker.blind() ? "empty" : "not-visible",
    layers: options.layers,
    looks: tracker.looks(),
    outputHeld: options.outputHeld(),
    durationMs: round(now() - began)
  })
}

const keyOf = ({ row }: Found): string => `${row.pid}:${row.startTime}`

const named = ({ by, row }: Found) => ({ pid: row.pid, startTime: row.startTime, command: row.command, by })

const whyLeft = (row: Row, isDenied: boolean): Teardown.SurvivingProcess["why"] =>
  isDenied ? "not-permitted" : row.state === "D" ? "uninterruptible" : "deadline"

const round = (ms: number): number => Math.round(ms * 100) / 100
