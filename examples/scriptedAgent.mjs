#!/usr/bin/env node
// An agent that needs no key and no model: a real process that reads and prints what Claude Code does, and plays one of
// the parts below, chosen by the first word of its prompt. Its conversations are kept in SCRIPTED_AGENT_HOME.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

const argv = process.argv.slice(2)
const option = (name) => argv.includes(name) ? argv[argv.indexOf(name) + 1] : undefined

const readInput = async () => {
  const chunks = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

const home = process.env.SCRIPTED_AGENT_HOME ?? join(tmpdir(), "scripted-agent")
const file = (id) => join(home, `${id}.json`)
const resumed = option("--resume")
const id = resumed ?? option("--session-id") ?? randomUUID()
const model = "scripted"

const print = (record) => process.stdout.write(`${JSON.stringify({ ...record, session_id: id, uuid: randomUUID() })}\n`)

const say = (content) =>
  print({
    type: "assistant",
    message: {
      id: randomUUID(),
      type: "message",
      role: "assistant",
      model,
      content: [content],
      usage: { input_tokens: 12, output_tokens: 3 }
    },
    parent_tool_use_id: null
  })

const finish = async (fields) => {
  print({
    subtype: "success",
    is_error: false,
    num_turns: 1,
    usage: { input_tokens: 12, output_tokens: 3 },
    modelUsage: {},
    ...fields,
    type: "result"
  })
  await new Promise((resolve) => process.stdout.write("", resolve))
  process.exit(fields.is_error === true ? 1 : 0)
}

const answer = async (text) => {
  say({ type: "text", text })
  await finish({ result: text })
}

/** What real agents leave behind: a child, one in a session of its own, a daemon, and a daemon with no environment. */
const work = async () => {
  say({
    type: "tool_use",
    id: "call_1",
    name: "Bash",
    input: { command: "npm test & setsid npm run dev & daemon & env -i daemon &" }
  })
  const quiet = "</dev/null >/dev/null 2>&1"
  const shell = (line) => spawn("sh", ["-c", line], { stdio: "ignore" })
  shell("sleep 61")
  spawn("setsid", ["sleep", "62"], { stdio: "ignore" })
  shell(`(setsid sh -c 'sleep 63 ${quiet} &' ${quiet} &)`)
  shell(`(env -i setsid sh -c 'sleep 64 ${quiet} &' ${quiet} &)`)
  await sleep(60_000)
}

const parts = {
  // Works until somebody ends it, and does not want to go.
  work: async () => {
    process.on("SIGTERM", () => {})
    process.on("SIGINT", () => {})
    await work()
  },
  // Answers after so many milliseconds.
  answer: async ([delay = "0", ...words]) => {
    await sleep(Number(delay))
    await answer(words.join(" "))
  },
  // The provider is overloaded the first so many times.
  flaky: async ([failures, key]) => {
    const counter = file(`flaky-${key}`)
    const before = existsSync(counter) ? Number(readFileSync(counter, "utf8")) : 0
    writeFileSync(counter, String(before + 1))
    if (before >= Number(failures)) return answer(`attempt ${before + 1} worked`)
    await finish({
      is_error: true,
      api_error_status: 529,
      terminal_reason: "api_error",
      result: "API Error: 529 Overloaded"
    })
  },
  // Tells what it was asked before in this conversation.
  recall: async () => answer(said.slice(0, -1).join(", then "))
}

const prompt = (await readInput()) || argv.at(-1)
mkdirSync(home, { recursive: true })
const before = existsSync(file(id)) ? JSON.parse(readFileSync(file(id), "utf8")) : []
if (resumed !== undefined && before.length === 0) {
  await finish({
    subtype: "error_during_execution",
    is_error: true,
    errors: [`No conversation found with session ID: ${id}`]
  })
}
const said = [...before, prompt]
writeFileSync(file(id), JSON.stringify(said))
print({ type: "system", subtype: "init", cwd: process.cwd(), tools: ["Bash"], mcp_servers: [], model })
const [part, ...words] = prompt.split(" ")
await parts[part](words)
