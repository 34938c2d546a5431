/**
 * The program of the guard: a process of its own that outlives its host by one sweep. It waits for the end of the pipe
 * that only the host holds, which comes however the host ends, and then ends whatever carries the host's mark. Until
 * then it looks at the trees that it is asked to, and tells what they use.
 *
 * Started by `guard.ts` with a `Watch` as its argument. Imports nothing of Effect: it has to be small.
 */
import * as cgroup from "./cgroup.js"
import { now } from "./clock.js"
import * as detached from "./detached.js"
import type { Watch } from "./guard.js"
import { kill, makeAccount } from "./kill.js"
import { remove } from "./ledger.js"
import { onLines, ready } from "./lines.js"
import * as processTable from "./processTable.js"
import * as remains from "./remains.js"
import * as sampler from "./sampler.js"
import * as scratch from "./scratch.js"

/** However the sweep goes, the guard is not to stay. */
const sweepBoundMs = 10_000

/** Of a host that does not read, only what it must know is kept. */
const unreadAtMost = 65536

const watch: Watch = JSON.parse(process.argv[2] ?? "")
const table = processTable.forSystem(process.platform === "linux")

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const) {
  process.on(signal, () => {})
}

const finish = (): void => {
  if (watch.cgroup !== undefined) cgroup.remove(watch.cgroup)
  // Those that were handed over have theirs in it too.
  if (watch.scratch !== undefined && !detached.has(watch.detached, watch.id)) scratch.remove(watch.scratch)
  if (watch.ledger !== undefined) remove(watch.ledger)
  process.exit(0)
}

const sweep = (): void => {
  const own = table.row(process.pid)
  if (own === undefined) return finish()
  const spares = detached.sparing(watch.detached, watch.id, table)
  const tracked = remains.track({ ...watch, table, self: own, now, since: watch.host.startTime, spares })
  const deadline = now() + sweepBoundMs
  const killing = kill(makeAccount(), tracked, tracked.look(), () => now() >= deadline)
  const step = (): void => {
    const next = killing.next()
    if (next.done === true) finish()
    else if (next.value === 0) setImmediate(step)
    else setTimeout(step, next.value)
  }
  step()
}

const ask = sampler.make({
  host: watch.host,
  now,
  tell: (told) => {
    if (told.reading.exceeded === undefined && process.stdout.writableLength > unreadAtMost) return
    process.stdout.write(`${JSON.stringify(told)}\n`)
  }
})

process.stdout.on("error", () => {})
process.stdin.on("error", () => {})
process.stdin.once("close", sweep)
onLines(process.stdin, (line) => ask(JSON.parse(line)))
process.stdout.write(`${ready}\n`)
