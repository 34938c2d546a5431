/** The tables as a page. */
import type { Part } from "./guarantees.js"
import { type Proof, type Row, states } from "./row.js"

export interface Table {
  readonly title: string
  readonly about: string
  readonly rows: ReadonlyArray<Row>
}

const shown = (proof: Proof): string =>
  "check" in proof ? `\`${proof.check}\`` : `\`${proof.file.replace(/^test\/|\.test\.ts$/g, "")}\`: ${proof.title}`

const cell = (text: string): string => text.replaceAll("|", "\\|")

const line = (cells: ReadonlyArray<string>): string => `| ${cells.map(cell).join(" | ")} |`

const count = (rows: ReadonlyArray<Row>): string =>
  states.map((state) => `${rows.filter((row) => row.state === state).length} ${state}`).join(", ")

const section = ({ about, rows, title }: Table): string =>
  [
    `## ${title}`,
    "",
    `${about} ${count(rows)}.`,
    "",
    line(["", "what", "state", "proof"]),
    line(["---", "---", "---", "---"]),
    ...rows.map(({ id, proofs, state, what, why }) =>
      line([id, what, why === undefined ? state : `${state}: ${why}`, proofs.map(shown).join("<br>")])
    )
  ].join("\n")

export const page = (tables: ReadonlyArray<Table>): string =>
  `${
    [
      "# Parity",
      "What can be asked of a library that drives coding agents, what goes wrong in such libraries, and what people have\n"
      + "reported: what has become of each here, and the test that proves it. A proof is a file below `test/` and words of a\n"
      + "title in it, or a check of `npm run check`; those below `real/` need the real CLIs (`npm run test:real`).",
      "Written by `npx vitest run test/parity -u` from the tables in `test/parity`, which fail without a test that is there.",
      ...tables.map(section)
    ].join("\n\n")
  }\n`

export const promises = (parts: ReadonlyArray<Part>): string =>
  `${
    [
      "# Guarantees",
      "What is promised, by which layer, on which system, and the test that proves it. A proof is a file below `test/` and\n"
      + "words of a title in it; those below `real/` need the real CLIs (`npm run test:real`), those below `zoo/` are let loose\n"
      + "by `npm run test:zoo`. What the layers are, and what none of them does, is in [containment.md](containment.md).",
      "POSIX is Linux, macOS and BSD. All tests run on Linux: what is said of macOS, BSD and Windows is proven there with the\n"
      + "process table or the tools of those systems played, and was not tried on such a machine yet.",
      "Written by `npx vitest run test/parity -u` from `test/parity/guarantees.ts`, which fails without a test that is there.",
      ...parts.map(({ rows, title }) =>
        [
          `## ${title}`,
          "",
          line(["promise", "layer", "platform", "proof"]),
          line(["---", "---", "---", "---"]),
          ...rows.map(({ layer, platform, promise, proofs }) =>
            line([promise, layer, platform, proofs.map(shown).join("<br>")])
          )
        ].join("\n")
      )
    ].join("\n\n")
  }\n`
