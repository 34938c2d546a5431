// The diagnostics of the Effect language service: its defaults everywhere, and in src also those that it merely
// suggests. It always reads tsconfig.json, whatever project it is given, hence the second list by --lspconfig.
import { spawnSync } from "node:child_process"
import { report, root } from "./files.mjs"
import ts from "typescript"

const plugin = ts.readConfigFile("tsconfig.src.json", ts.sys.readFile).config.compilerOptions.plugins[0]
const problems = []
const diagnostics = (...args) => {
  const { status } = spawnSync(
    "npx",
    ["--no-install", "effect-language-service", "diagnostics", "--strict", "--format", "text", ...args],
    { cwd: root, stdio: ["ignore", "inherit", "inherit"] }
  )
  if (status !== 0) problems.push(`${args[1]} has diagnostics`)
}
diagnostics("--project", "tsconfig.json")
diagnostics("--project", "tsconfig.src.json", "--lspconfig", JSON.stringify(plugin))
report("effect", problems)
