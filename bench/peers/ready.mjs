/** Whether the peers are here, and how they come here. */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

export const crateProgram = at("crate/target/release/bench")

const major = Number(process.versions.node.split(".")[0])

/** By the name of an arm: what it needs beside the packages. */
const needs = { "execa 10": 22, acpx: 22 }

const run = (command, args, cwd) => {
  const { error, status, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", timeout: 180_000 })
  return status === 0 ? undefined : error?.message ?? `${command} ${args[0]}: ${stderr.trim().split("\n").at(-1)}`
}

/** Installs and builds what is missing, unless it is only looked at; gives by arm why it cannot run here. */
export const ready = (install) => {
  const later = "not installed: a full run does it"
  const packages = existsSync(at("node_modules"))
    ? undefined
    : install
    ? run("npm", ["ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"], at("."))
    : later
  const crate = existsSync(crateProgram)
    ? undefined
    : install
    ? run("cargo", ["build", "--release", "--locked"], at("crate"))
    : later
  return (arm) =>
    arm === "agent-abstraction" ? crate : packages ?? (needs[arm] > major ? `needs Node ${needs[arm]}` : undefined)
}

/** The versions of all that is pinned. */
export const versions = () => ({
  ...JSON.parse(readFileSync(at("package.json"), "utf8")).dependencies,
  "agent-abstraction": /"=(.+)"/.exec(readFileSync(at("crate/Cargo.toml"), "utf8"))[1]
})
