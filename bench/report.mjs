/** What was measured, as data and as tables. */
import { cpus, loadavg, release, totalmem } from "node:os"
import { createRequire } from "node:module"
import { median } from "./measure.mjs"
import { targets } from "./targets.mjs"

const { version } = createRequire(import.meta.url)("../package.json")
const own = (name) => createRequire(import.meta.url)(`${name}/package.json`).version

export const head = (peers, quick) => ({
  mode: quick ? "quick" : "full",
  date: new Date().toISOString().slice(0, 10),
  machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  system: `${process.platform} ${release()}, ${process.arch}`,
  load: [loadavg()[0]],
  node: process.versions.node,
  ours: { "effect-agents": version, effect: own("effect"), "@effect/platform-node": own("@effect/platform-node") },
  peers
})

export const ended = (head, milliseconds) => ({
  ...head,
  seconds: Math.round(milliseconds / 1000),
  load: [...head.load, loadavg()[0]]
})

const spread = (values) => ({ median: median(values), min: Math.min(...values), max: Math.max(...values) })

/** Of each metric the median, the least and the most, and the median of the ratios to the baseline, round by round. */
export const of = ({ benches, head, left, rows }) => {
  const tables = benches.flatMap(({ baseline, metrics, title }) => {
    const mine = rows.filter((row) => row.bench === title && row.results.length > 0)
    return [...new Set(mine.map((row) => row.case))].map((name) => {
      const some = mine.filter((row) => row.case === name)
      const base = some.find(({ arm }) => arm === baseline)?.results
      return {
        bench: title,
        case: name,
        baseline,
        metrics,
        rows: some.map(({ arm, results }) => ({
          arm,
          n: results.length,
          metrics: Object.fromEntries(
            Object.keys(metrics).flatMap((metric) => {
              const known = results.map((result) => result[metric]).filter(Number.isFinite)
              const ratios = results.flatMap((result, n) => {
                const ratio = result[metric] / base?.[n]?.[metric]
                return Number.isFinite(ratio) ? [ratio] : []
              })
              return known.length === 0
                ? []
                : [[metric, { ...spread(known), ...(ratios.length > 0 ? { ratio: median(ratios) } : {}) }]]
            })
          ),
          // What is no number: who was left, and what never ended.
          notes: [...new Set(results.flatMap(({ notes }) => notes ?? []))],
          seen: results.find(({ seen }) => seen !== undefined)?.seen
        }))
      }
    })
  })
  return { head, targets: targets(tables), tables, left }
}

const units = {
  ms: (n) => n.toLocaleString("en", { maximumFractionDigits: n < 10 ? 2 : n < 100 ? 1 : 0 }),
  bytes: (n) => (n / 1e6).toLocaleString("en", { maximumFractionDigits: n < 1e7 ? 2 : 1 }),
  count: (n) => n.toLocaleString("en", { maximumFractionDigits: 1 })
}
const names = { ms: "ms", bytes: "MB", count: "" }

const cell = (unit, { max, median, min, ratio } = {}) =>
  median === undefined
    ? "–"
    : `${units[unit](median)} (${units[unit](min)}–${units[unit](max)})${
      ratio === undefined ? "" : ` **${ratio.toFixed(2)} ×**`
    }`

const line = (cells) => `| ${cells.join(" | ")} |`
const table = (titles, rows) => [line(titles), line(titles.map(() => "---")), ...rows.map(line)].join("\n")

const pairs = (object) => Object.entries(object).map(([name, version]) => `${name} ${version}`).join(", ")

export const markdown = ({ head, left, tables, targets }) =>
  [
    `# Results: ${head.mode} run`,
    `${head.date}. ${head.machine}. ${head.system}. Node ${head.node}. Load average ${
      head.load.map((load) => load.toFixed(2)).join(" before, ")
    } after; ${head.seconds} s.\n\nOurs: ${pairs(head.ours)}. Peers: ${pairs(head.peers)}.`,
    "Each cell: median (least–most) of the rounds, and **×** the median of the ratios to the baseline of the same round.",
    "## What it must show",
    table(
      ["what", "at most", "reached", ""],
      targets.map(({ limit, met, reached, what }) => [
        what,
        limit,
        reached,
        met === undefined ? "not measured" : met ? "met" : "**missed**"
      ])
    ),
    ...tables.flatMap(({ baseline, bench, case: name, metrics, rows }, index) => [
      ...(tables[index - 1]?.bench === bench ? [] : [`## ${bench}`]),
      `### ${name}`,
      table(
        ["arm", ...Object.entries(metrics).map(([name, unit]) => `${name} ${names[unit]}`.trim()), "n", ""],
        rows.map(({ arm, metrics: found, n, notes }) => [
          arm === baseline ? `${arm} (baseline)` : arm,
          ...Object.entries(metrics).map(([metric, unit]) => cell(unit, found[metric])),
          n,
          notes.join(", ")
        ])
      )
    ]),
    ...(left.length === 0
      ? []
      : [
        "## Not run",
        table(["bench", "case", "arm", "why"], left.map((row) => [row.bench, row.case, row.arm, row.why]))
      ])
  ].join("\n\n") + "\n"
