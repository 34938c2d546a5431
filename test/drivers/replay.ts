import * as Schema from "effect/Schema"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as AgentEvent from "effect-agents/AgentEvent"
import * as Codex from "effect-agents/Codex"
import { readFileSync } from "node:fs"
import * as Request from "../utils/Request.js"

export const uuid = "6f2d3c1a-0b57-4d6e-9a55-2f1c3d4e5f60"

export const context: AgentDriver.PlanContext = { uuid, cwd: "/project", platform: "linux" }

export const ask = (fields: Partial<Parameters<typeof Request.make>[0]> = {}): AgentDriver.Request =>
  Request.make({ prompt: "do it", ...fields })

const JsonLine = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
)

export const records = (name: string): ReadonlyArray<AgentDriver.JsonRecord> =>
  readFileSync(new URL(`../fixtures/${name}.jsonl`, import.meta.url), "utf8").trim().split("\n").map((line) =>
    JsonLine(line)
  )

export interface Replay {
  readonly events: ReadonlyArray<AgentEvent.Unstamped>
  readonly progress: AgentDriver.Progress
  readonly diagnose: (ending: Partial<AgentDriver.Ending>) => AgentDriver.Failure | undefined
}

export const replay = <S>(
  driver: AgentDriver.AgentDriver<S>,
  lines: ReadonlyArray<AgentDriver.JsonRecord>,
  request: AgentDriver.Request = ask()
): Replay => {
  const events: Array<AgentEvent.Unstamped> = []
  let state = driver.protocol.initial(request, context)
  for (const line of lines) {
    const step = driver.protocol.step(state, line)
    state = step.state
    events.push(...step.events)
  }
  return {
    events,
    progress: driver.protocol.progress(state),
    diagnose: (ending) =>
      driver.protocol.diagnose(state, {
        exit: { code: 1, signal: null },
        stderrTail: "",
        noise: [],
        records: lines.length,
        ...ending
      })
  }
}

/** The events of one kind. */
export const only = <T extends AgentEvent.Unstamped["_tag"]>(
  events: ReadonlyArray<AgentEvent.Unstamped>,
  tag: T
): ReadonlyArray<Extract<AgentEvent.Unstamped, { readonly _tag: T }>> =>
  events.filter((event): event is Extract<AgentEvent.Unstamped, { readonly _tag: T }> => event._tag === tag)

export const isEvent = Schema.is(AgentEvent.AgentEvent)

/** The arguments as they would be on the command line, files by their name. */
export const words = (plan: AgentDriver.Plan): ReadonlyArray<string> =>
  plan.args.map((arg) =>
    typeof arg === "string"
      ? arg
      : arg._tag === "Secret"
      ? arg.value
      : `${arg.prefix ?? ""}<${arg.name}>${arg.suffix ?? ""}`
  )

/** Codex, spoken with. */
export const replayDialogue = (lines: ReadonlyArray<AgentDriver.JsonRecord>): Replay =>
  replay(
    {
      ...Codex.driver,
      protocol: {
        ...Codex.driver.protocol,
        initial: (request) =>
          Codex.driver.protocol.initial(request, { ...context, dialogue: { approvals: false, keep: false } })
      }
    },
    lines
  )
