/** Every field of a request at every driver: it shows in the plan, or it is refused. There is no third way. */
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import type * as AgentDriver from "effect-agents/AgentDriver"
import type * as AgentError from "effect-agents/AgentError"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import type * as Installation from "effect-agents/Installation"
import * as Session from "effect-agents/Session"
import * as ToolRule from "effect-agents/ToolRule"
import { ask, context } from "./replay.js"

type Fields = Parameters<typeof AgentRequest.make>[0]
type Name = keyof typeof AgentRequest.AgentRequest.fields

/** The run loop sees to these, the same for all drivers; they have tests of their own. */
const ofTheLoop = ["cwd", "env", "envPolicy", "interactive"] as const

/** Values of a field that must not be without consequence, beside a request that can write. */
const samples: Readonly<
  { readonly [Field in Exclude<Name, typeof ofTheLoop[number]>]-?: ReadonlyArray<Required<Fields>[Field]> }
> = {
  prompt: ["something else"],
  command: [true],
  model: ["a-model"],
  effort: ["high"],
  thinking: [true, false],
  system: ["Be brief"],
  systemReplace: ["You are a parrot"],
  attachments: [[{ path: "a.png" }], [{ path: "a.pdf" }], [{ path: "a.txt" }], [{ path: "a.zip" }]],
  permission: ["ReadOnly", "Plan", "Auto", "Bypass"],
  tools: [
    ToolRule.shell(),
    ToolRule.shell("git add"),
    ToolRule.shell("make it so"),
    ToolRule.read(),
    ToolRule.read("src"),
    ToolRule.edit(),
    ToolRule.edit("src"),
    ToolRule.fetch(),
    ToolRule.fetch("example.com"),
    ToolRule.mcp("docs"),
    ToolRule.mcp("docs", "search"),
    ToolRule.native("Skill")
  ].flatMap((rule) => [{ allow: [rule] }, { deny: [rule] }]),
  mcpServers: [{ local: { command: "server" } }, { local: { command: "server", env: { A: "b" } } }, {
    web: { url: "https://example.com/mcp" }
  }],
  addDirs: [["/other"]],
  session: [Session.fresh("11111111-2222-4333-8444-555555555555"), Session.resume("abc"), Session.fork("abc")],
  outputSchema: [{ type: "object" }],
  extraArgs: [["--anything"]]
}

const base: Partial<Fields> = { permission: "Edit" }

type Planned = Either.Either<object, AgentError.AgentUnsupported | AgentError.AgentInputTooLarge>

const planned = <S>(driver: AgentDriver.AgentDriver<S>) => (fields: Partial<Fields>): Planned =>
  driver.plan(ask({ ...base, ...fields }), context)

const answers = { protocolVersion: 1, agentCapabilities: { loadSession: true }, sessionId: "s", thread: { id: "t" } }

/** In a dialogue, what is said up to the first turn belongs to the plan. */
const spoken = <S>(driver: AgentDriver.AgentDriver<S>) => (fields: Partial<Fields>): Planned => {
  const request = ask({ ...base, ...fields })
  const speaking = { ...context, dialogue: { approvals: true, keep: false } }
  return Either.map(driver.plan(request, speaking), ({ stdin: _, ...plan }) => {
    const { protocol } = driver
    const said: Array<AgentDriver.JsonRecord> = []
    let { replies, state } = protocol.tell?.(protocol.initial(request, speaking), { _tag: "Begin" })
      ?? assert.fail("no dialogue")
    while (replies !== undefined && replies.length > 0) {
      said.push(...replies)
      ;({ replies, state } = protocol.step(state, { id: replies.at(-1)?.["id"], result: answers }))
    }
    return { plan, said }
  })
}

describe.each([
  ["claude", planned(Claude.driver)],
  ["claude", spoken(Claude.driver)],
  ["codex", planned(Codex.driver)],
  ["codex", spoken(Codex.driver)],
  ["copilot", planned(Copilot.driver)],
  ["copilot", spoken(Copilot.driver)]
])("%s", (agent, plan) => {
  const without = Either.getOrThrow(plan({}))

  it.each(Object.entries(samples))("%s", (field, values) => {
    for (const value of values) {
      const shown = `${field}: ${JSON.stringify(value)}`
      Either.match(plan({ [field]: value }), {
        onLeft: (error) => {
          assert.strictEqual(error._tag, "AgentUnsupported", shown)
          assert.strictEqual(error.agent, agent)
        },
        onRight: (plan) => assert.notDeepEqual(plan, without, `${shown} has no consequence`)
      })
    }
  })
})

/** Requests that want a capability; a driver may take one of them and not the other. */
const wanting: { readonly [Name in Installation.Capability]: ReadonlyArray<Partial<Fields>> } = {
  addDirs: [{ addDirs: ["/other"] }],
  approvals: [{}],
  attachments: [{ attachments: [{ path: "a.png" }] }],
  command: [{ prompt: "/compact", command: true }],
  effort: [{ effort: "high" }],
  fork: [{ session: Session.fork("abc") }],
  interactive: [{}],
  mcpServers: [{ mcpServers: { local: { command: "server" } } }],
  outputSchema: [{ outputSchema: { type: "object" } }],
  resume: [{ session: Session.resume("abc") }],
  system: [{ system: "Be brief" }],
  systemReplace: [{ systemReplace: "You are a parrot" }],
  thinking: [{ thinking: true }, { thinking: false }],
  tools: [{ tools: { allow: [ToolRule.edit()] } }, { tools: { deny: [ToolRule.edit()] } }]
}

const capabilities = <S>(driver: AgentDriver.AgentDriver<S>): ReadonlyArray<string> =>
  Object.entries(wanting).flatMap(([capability, requests]) => {
    const dialogue = capability === "approvals" || capability === "interactive"
      ? { approvals: capability === "approvals", keep: false }
      : undefined
    return requests.some((fields) => Either.isRight(driver.plan(ask({ ...base, ...fields }), { ...context, dialogue })))
      ? [capability]
      : []
  })

it.each([
  ["claude", Claude.driver.probe, capabilities(Claude.driver)] as const,
  ["codex", Codex.driver.probe, capabilities(Codex.driver)] as const,
  ["copilot", Copilot.driver.probe, capabilities(Copilot.driver)] as const
])("%s: counts as its capabilities what it plans", (_, probe, planned) => {
  assert.sameMembers((probe?.help ?? []).flatMap(({ words }) => Object.keys(words)), [...planned])
})

it("no field is without a decision", () => {
  assert.sameMembers(Object.keys(AgentRequest.AgentRequest.fields), [...Object.keys(samples), ...ofTheLoop])
})
