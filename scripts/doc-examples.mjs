// Type-checks the ```ts blocks of the documentation: in comments of src, and in every page.
// Each block is a module of its own, padded so that an error names the line of the source it stands in.
import { join } from "node:path"
import ts from "typescript"
import { filesUnder, read, report, root } from "./files.mjs"

const blocksOf = (path) => {
  const blocks = []
  let open
  read(path).split("\n").forEach((line, index) => {
    const text = path.endsWith(".ts") ? /^\s*\* ?(.*)$/.exec(line)?.[1] : line
    if (open === undefined) {
      if (text !== undefined && /^\s*```(ts|typescript)\b/.test(text)) open = { line: index + 1, lines: [] }
    } else if (text === undefined || /^\s*```\s*$/.test(text)) {
      blocks.push({ path, ...open })
      open = undefined
    } else {
      open.lines.push(text)
    }
  })
  return blocks
}

const sources = [...filesUnder("src", /\.ts$/), ...filesUnder(".", /\.md$/)]
// The blocks are files of the program only, never of the disk.
const virtual = new Map(
  sources.flatMap(blocksOf).map((block) => [
    join(root, `example-${block.path.replaceAll("/", "-").replaceAll(".", "-")}-${block.line}.ts`),
    { path: block.path, text: "\n".repeat(block.line) + block.lines.join("\n") + "\nexport {}\n" }
  ])
)

const config = ts.getParsedCommandLineOfConfigFile(
  join(root, "tsconfig.test.json"),
  { noUnusedLocals: false, noUnusedParameters: false },
  {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
      throw new Error(String(diagnostic.messageText))
    }
  }
)
const host = ts.createCompilerHost(config.options)
const { fileExists, getSourceFile, readFile } = host
host.fileExists = (path) => virtual.has(path) || fileExists(path)
host.readFile = (path) => virtual.get(path)?.text ?? readFile(path)
host.getSourceFile = (path, options, ...rest) =>
  virtual.has(path)
    ? ts.createSourceFile(path, virtual.get(path).text, options, true)
    : getSourceFile(path, options, ...rest)

const program = ts.createProgram([...virtual.keys()], config.options, host)
const problems = program.getSourceFiles().filter((file) => virtual.has(file.fileName)).flatMap((file) =>
  [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((diagnostic) => {
    const line = file.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line + 1
    return `${virtual.get(file.fileName).path}:${line} ${
      ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n  ")
    }`
  })
)

report(`examples in documentation (${virtual.size})`, problems)
