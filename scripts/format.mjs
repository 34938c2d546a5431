// Formats source files (those named, or all) by dprint's wasm plugin; with --check it only tells which are not formatted.
// The plugin is run here, not by the dprint program: that one needs a binary for each platform.
import { createContext } from "@dprint/formatter"
import * as typescript from "@dprint/typescript"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { filesUnder, read, report, root } from "./files.mjs"

const check = process.argv.includes("--check")
const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"))
const { excludes: _, includes: __, plugins: ___, typescript: options, ...shared } = JSON.parse(read("dprint.json"))
const context = createContext(shared)
context.addPlugin(readFileSync(typescript.getPath()), options)

const problems = []
for (const filePath of named.length > 0 ? named : filesUnder(".", /\.(ts|mts|js|mjs|cjs)$/)) {
  const fileText = read(filePath)
  try {
    const formatted = context.formatText({ filePath, fileText })
    if (formatted === fileText) continue
    if (check) problems.push(`${filePath} is not formatted (npm run format)`)
    else writeFileSync(join(root, filePath), formatted)
  } catch (error) {
    problems.push(`${filePath}: ${error}`)
  }
}
report("format", problems)
