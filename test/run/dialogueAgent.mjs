// An agent with a dialogue, in as few words as there can be. It does what the prompt says, one word after the other.
import { spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { createInterface } from "node:readline"

const say = (record) => process.stdout.write(`${JSON.stringify(record)}\n`)
const kept = []
const answers = []
const messages = []
let turn = 0

const acts = {
  ask: () => ask("q", { command: "rm -r build" }),
  askThree: () => ["a", "b", "c"].forEach((id) => ask(id, { command: id })),
  deaf: () => closeSync(0),
  withdraw: () => say({ type: "withdraw", id: "q" }),
  flood: (pieces = 200) => {
    for (let i = 0; i < pieces; i++) say({ type: "noise", i, pad: "x".repeat(70_000) })
  },
  // A command of a tool has a session of its own, a server for tools has the agent's.
  tool: (seconds) => spawn("sleep", [seconds], { stdio: "ignore", detached: true }),
  server: (seconds) => spawn("sleep", [seconds], { stdio: "ignore" }),
  call: (id) => say({ type: "call", id }),
  returned: (id) => say({ type: "returned", id }),
  retry: () => setInterval(() => say({ type: "retry" }), 20),
  loop: () => setInterval(() => say({ type: "words" }), 5),
  says: (text) => say({ type: "words", text }),
  uses: (tokens) => say({ type: "cost", tokens: Number(tokens) }),
  eat: (mib) => kept.push(Buffer.alloc(Number(mib) * 2 ** 20, 1)),
  opens: (files) => {
    for (let i = 0; i < files; i++) openSync("/dev/null")
  },
  // Not at once: what was said before is to be heard.
  spin: () =>
    setTimeout(() => {
      for (;;);
    }, 200),
  costs: (usd) => say({ type: "cost", usd: Number(usd) }),
  die: () => process.exit(7),
  stay: () => {},
  answer: () => finish()
}

const ask = (id, input) => say({ type: "ask", id, input })

const finish = (stop = "completed") =>
  say({
    type: "answer",
    text: JSON.stringify({ turn, pid: process.pid, resumed: process.argv.includes("resume"), answers, messages }),
    stop
  })

const begin = (prompt) => {
  turn++
  for (const word of prompt.split(" ")) {
    const [act, ...args] = word.split(":")
    acts[act](...args)
  }
}

const mute = process.argv.includes("mute") || process.argv.includes("silent")
if (process.argv.includes("stubborn")) process.on("SIGTERM", () => {})

if (!process.argv.includes("silent")) say({ type: "named", id: "one" })
createInterface({ input: process.stdin }).on("line", (line) => {
  const record = JSON.parse(line)
  if (record.type === "hello") return mute ? undefined : say({ type: "hello" })
  if (record.type === "prompt") return begin(record.text)
  if (record.type === "answer") {
    answers.push(record)
    const wanted = record.question === "q" ? 1 : 3
    if (answers.length === wanted) finish()
    return
  }
  if (record.type === "message") {
    messages.push(record.text)
    say({ type: "taken", id: record.id })
    if (record.text === "finish") finish()
    return
  }
  if (record.type === "interrupt" && !process.argv.includes("stubborn")) {
    say({ type: "taken", id: record.id })
    finish("interrupted")
  }
}).on("close", () => process.argv.includes("stays") ? setInterval(() => {}, 60_000) : process.exit(0))
