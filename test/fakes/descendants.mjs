// Every kind of process that an agent leaves behind. All carry their mark in their arguments: `sleep 60.<mark>`, a number
// of seconds like no other in the system, so that whoever judges needs nothing but the process table. None lives longer
// than about a minute.
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

const quiet = "</dev/null >/dev/null 2>&1"

const kinds = {
  // In the leader's group, the leader its parent.
  child: (s) => ["sleep", [s]],
  // A shell and its child, as a tool call has them.
  tree: (s) => ["sh", ["-c", `sleep ${s}; :`]],
  // In the group, its parent gone.
  background: (s) => ["sh", ["-c", `sleep ${s} ${quiet} &`]],
  nohup: (s) => ["sh", ["-c", `nohup sleep ${s} ${quiet} &`]],
  // A session of its own, its parent alive.
  setsid: (s) => ["setsid", ["sleep", s]],
  // A session of its own, forked twice, its parent gone.
  daemon: (s) => ["sh", ["-c", `(setsid sh -c 'sleep ${s} ${quiet} &' ${quiet} &)`]],
  // As above, and an empty environment.
  "env-i": (s) => ["env", ["-i", "setsid", "sleep", s]],
  "env-i-daemon": (s) => ["sh", ["-c", `(env -i setsid sh -c 'sleep ${s} ${quiet} &' ${quiet} &)`]],
  // Deaf to every polite signal. What a shell ignores is ignored by what it becomes.
  stubborn: (s) => ["sh", ["-c", `trap '' TERM INT HUP; exec sleep ${s}`]],
  "stubborn-setsid": (s) => ["setsid", ["sh", "-c", `trap '' TERM INT HUP; exec sleep ${s}`]],
  // Stopped: sees no signal but KILL and CONT.
  stopped: (s) => ["sleep", [s]],
  // A launcher that waits for its child in a system call and passes no signal on.
  wrapper: (s) => [process.execPath, ["-e", "require('child_process').spawnSync('sleep', [process.argv[1]])", s]],
  // Keeps the output of the leader open.
  holder: (s) => ["setsid", ["sleep", s]],
  // Keeps it open, and writes into it as long as it lives.
  babbler: (s) => ["setsid", ["sh", "-c", `sleep ${s} & while kill -0 $!; do echo and another thing; sleep 0.02; done`]]
}

const holds = ["holder", "babbler"]

export const all = Object.keys(kinds)

/** The tool tree that the real CLIs were measured with, and more. */
export const zoo = all.filter((kind) => !holds.includes(kind))

const number = (kind) => String(all.indexOf(kind) + 10)

export const seconds = (mark, kind) => `60.${mark}${number(kind)}`

const running = (argument) =>
  readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).some((entry) => {
    try {
      const words = readFileSync(`/proc/${entry}/cmdline`, "latin1").split("\0")
      return words[0].endsWith("sleep") && words[1] === argument
    } catch {
      return false // ended while it was looked at
    }
  })

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Starts one process of each kind, and returns when all of them sleep. */
export const start = async (mark, names, options = {}) => {
  for (const kind of names) {
    const argument = seconds(mark, kind)
    const [program, args] = kinds[kind](argument)
    const child = spawn(program, args, {
      stdio: [
        "ignore",
        ...["stdout", "stderr"].map((output) =>
          holds.includes(kind) && output === (options.output ?? "stdout") ? "inherit" : "ignore"
        )
      ]
    })
    child.unref()
    for (let tries = 0; process.platform === "linux" && !running(argument); tries++) {
      if (tries > 2000) throw new Error(`the ${kind} of this test did not start`)
      await pause(3)
    }
    if (kind === "stopped") process.kill(child.pid, "SIGSTOP")
  }
}
