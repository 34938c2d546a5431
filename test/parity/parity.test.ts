/** The tables of parity are whole, and every proof in them is there. */
import { assert, describe, expect, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as ts from "typescript"
import { capabilities, errors } from "./capabilities.js"
import { defects, missing } from "./defects.js"
import { page, promises, type Table } from "./document.js"
import { guarantees } from "./guarantees.js"
import { reports } from "./reports.js"
import { type Proof, range, type Row } from "./row.js"

const tables: ReadonlyArray<Table> = [
  { title: "Capabilities", about: "What can be asked for.", rows: capabilities },
  { title: "Errors", about: "What can be told apart when it goes wrong.", rows: errors },
  { title: "Defects", about: "Where it `works`, the defect is not here.", rows: defects },
  { title: "What is often missing", about: "What such libraries lack.", rows: missing },
  { title: "Reports", about: "What people have reported of agents and of process trees.", rows: reports }
]

/** Of a list that has gaps. */
const reported = [
  "1-8 10 11 12 14-25 27 29-33 35 39 43 45 47 48 49 51 52 54 57 58 60 61 64 65 67-71 73 75 76 77 80-83 85 87-92 94 95",
  "96 100 103-109"
].flatMap((line) =>
  line.split(" ").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => `B${String(first + index).padStart(2, "0")}`)
  })
)

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** A title with its values left open, as it stands in the source. */
const textOf = (node: ts.Node): string | undefined =>
  ts.isStringLiteralLike(node) ? node.text : ts.isTemplateExpression(node) ? node.getText().slice(1, -1) : undefined

const rootOf = (callee: ts.Node): ts.Node =>
  ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee) ? rootOf(callee.expression) : callee

/** Of a test, or of a group of them. */
const isTitle = (node: ts.Node): boolean =>
  ts.isCallExpression(node.parent) && node.parent.arguments[0] === node
  && /^(it|test|describe|live|conform\w*)$/.test(rootOf(node.parent.expression).getText())

const isSkipped = (call: ts.Node): boolean => /^\w+\.(skip|todo)\b/.test(call.getText())

interface Titles {
  readonly titles: Set<string>
  /** Literals that a title takes its values from. */
  readonly values: Set<string>
}

const titles = new Map<string, Titles>()

const titlesOf = (path: string): Titles => {
  const known = titles.get(path)
  if (known !== undefined) return known
  const found: Titles = { titles: new Set(), values: new Set() }
  const visit = (node: ts.Node): void => {
    const text = textOf(node)
    if (text !== undefined && !isTitle(node)) found.values.add(text)
    if (text !== undefined && isTitle(node) && !isSkipped(node.parent)) found.titles.add(text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, readFileSync(at(path), "utf8"), ts.ScriptTarget.ES2022, true))
  titles.set(path, found)
  return found
}

const scripts: Record<string, string> = JSON.parse(readFileSync(at("package.json"), "utf8")).scripts

const isThere = (proof: Proof): boolean => {
  if ("check" in proof) return proof.check in scripts
  if (!existsSync(at(proof.file))) return false
  const { titles, values } = titlesOf(proof.file)
  return [...titles].some((title) => title.includes(proof.title)) || values.has(proof.title)
}

const shown = (proof: Proof): string => "check" in proof ? proof.check : `${proof.file}: ${proof.title}`

const idsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => rows.map(({ id }) => id)

describe("parity", () => {
  it("has every row once", () => {
    const all = tables.flatMap(({ rows }) => idsOf(rows))
    assert.strictEqual(new Set(all).size, all.length, "an id comes twice")
    const lettered = idsOf(capabilities).filter((id) => /^C39[abc]$/.test(id))
    assert.deepStrictEqual(lettered, ["C39a", "C39b", "C39c"])
    assert.deepStrictEqual(idsOf(capabilities).filter((id) => !lettered.includes(id)), range("C", 89))
    assert.deepStrictEqual(idsOf(errors), range("E", 17))
    assert.deepStrictEqual(idsOf(defects), range("D", 30))
    assert.deepStrictEqual(idsOf(missing), range("M", 22))
    assert.deepStrictEqual(idsOf(reports), reported)
  })

  it("has a test for every row that works, and a reason for every other", () => {
    const bare = tables.flatMap(({ rows }) => rows).filter(({ proofs, state, why }) =>
      state === "works" || state === "differs"
        ? proofs.length === 0 || (state === "differs" && why === undefined)
        : state === "out of scope" && why === undefined
    )
    assert.deepStrictEqual(idsOf(bare), [])
  })

  it("names only tests that are there", () => {
    const gone = tables.flatMap(({ rows }) => rows).flatMap(({ id, proofs }) =>
      proofs.filter((proof) => !isThere(proof)).map((proof) => `${id} ${shown(proof)}`)
    )
    assert.deepStrictEqual(gone, [])
  })

  it("docs/parity.md is what the tables say", async () => {
    await expect(page(tables)).toMatchFileSnapshot("../../docs/parity.md")
  })
})

describe("guarantees", () => {
  const rows = guarantees.flatMap(({ rows }) => rows)

  it("names only tests that are there, and one at least for every promise", () => {
    const wrong = rows.flatMap(({ promise, proofs }) =>
      proofs.length === 0
        ? [`${promise}: no proof`]
        : proofs.filter((proof) => !isThere(proof)).map((proof) => `${promise}: ${shown(proof)}`)
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("docs/guarantees.md is what the table says", async () => {
    await expect(promises(guarantees)).toMatchFileSnapshot("../../docs/guarantees.md")
  })
})
