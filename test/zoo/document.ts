/**
 * Writes what a whole run of the zoo has found into `docs/containment.md`, between its markers.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { cpus, release } from "node:os"
import { fileURLToPath } from "node:url"
import { type Ending, endings } from "./rows.js"
import { fateOf, graceMs, type Result } from "./trial.js"

const file = fileURLToPath(new URL("../../docs/containment.md", import.meta.url))

const begin = "<!-- zoo: written by `npm run test:zoo` -->"
const end = "<!-- zoo: end -->"

const group = <A>(
  items: ReadonlyArray<A>,
  by: (item: A) => string
): ReadonlyArray<readonly [string, ReadonlyArray<A>]> => {
  const groups = new Map<string, Array<A>>()
  for (const item of items) groups.set(by(item), [...groups.get(by(item)) ?? [], item])
  return [...groups]
}

const cell = (results: ReadonlyArray<Result>, ending: Ending): string => {
  const result = results.find((each) => each.ending === ending)
  if (result === undefined) return "·"
  if (result.ms !== undefined) return String(Math.round(result.ms))
  const fate = fateOf(result.row, result.column)
  return fate === "dies"
    ? "**alive**"
    : fate === "escapes"
    ? "out of reach"
    : result.reports === undefined
    ? "lives"
    : "named"
}

const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const table = (results: ReadonlyArray<Result>): ReadonlyArray<string> => [
  line(["ms until nobody was left", ...endings]),
  line(["---", ...endings.map(() => "---:")]),
  ...group(results, ({ row }) => row.name).map(([name, results]) =>
    line([name, ...endings.map((ending) => cell(results, ending))])
  )
]

export const write = (results: ReadonlyArray<Result>, facts: ReadonlyArray<string>): void => {
  const machine = `Linux ${release().split("-")[0]}, ${cpus().length} processors, Node ${process.version}`
  const text = readFileSync(file, "utf8")
  const [before = "", rest = ""] = text.split(begin)
  const [, after = ""] = rest.split(end)
  const body = [
    `${machine}; ahead of other work. The grace is ${graceMs} ms, which the deaf use up.`,
    ...group(results, ({ column }) => column).map(([column, results]) =>
      [`### ${column === "none" ? "Without a seal, the default" : `seal: "${column}"`}`, "", ...table(results)].join(
        "\n"
      )
    ),
    facts.map((fact) => `- ${fact}`).join("\n")
  ]
  writeFileSync(file, [before, begin, "\n\n", body.join("\n\n"), "\n\n", end, after].join(""))
}
