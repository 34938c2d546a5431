// Fakes of `claude -p --input-format stream-json` and of `codex app-server`. They do what the prompt says, one word after
// the other, and end the turn with `end`; words in FAKE_DIALOGUE are misbehaviours of the whole process.
import { createInterface } from "node:readline"

const [, , name] = process.argv
const badly = (process.env.FAKE_DIALOGUE ?? "").split(" ")
const session = "fake-session"
/** The prompts and answers that were heard. */
const heard = []
let turns = 0
let queue = []
let waits = false
let isAt = false

const put = (record) => process.stdout.write(`${JSON.stringify(record)}\n`)

const wires = {
  claude: () => {
    const result = (fields) => put({ type: "result", session_id: session, num_turns: 1, ...fields })
    const ask = (request_id, fields) =>
      put({
        type: "control_request",
        request_id,
        request: { subtype: "can_use_tool", tool_name: "Bash", input: { command: "rm" }, ...fields }
      })
    let last = ""
    let messages = 0
    return {
      begin: () => put({ type: "system", subtype: "init", session_id: session, model: "fake" }),
      say: (text) => {
        last = text
        const message = { id: `msg_${messages++}`, role: "assistant", content: [{ type: "text", text }] }
        put({ type: "assistant", message, session_id: session })
      },
      // The ids of the two directions are spaces of their own: ours has asked by this one as well.
      ask: (id = "initialize") => ask(id, {}),
      askAlways: () => ask("always", { permission_suggestions: ["for ever"] }),
      unknown: () => put({ type: "control_request", request_id: "u", request: { subtype: "hologram" } }),
      takeBack: (id = "initialize") => put({ type: "control_cancel_request", request_id: id }),
      stray: () => {
        put({ type: "control_response", response: { subtype: "success", request_id: "never asked", response: {} } })
        put({ type: "control_cancel_request", request_id: "never asked" })
        put({ type: "control_response" })
      },
      end: () => result({ subtype: "success", is_error: false, result: last }),
      interrupted: () =>
        result({ subtype: "error_during_execution", is_error: true, terminal_reason: "aborted_tools" }),
      hear: (record) => {
        if (record.type === "control_response") {
          const { error, response } = record.response
          return answered(error ?? `${response.behavior} ${JSON.stringify(response)}`)
        }
        if (record.type === "control_request") {
          const { request, request_id } = record
          if (badly.includes("mute") || (request.subtype === "interrupt" && badly.includes("stubborn"))) return
          put({ type: "control_response", response: { subtype: "success", request_id, response: {} } })
          return request.subtype === "interrupt" ? stopped() : undefined
        }
        const text = record.message.content
        if (!isAt) return asked(text)
        if (badly.includes("deaf")) return
        put({ ...record, isReplay: true, session_id: session })
        answered(text)
      }
    }
  },
  codex: () => {
    const turn = () => `turn ${turns}`
    const notify = (method, params) => put({ method, params: { threadId: session, ...params } })
    const ended = (status) => notify("turn/completed", { turn: { id: turn(), status } })
    const ask = (id, method) => put({ id, method, params: { threadId: session, turnId: turn(), command: "rm" } })
    const words = ({ input }) => input.map(({ text }) => text).join("")
    const methods = {
      initialize: () => badly.includes("mute") ? undefined : {},
      "thread/start": () => ({ thread: { id: session }, model: "fake" }),
      "turn/start": (params) => {
        setImmediate(() => asked(words(params)))
        return { turn: { id: `turn ${turns + 1}` } }
      },
      "turn/steer": (params) => {
        if (badly.includes("deaf")) return undefined
        setImmediate(() => answered(words(params)))
        return { turnId: turn() }
      },
      "turn/interrupt": () => {
        if (badly.includes("stubborn")) return undefined
        setImmediate(stopped)
        return {}
      }
    }
    return {
      begin: () => notify("turn/started", { turn: { id: turn() } }),
      say: (text) =>
        notify("item/completed", { turnId: turn(), item: { id: `item ${heard.length}`, type: "agentMessage", text } }),
      // As above.
      ask: (id = "turn") => ask(id, "item/commandExecution/requestApproval"),
      askAlways: () => ask("always", "item/commandExecution/requestApproval"),
      unknown: () => ask("u", "item/hologram/request"),
      takeBack: (requestId = "turn") => notify("serverRequest/resolved", { requestId }),
      stray: () => {
        put({ id: "never asked", result: {} })
        put({ id: 12, error: { code: -32603, message: "of nothing" } })
        put({ method: "item/agentMessage/delta", params: { threadId: "another", itemId: "i", delta: "theirs" } })
        put({ method: "turn/completed", params: { threadId: session, turn: { id: "another", status: "failed" } } })
      },
      end: () => ended("completed"),
      interrupted: () => ended("interrupted"),
      hear: ({ error, id, method, params, result }) => {
        if (method === undefined) return answered(error === undefined ? result.decision : String(error.code))
        const answer = methods[method]?.(params)
        if (id !== undefined && answer !== undefined) put({ id, result: answer })
      }
    }
  }
}

const wire = wires[name]()

const acts = {
  say: (word) => wire.say(word),
  ask: (id) => wire.ask(id),
  askAlways: () => wire.askAlways(),
  unknown: () => wire.unknown(),
  takeBack: (id) => wire.takeBack(id),
  stray: () => wire.stray(),
  garbage: () => process.stdout.write("not json\n{\"half\": \n[1]\n\u001b[31mred\u001b[0m\n{\"a\":1}\n"),
  huge: () => wire.say("x".repeat(2 * 1024 * 1024)),
  endless: () => wire.say("x".repeat(8 * 1024 * 1024)),
  tell: () => wire.say(JSON.stringify(heard)),
  /** Goes on when something is heard. */
  wait: () => {
    waits = true
  },
  end: () => {
    isAt = false
    wire.end()
  },
  again: () => wire.end(),
  die: () => process.exit(7)
}

const go = () => {
  while (!waits && queue.length > 0) {
    const [act, ...args] = queue.shift().split(":")
    acts[act](...args)
  }
}

const asked = (prompt) => {
  turns++
  isAt = true
  heard.push(prompt)
  queue = prompt.split(" ")
  wire.begin()
  go()
}

const answered = (text) => {
  heard.push(text)
  waits = false
  go()
}

const stopped = () => {
  isAt = false
  waits = false
  queue = []
  wire.interrupted()
}

createInterface({ input: process.stdin }).on("line", (line) => wire.hear(JSON.parse(line))).on(
  "close",
  () => process.exit(0)
)
