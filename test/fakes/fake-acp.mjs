// A fake of `copilot --acp`. It does what the prompt says, one word after the other, and ends the turn with `end`; words
// on its command line are misbehaviours of the opening.
import { createInterface } from "node:readline"

const argv = process.argv.slice(2)
const sessionId = "fake-session"
let prompt
let queue = []
const asked = new Map()
const heard = []

const put = (record) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...record })}\n`)
const update = (update) => put({ method: "session/update", params: { sessionId, update } })
const event = (type, data) => put({ method: "github.com/copilot/sessionEvent", params: { sessionId, type, data } })
const text = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } })

/** Asks, and goes on with the words once it has heard the answer. */
const ask = (id, method, params) => {
  asked.set(id, method)
  put({ id, method, params })
  return "wait"
}

const permission = (id) =>
  ask(id, "session/request_permission", {
    sessionId,
    toolCall: { toolCallId: `call-${id}`, title: "a command", kind: "execute", rawInput: { command: "rm" } },
    options: ["allow_once", "allow_always", "reject_once"].map((kind) => ({
      optionId: `the ${kind}`,
      kind,
      name: kind
    }))
  })

const acts = {
  say: (word) => text(word),
  // Numbers of the two directions are spaces of their own: this one is that of the prompt.
  ask: () => permission(prompt.id),
  asksAndEnds: () => {
    permission(9)
  },
  unknown: () => ask(1, "fs/read_text_file", { sessionId, path: "/etc/passwd" }),
  elicit: () => ask(2, "elicitation/create", { sessionId }),
  garbage: () => process.stdout.write("not json\n{\"half\": \n[1]\n\u001b[31mred\u001b[0m\n{\"a\":1}\n"),
  stray: () => {
    put({ id: "never asked", result: {} })
    put({ id: 12, error: { code: -32603, message: "of nothing" } })
    put({ id: "session/new", result: { sessionId: "another" } })
  },
  others: () =>
    put({
      method: "session/update",
      params: {
        sessionId: "another",
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "theirs" } }
      }
    }),
  huge: () => text("x".repeat(2 * 1024 * 1024)),
  endless: () => text("x".repeat(8 * 1024 * 1024)),
  tell: () => text(JSON.stringify(heard)),
  twice: () => put({ id: prompt.id, result: { stopReason: "end_turn" } }),
  die: () => process.exit(7),
  stay: () => "wait",
  end: (stopReason = "end_turn") => put({ id: prompt.id, result: { stopReason } })
}

const go = () => {
  while (queue.length > 0) {
    const [act, ...args] = queue.shift().split(":")
    if (acts[act](...args) === "wait") return
  }
}

const methods = {
  initialize: (id) => {
    if (argv.includes("mute")) return
    put({ id, result: { protocolVersion: argv.includes("v2") ? 2 : 1, agentCapabilities: { loadSession: true } } })
  },
  "session/new": (id) =>
    argv.includes("locked")
      ? put({ id, error: { code: -32000, message: "Authentication required" } })
      : put({ id, result: { sessionId } }),
  "session/prompt": (id, params) => {
    prompt = { id }
    if (argv.includes("deaf")) return
    event("user.message", {})
    const said = params.prompt.map((block) => block.text).join("")
    heard.push(said)
    // After a refusal it is told why, in words that are none of ours.
    queue = said.includes("not allowed") ? ["tell", "end"] : said.split(" ")
    go()
  },
  "session/cancel": () => {
    if (argv.includes("stubborn")) return
    put({ id: prompt.id, result: { stopReason: "cancelled" } })
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { error, id, method, params, result } = JSON.parse(line)
  if (method !== undefined) return methods[method](id, params)
  heard.push(`${asked.get(id)} ${error === undefined ? result.outcome.optionId ?? result.outcome.outcome : error.code}`)
  if (result?.outcome.optionId === "the reject_once") {
    event("abort", { reason: "user_initiated" })
    return acts.end()
  }
  go()
}).on("close", () => process.exit(0))
