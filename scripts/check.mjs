// Runs every check:* script of package.json, whatever fails before it, and sums up.
import { spawnSync } from "node:child_process"
import { packageJson, report, root } from "./files.mjs"

const problems = []
for (const name of Object.keys(packageJson.scripts).filter((script) => script.startsWith("check:"))) {
  console.log(`\n== ${name}`)
  const started = performance.now()
  const { status } = spawnSync("npm", ["run", "--silent", name], {
    cwd: root,
    shell: process.platform === "win32",
    stdio: ["ignore", "inherit", "inherit"]
  })
  const took = `${((performance.now() - started) / 1000).toFixed(1)} s`
  console.log(`${status === 0 ? "passed" : "FAILED"} ${name} (${took})`)
  if (status !== 0) problems.push(`FAILED ${name}`)
}
console.log()
report("check", problems)
