// Runs the zoo inside a pid namespace of its own, so that nothing of it can outlive the run, however the run ends. The
// first process in it is a shell: it buries the dead, Node would not. Where no such namespace can be made, the rows that
// need one are skipped, counted and named. Arguments go to vitest.
import { spawn, spawnSync } from "node:child_process"
import { root } from "./files.mjs"

const namespace = ["--pid", "--fork", "--kill-child", "--mount-proc"]
const vitest = [process.execPath, "node_modules/vitest/vitest.mjs", "run", "--config", "vitest.zoo.config.ts"]
const ways = [namespace, ["--user", "--map-root-user", ...namespace]]
const way = ways.find((way) => spawnSync("unshare", [...way, "true"]).status === 0)
const [file, ...args] = way === undefined ? vitest : ["unshare", ...way, "sh", "-c", "\"$@\"; exit $?", "sh", ...vitest]

const child = spawn(file, [...args, ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, ...(way === undefined ? {} : { EFFECT_AGENTS_ZOO_PRIVATE: "1" }) }
})
child.on("exit", (code) => process.exit(code ?? 1))
