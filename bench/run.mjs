/**
 * The benches, all arms in turn, each in a process of its own:
 *
 * node bench/run.mjs [--quick] [--only <bench>,…] [--arms <arm>,…] [--rounds <n>]
 *
 * Writes bench/results/full.md and .json, or quick.md and .json. Fails when an arm of this library does, or leaves a
 * process behind.
 */
import { fork } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { nodeOf, ready, versions } from "./peers/ready.mjs"
import * as processes from "./processes.mjs"
import * as report from "./report.mjs"

const { values: { arms, only, quick, rounds } } = parseArgs({
  options: {
    arms: { type: "string" },
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    rounds: { type: "string" }
  }
})
const names = ["events", "pressure", "first", "teardown", "scale", "startup", "endurance"]
const benches = await Promise.all(
  names.filter((name) => only === undefined || only.split(",").includes(name)).map(async (name) => ({
    name,
    ...await import(`./${name}.mjs`)
  }))
)
const began = performance.now()
const head = report.head(versions(), quick)
const unready = ready(!quick)
const measuring = performance.now()
/** Milliseconds after which only what is ours still runs, once. */
const limit = quick ? 35_000 : 520_000 - (measuring - began)
/** Milliseconds that a peer may take to be measured more than once. */
const slow = 3000
const directory = mkdtempSync(join(tmpdir(), "effect-agents-bench-"))
const rows = []
const left = []
const failures = []

const isOurs = (arm) => arm.startsWith("ours")

/** An arm in its process: what it says, one after the other, and how it is told something. */
const start = (bench, arm, given) => {
  const child = fork(new URL("arm.mjs", import.meta.url), [bench.name, arm], {
    execPath: nodeOf(arm),
    execArgv: ["--expose-gc"],
    cwd: directory,
    stdio: ["ignore", "ignore", isOurs(arm) ? "inherit" : "ignore", "ipc"]
  })
  child.send(given)
  const said = []
  let told = () => {}
  const hear = (message) => {
    said.push(message)
    told()
  }
  child.on("message", hear)
  child.once("exit", (code, signal) => hear({ failure: `ended with ${signal ?? code}` }))
  /** Waits for what it says next, or for something else before. */
  const next = async (within = 300_000, before) => {
    const timer = setTimeout(() => hear({ failure: `nothing within ${within} ms` }), within)
    let waits = true
    void before?.then((result) => waits && hear({ result }))
    while (said.length === 0) await new Promise((resolve) => told = resolve)
    waits = false
    clearTimeout(timer)
    const { failure, result } = said.shift()
    if (failure !== undefined) throw new Error(failure)
    return result
  }
  const stop = () =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve()
      const timer = setTimeout(() => child.kill("SIGKILL"), 2000)
      child.once("exit", () => resolve(clearTimeout(timer)))
      if (child.connected) child.disconnect()
    })
  return { next, send: (message) => child.send(message), stop }
}

const measure = async (bench, given, arm, row) => {
  const host = start(bench, arm, given)
  try {
    row.results.push(...await (bench.observe ?? (async (host) => [await host.next()]))(host, given, arm))
  } catch (error) {
    row.failure = error.message.split("\n")[0]
    if (isOurs(arm)) failures.push(`${bench.title}, ${given.name}, ${arm}: ${error.message}`)
  }
  // What the host's own end still ends is not its merit: it is looked at before.
  const survivors = processes.alive(directory)
  if (isOurs(arm) && survivors.length > 0) {
    failures.push(`${bench.title}, ${given.name}, ${arm}: ${survivors.length} left`)
  }
  await host.stop()
  for (let left = survivors; left.length > 0; left = processes.alive(directory)) processes.kill(left)
}

const work = benches.flatMap((bench) =>
  bench.cases(quick).map((some) => ({ ...some, directory, program: some.make?.(directory) })).map((given) => ({
    bench,
    given,
    rounds: Number(rounds ?? (quick ? 1 : given.rounds ?? bench.rounds ?? 5)),
    rows: Object.keys(bench.arms).flatMap((arm) => {
      if (arms !== undefined && arm !== bench.baseline && !arms.split(",").includes(arm)) return []
      const why = unready(arm) ?? bench.unfit?.(arm, given, quick)
      if (typeof why === "string") left.push({ bench: bench.title, case: given.name, arm, why })
      return why ? [] : [{ bench: bench.title, case: given.name, arm, results: [] }]
    })
  }))
)
for (const { rows: some } of work) rows.push(...some)

for (let round = 0; work.some(({ rounds }) => rounds > round); round++) {
  for (const { bench, given, rounds, rows } of work) {
    if (rounds <= round) continue
    for (let n = 0; n < rows.length; n++) {
      const row = rows[(n + round) % rows.length]
      // What takes long takes as long the next time, and the time is for the others.
      if (row.failure !== undefined || row.took > slow && !isOurs(row.arm)) continue
      if (performance.now() - measuring > limit && !(round === 0 && (isOurs(row.arm) || row.arm === bench.baseline))) {
        if (round === 0) row.failure = "no time was left"
        continue
      }
      const started = performance.now()
      await measure(bench, given, row.arm, row)
      console.log(
        `${round + 1}: ${bench.title}, ${given.name}, ${row.arm}: ${Math.round(performance.now() - started)} ms`
      )
    }
  }
}
rmSync(directory, { recursive: true })

for (const row of rows) if (row.failure !== undefined) left.push({ ...row, why: row.failure })
const results = report.of({ head: report.ended(head, performance.now() - measuring), benches, rows, left })
const out = new URL("results/", import.meta.url)
mkdirSync(out, { recursive: true })
writeFileSync(new URL(quick ? "quick.json" : "full.json", out), `${JSON.stringify(results, undefined, 1)}\n`)
writeFileSync(new URL(quick ? "quick.md" : "full.md", out), report.markdown(results))
console.log(report.markdown(results))
for (const failure of failures) console.error(failure)
process.exit(failures.length > 0 ? 1 : 0)
