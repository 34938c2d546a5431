/** Whatever an agent says and its caller answers, in whatever order: what holds of every dialogue. */
import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Approval from "effect-agents/Approval"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as FastCheck from "effect/FastCheck"
import { ask, context, isEvent, records } from "./replay.js"

type Said =
  | { readonly _tag: "Hears"; readonly record: AgentDriver.JsonRecord }
  | { readonly _tag: "Tells"; readonly input: AgentDriver.Input }

/** How a CLI puts what matters to a dialogue, with a few ids that come again and again. */
interface Wire {
  /** A question, one that nobody knows, the end of one, an answer to a request of ours. */
  readonly asks: (id: number) => AgentDriver.JsonRecord
  readonly strange: (id: number) => AgentDriver.JsonRecord
  readonly withdraws: (id: number) => AgentDriver.JsonRecord
  readonly answers: (id: string, refused: boolean) => AgentDriver.JsonRecord
  /** The id that a question has here, and that of the question which a reply answers. */
  readonly named: (id: number) => string
  readonly replyTo: (reply: AgentDriver.JsonRecord) => string | undefined
  /** The requests of ours that wait for an answer. */
  readonly requestId: (reply: AgentDriver.JsonRecord) => string | undefined
  /** A call of a tool that is never closed. */
  readonly opens: (id: number) => AgentDriver.JsonRecord
  readonly captured: string
}

const record = (value: unknown): AgentDriver.JsonRecord => Object(value)

const claude: Wire = {
  asks: (id) => ({
    type: "control_request",
    request_id: `q${id}`,
    request: { subtype: "can_use_tool", tool_name: "Bash", input: { command: "ls" } }
  }),
  strange: (id) => ({ type: "control_request", request_id: `q${id}`, request: { subtype: "sing" } }),
  withdraws: (id) => ({ type: "control_cancel_request", request_id: `q${id}` }),
  answers: (id, refused) => ({
    type: "control_response",
    response: { subtype: refused ? "error" : "success", request_id: id, error: "no" }
  }),
  named: (id) => `q${id}`,
  replyTo: (reply) =>
    reply["type"] === "control_response" ? String(record(reply["response"])["request_id"]) : undefined,
  requestId: (reply) => reply["type"] === "control_request" ? String(reply["request_id"]) : undefined,
  opens: (id) => ({
    type: "assistant",
    message: { id: `m${id}`, content: [{ type: "tool_use", id: `t${id}`, name: "Bash", input: {} }] }
  }),
  captured: "claude-tool"
}

const codex: Wire = {
  asks: (id) => ({
    id,
    method: "item/commandExecution/requestApproval",
    params: { threadId: "t", turnId: "1", itemId: `c${id}`, command: "ls" }
  }),
  strange: (id) => ({ id, method: "account/sing", params: {} }),
  withdraws: (id) => ({ method: "serverRequest/resolved", params: { threadId: "t", requestId: id } }),
  answers: (id, refused) => refused ? { id, error: { code: 1, message: "no" } } : { id, result: {} },
  named: (id) => String(id),
  replyTo: (reply) => reply["method"] === undefined ? String(reply["id"]) : undefined,
  requestId: (reply) => reply["method"] === undefined || reply["id"] === undefined ? undefined : String(reply["id"]),
  opens: (id) => ({
    method: "item/started",
    params: { threadId: "t", turnId: "1", item: { id: `i${id}`, type: "fileChange", changes: [] } }
  }),
  captured: "codex-server-approval"
}

const copilot: Wire = {
  asks: (id) => ({
    id,
    method: "session/request_permission",
    params: {
      sessionId: "s",
      toolCall: { toolCallId: `c${id}`, kind: "execute", rawInput: { command: "ls" } },
      options: ["allow_once", "allow_always", "reject_once"].map((kind) => ({ kind, optionId: kind, name: kind }))
    }
  }),
  strange: (id) => ({ id, method: "fs/read_text_file", params: {} }),
  withdraws: (id) => ({ id: `prompt ${id}`, result: { stopReason: "cancelled" } }),
  answers: codex.answers,
  named: codex.named,
  // What is called off is answered as such, as the protocol wants it; nobody has decided it.
  replyTo: (reply) => JSON.stringify(reply).includes("\"cancelled\"") ? undefined : codex.replyTo(reply),
  requestId: codex.requestId,
  opens: (id) => ({
    method: "session/update",
    params: { sessionId: "s", update: { sessionUpdate: "tool_call", toolCallId: `i${id}`, kind: "edit" } }
  }),
  captured: "copilot-tool"
}

/** A turn of Codex begins by answers and a word of its own. */
const turn: ReadonlyArray<AgentDriver.JsonRecord> = [
  { id: "initialize", result: {} },
  { id: "thread", result: { thread: { id: "t" } } },
  { method: "turn/started", params: { threadId: "t", turn: { id: "1" } } },
  { method: "turn/completed", params: { threadId: "t", turn: { id: "1", status: "completed" } } },
  { method: "turn/completed", params: { threadId: "t", turn: { id: "1", status: "interrupted" } } },
  { type: "result", subtype: "success", is_error: false, result: "done" },
  { type: "user", isReplay: true, uuid: "m1", message: { content: [] } }
]

const spoken: ReadonlyArray<AgentDriver.JsonRecord> = [
  { id: "initialize", result: { protocolVersion: 1 } },
  { id: "session/new", result: { sessionId: "s" } },
  ...["user.message", "abort", "assistant.message", "session.error"].map((type) => ({
    method: "github.com/copilot/sessionEvent",
    params: { sessionId: "s", type, data: {} }
  })),
  { id: "prompt 1", result: { stopReason: "end_turn" } },
  { id: "prompt 2", result: { stopReason: "end_turn" } }
]

const decisions: ReadonlyArray<Approval.Decision> = [
  Approval.allow(),
  Approval.allowForSession,
  Approval.allow({ input: { command: "pwd" } }),
  Approval.deny(),
  Approval.deny("not now")
]

const hears = (record: AgentDriver.JsonRecord): Said => ({ _tag: "Hears", record })
const tells = (input: AgentDriver.Input): Said => ({ _tag: "Tells", input })

const sayings = (wire: Wire): FastCheck.Arbitrary<ReadonlyArray<Said>> => {
  const id = FastCheck.nat(3)
  const ours = FastCheck.constantFrom(
    "initialize",
    "thread",
    "turn",
    "m0",
    "m1",
    "i0",
    "answer to 1",
    "q1",
    "session/new",
    "prompt 1"
  )
  const json = FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue({ maxDepth: 2 }))
  return FastCheck.array(
    FastCheck.oneof(
      id.map((id) => hears(wire.asks(id))),
      id.map((id) => hears(wire.strange(id))),
      id.map((id) => hears(wire.withdraws(id))),
      FastCheck.tuple(ours, FastCheck.boolean()).map(([id, refused]) => hears(wire.answers(id, refused))),
      FastCheck.constantFrom(...turn, ...spoken, ...records(wire.captured)).map(hears),
      json.map(hears),
      FastCheck.tuple(id, FastCheck.constantFrom(...decisions)).map(([id, decision]) =>
        tells({ _tag: "Answer", question: wire.named(id), decision })
      ),
      id.map((id) => tells({ _tag: "Message", id: `m${id}`, text: "and" })),
      id.map((id) => tells({ _tag: "Interrupt", id: `i${id}` })),
      FastCheck.constantFrom<Said>(
        tells({ _tag: "Begin" }),
        tells({ _tag: "Turn", prompt: "next" }),
        tells({ _tag: "Close" })
      )
    ),
    { maxLength: 40, size: "max" }
  )
}

const begun = <S>(driver: AgentDriver.AgentDriver<S>): S =>
  driver.protocol.initial(ask(), { ...context, dialogue: { approvals: true, keep: true } })

const stepOf = <S>({ protocol }: AgentDriver.AgentDriver<S>, state: S, said: Said): AgentDriver.Step<S> =>
  said._tag === "Hears"
    ? protocol.step(state, said.record)
    : protocol.tell?.(state, said.input) ?? { state, events: [] }

const suite = <S>(driver: AgentDriver.AgentDriver<S>, wire: Wire): void => {
  it("nothing that is heard or told makes it throw, and what it tells has its form", () => {
    FastCheck.assert(
      FastCheck.property(sayings(wire), (all) => {
        let state = begun(driver)
        for (const said of all) {
          const step = stepOf(driver, state, said)
          state = step.state
          for (const event of step.events) assert.isTrue(isEvent({ ...event, at: 0, seq: 0 }), JSON.stringify(event))
          for (const reply of step.replies ?? []) assert.isString(JSON.stringify(reply))
          const { openToolCalls, text } = driver.protocol.progress(state)
          assert.isString(text)
          assert.isArray(openToolCalls)
        }
      }),
      { numRuns: 500 }
    )
  })

  it("what it is asked is handed on or refused, and answered once at the most, and not when it was withdrawn", () => {
    FastCheck.assert(
      FastCheck.property(sayings(wire), (all) => {
        let state = begun(driver)
        const open = new Set<string>()
        const answered = (replies: AgentDriver.Step<S>["replies"], id: string): number =>
          (replies ?? []).filter((reply) => wire.replyTo(reply) === id).length
        for (const said of all) {
          const step = stepOf(driver, state, said)
          state = step.state
          const ours = (step.replies ?? []).flatMap((reply) => wire.replyTo(reply) ?? [])
          for (const { id } of step.asks ?? []) {
            assert.strictEqual(answered(step.replies, id), 0, "answered before anybody was asked")
            open.add(id)
          }
          if (said._tag === "Tells" && said.input._tag === "Answer") {
            const { question } = said.input
            assert.strictEqual(answered(step.replies, question), open.has(question) ? 1 : 0, question)
            assert.isTrue(ours.every((id) => id === question), `${ours}`)
            open.delete(question)
          } else if (said._tag === "Tells") {
            assert.deepStrictEqual(ours, [], "answers come of answers")
            // Questions of a turn that is over are over with it.
            if (said.input._tag === "Turn" && driver.name !== "claude") open.clear()
          }
          for (const id of step.withdrawn ?? []) open.delete(id)
        }
      }),
      { numRuns: 500 }
    )
    assert.strictEqual(driver.protocol.step(begun(driver), wire.strange(1)).replies?.length, 1)
    assert.strictEqual(driver.protocol.step(begun(driver), wire.asks(1)).asks?.length, 1)
  })

  it("what it waits for is something that it has said, and nothing is settled twice at a time", () => {
    FastCheck.assert(
      FastCheck.property(sayings(wire), (all) => {
        let state = begun(driver)
        const words = new Set<string>()
        for (const said of all) {
          if (said._tag === "Tells" && (said.input._tag === "Message" || said.input._tag === "Interrupt")) {
            // Each has an id of its own.
            if (words.has(said.input.id)) continue
            words.add(said.input.id)
          }
          const step = stepOf(driver, state, said)
          state = step.state
          const requests = (step.replies ?? []).flatMap((reply) => wire.requestId(reply) ?? [])
          for (const { id } of step.expects ?? []) assert.include(requests, id)
          const settled = (step.settled ?? []).map(({ id }) => id)
          assert.strictEqual(new Set(settled).size, settled.length, `${settled}`)
        }
      }),
      { numRuns: 300 }
    )
  })

  it("calls that are never closed are forgotten, not gathered", () => {
    let state = driver.protocol.tell?.(begun(driver), { _tag: "Begin" }).state ?? begun(driver)
    for (const record of [...turn.slice(0, 3), ...spoken.slice(0, 3)]) state = driver.protocol.step(state, record).state
    const sizes = [2_000, 4_000].map((count) => {
      for (let id = count - 2_000; id < count; id++) state = driver.protocol.step(state, wire.opens(id)).state
      return sizeOf(state)
    })
    const { openToolCalls } = driver.protocol.progress(state)
    assert.strictEqual(openToolCalls.length, 1024)
    assert.match(openToolCalls.at(-1)?.id ?? "", /3999$/)
    assert.strictEqual(sizes[1], sizes[0])
  })
}

/** How many values hang on a value. */
const sizeOf = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 1
  const members: Iterable<unknown> = value instanceof Map ? value.values() : Object.values(value)
  let size = 1
  for (const member of members) size += sizeOf(member)
  return size
}

describe("the dialogue of claude", () => suite(Claude.driver, claude))

describe("the dialogue of codex", () => suite(Codex.driver, codex))

describe("the dialogue of copilot", () => suite(Copilot.driver, copilot))
