import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const skipped = new Set(["node_modules", "dist", "coverage"])

/** Files below `directory` of the repository whose name matches, as paths relative to the root with "/". */
export const filesUnder = (directory, matches) =>
  readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name) || (entry.isDirectory() && entry.name.startsWith("."))) return []
    const path = join(root, directory, entry.name)
    const name = relative(root, path).split(sep).join("/")
    if (entry.isDirectory()) return filesUnder(name, matches)
    return matches.test(entry.name) ? [name] : []
  }).sort()

export const read = (path) => readFileSync(join(root, path), "utf8")

export const packageJson = JSON.parse(read("package.json"))

/** What stands together under one path of its own, and not in the barrel. */
export const testModules = filesUnder("src/testing", /^[A-Z]\w*\.ts$/).map((source) => ({ source }))

/** Public modules by name: what `exports` offers, with the source file of each. */
export const publicModules = Object.entries(packageJson.exports).flatMap(([key, target]) =>
  typeof target === "string" && target.startsWith("./dist/") && key !== "." && key !== "./testing"
    ? [{ name: key.slice(2), source: target.replace("./dist/", "src/").replace(/\.js$/, ".ts") }]
    : []
)

/** Prints what is wrong, or that nothing is, and sets the exit code. */
export const report = (what, problems) => {
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
  console.log(problems.length === 0 ? `${what}: ok` : `${what}: ${problems.length} problem(s)`)
}
