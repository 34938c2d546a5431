/**
 * What the end of the host means for the trees that are alive in it. One set of listeners for all trees of the process,
 * there only while a tree is.
 *
 * - A signal that somebody else listens to (`NodeRuntime.runMain` does) is theirs: they interrupt, finalizers run. One
 *   more during a teardown skips the rest of its grace. Whoever keeps listening also keeps the host.
 * - A signal whose listeners went away after an earlier one (those of `runMain` do) comes to a host that is ending: all
 *   grace is skipped. The next one ends everything at once, and then the host.
 * - A signal that nobody else has listened to would have ended the host: all trees are killed at once, then it does.
 * - SIGHUP, which `runMain` does not know, is passed on as SIGTERM to those who listen to that.
 * - At `process.exit` and after an uncaught exception all trees are killed, synchronously.
 */
import * as os from "node:os"
import type { Sweep } from "./sweep.js"

export interface LiveTree {
  /** The whole teardown without grace, for a host that cannot wait. */
  readonly killNow: () => Sweep
  /** Skips the grace of a teardown that has begun. */
  readonly hurry: () => void
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
type HostSignal = typeof signals[number]

// Another copy of this module in the process must be known as one of ours, or each would wait for the other to act.
const ours = Symbol.for("effect-agents/hostExit")

const live = new Set<LiveTree>()
/** The signals that had a listener when one was last passed on, or nothing before that. */
let passed: ReadonlyArray<HostSignal> | undefined
let ending = false

/** Whether the host is ending and was asked to hurry. */
export const urgent = (): boolean => ending

/** How long the pass at the host's exit may take. */
const syncBoundMs = 2000

const killAllNow = (): void => {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  let sweeps = [...live].map((tree) => tree.killNow())
  live.clear()
  const deadline = performance.now() + syncBoundMs
  while (sweeps.length > 0 && performance.now() < deadline) {
    let pause = 0
    sweeps = sweeps.filter((sweep) => {
      const next = sweep.next()
      if (next.done !== true) pause = Math.max(pause, next.value)
      return next.done !== true
    })
    if (pause > 0) Atomics.wait(cell, 0, 0, pause)
  }
}

const isOurs = (listener: object): boolean => ours in listener

const listensElsewhere = (signal: HostSignal): boolean => process.listeners(signal).some((other) => !isOurs(other))

/** The signal as which somebody else receives this one. */
const receivedAs = (signal: HostSignal): HostSignal | undefined =>
  listensElsewhere(signal) ? signal : signal === "SIGHUP" && listensElsewhere("SIGTERM") ? "SIGTERM" : undefined

const onSignal = (signal: HostSignal): void => {
  const as = receivedAs(signal)
  if (as !== undefined) {
    if (passed !== undefined) { for (const tree of live) tree.hurry() }
    passed = signals.filter((each) => receivedAs(each) !== undefined)
    if (as === signal) return
    for (const listener of process.rawListeners(as)) {
      if (!isOurs(listener)) Reflect.apply(listener, process, [as])
    }
    return
  }
  if (passed?.includes(signal) === true && !ending) {
    ending = true
    return
  }
  killAllNow()
  uninstall()
  process.kill(process.pid, signal)
  // From the first process of a pid namespace the kernel keeps what nobody handles.
  if (process.pid === 1) process.exit(128 + os.constants.signals[signal])
}

const listener = (signal: HostSignal) => Object.assign(() => onSignal(signal), { [ours]: true })

const listeners = signals.map((signal) => [signal, listener(signal)] as const)

const install = (): void => {
  passed = undefined
  ending = false
  process.on("exit", killAllNow)
  // First in line: a listener that removes itself when called would be gone before it is counted.
  for (const [signal, listener] of listeners) process.prependListener(signal, listener)
}

const uninstall = (): void => {
  process.removeListener("exit", killAllNow)
  for (const [signal, listener] of listeners) process.removeListener(signal, listener)
}

export const add = (tree: LiveTree): void => {
  if (live.size === 0) install()
  live.add(tree)
}

export const remove = (tree: LiveTree): void => {
  if (live.delete(tree) && live.size === 0) uninstall()
}
