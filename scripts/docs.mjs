// Every public export carries @since, @category and a sentence; if it is a value (not a type), an example of its own.
// Every public module has a head that says what it is for, and an example. The barrel needs sentences only.
import ts from "typescript"
import { publicModules, read, report, testModules } from "./files.mjs"

const problems = []
let exportsSeen = 0
let withExample = 0

const example = /^\*\*Example\*\*$(?:(?!^```)[\s\S])*^```ts$[\s\S]+?^```$/m

const textOf = (doc) => (ts.getTextOfJSDocComment(doc?.comment) ?? "").trim()
const isExported = (statement) =>
  ts.canHaveModifiers(statement)
  && (ts.getModifiers(statement) ?? []).some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)
const lastDoc = (node) => (node.jsDoc ?? []).at(-1)
/** What a comment says beside its examples. */
const sentencesOf = (doc) => textOf(doc).replace(/^```[\s\S]*?^```$/gm, "").replace(/^\*\*Example\*\*$/gm, "").trim()
const isType = (node) =>
  ts.isInterfaceDeclaration(node)
  || ts.isTypeAliasDeclaration(node)
  || (ts.isExportDeclaration(node) && node.isTypeOnly)
  || (ts.isExportSpecifier(node) && (node.isTypeOnly || node.parent.parent.isTypeOnly))

/** Names a statement exports, each with the node that bears its comment. */
const exportsOf = (statement) => {
  if (ts.isExportDeclaration(statement)) {
    if (statement.exportClause === undefined) return [["*", statement]]
    if (ts.isNamespaceExport(statement.exportClause)) return [[statement.exportClause.name.text, statement]]
    return statement.exportClause.elements.map((element) => [
      element.name.text,
      element.jsDoc === undefined ? statement : element
    ])
  }
  if (!isExported(statement)) return []
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((declaration) => [declaration.name.getText(), statement])
  }
  return [[statement.name?.text ?? "default", statement]]
}

for (const { source } of [{ source: "src/index.ts" }, ...publicModules, ...testModules]) {
  const file = ts.createSourceFile(source, read(source), ts.ScriptTarget.ES2022, true)
  const place = (node) => `${source}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
  const overloaded = new Set()
  for (const [name, node] of file.statements.flatMap(exportsOf)) {
    // The first of several signatures speaks for all.
    if (ts.isFunctionDeclaration(node)) {
      if (overloaded.has(name)) continue
      overloaded.add(name)
    }
    const doc = lastDoc(node)
    const tags = doc === undefined ? [] : (doc.tags ?? []).map((tag) => tag.tagName.text)
    if (tags.includes("internal")) continue
    exportsSeen++
    if (example.test(textOf(doc))) withExample++
    else if (source !== "src/index.ts" && !isType(node)) problems.push(`${place(node)} ${name} has no example`)
    if (!tags.includes("since")) problems.push(`${place(node)} ${name} has no @since`)
    if (sentencesOf(doc) === "") problems.push(`${place(node)} ${name} is not described`)
    if (source === "src/index.ts") continue
    const category = (doc?.tags ?? []).find((tag) => tag.tagName.text === "category")
    if (category === undefined || textOf(category) === "") problems.push(`${place(node)} ${name} has no @category`)
    else if (/^(utils?|misc)$/i.test(textOf(category))) problems.push(`${place(node)} ${name} has an empty category`)
  }

  if (source === "src/index.ts") continue
  const head = /^\/\*\*[\s\S]*?\*\//.exec(file.text)?.[0] ?? ""
  if (!head.includes("@since") || head.includes("@category")) problems.push(`${source} does not begin with its own doc`)
  else if (!/^ \* [^@\s]/m.test(head)) problems.push(`${source} does not say what it is for`)
  if (!/^ *\* *```ts/m.test(file.text)) problems.push(`${source} has no example`)
}

report(`docs (${exportsSeen} exports, ${withExample} with an example of their own)`, problems)
