// An agent that does what its first argument says, whatever is said to it meanwhile: see `Program` in properties.test.ts.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const program = JSON.parse(process.argv.at(-1))
const seconds = (kind) => `30${kind.length}.${program.mark}`

process.stdout.on("error", () => process.exit(141))

const put = (bytes) => new Promise((resolve) => process.stdout.write(bytes, resolve))

let pieces = 0
const inPieces = async (text) => {
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length;) {
    const size = program.cuts[pieces++ % program.cuts.length] ?? bytes.length
    await put(bytes.subarray(from, from + size))
    if (size < bytes.length) await new Promise(setImmediate)
    from += size
  }
}

let last = Promise.resolve()
const print = (text) => last = last.then(() => inPieces(text))
const say = (record) => print(`${JSON.stringify(record)}\n`)

const kinds = {
  child: (time) => spawn("sleep", [time], { stdio: "ignore" }),
  session: (time) => spawn("sleep", [time], { stdio: "ignore", detached: true }),
  daemon: (time) => spawn("sh", ["-c", `(setsid sleep ${time} >/dev/null 2>&1 &)`], { stdio: "ignore" }),
  holder: (time) => spawn("sleep", [time], { stdio: ["ignore", "inherit", "inherit"], detached: true }),
  deaf: (time) => spawn("sh", ["-c", `trap '' TERM INT; exec sleep ${time}`], { stdio: "ignore" })
}

const acts = {
  say: async ({ record, times = 1 }) => {
    for (let time = 0; time < times; time++) await say({ ...record, pad: record.pad?.repeat(record.size ?? 1) })
  },
  raw: ({ text }) => print(text),
  complain: ({ text }) => process.stderr.write(text),
  pause: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)),
  spawn: ({ kind }) => kinds[kind](seconds(kind)),
  close: () => process.stdout.end(),
  exit: ({ code }) => process.exit(code),
  kill: ({ signal }) => process.kill(process.pid, signal)
}

if (program.stubborn) { for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {}) }

const hears = (what) => !program.deaf.includes(what)
const play = async () => {
  for (const step of program.steps) await acts[step.do](step)
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const record = JSON.parse(line)
  if (record.type === "prompt") return void play()
  if (!hears(record.type)) return
  if (record.type === "hello") return say({ type: "hello" })
  if (record.type === "message") return say({ type: "taken", id: record.id })
  if (record.type === "interrupt") {
    say({ type: "taken", id: record.id })
    say({ type: "answer", text: "", stop: "interrupted" })
  }
}).on("close", () => {
  if (program.interactive && !program.stubborn) last.then(() => process.exit(0))
})
setTimeout(() => process.exit(0), 120_000)
