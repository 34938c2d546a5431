/** What Claude Code tells of the files that it changes, of its plan, its sub-agents and its work in the background. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as Begun from "./begun.js"
import { writes } from "./claudeTools.js"
import * as Json from "./json.js"
import * as Plans from "./plans.js"

type Record_ = AgentDriver.JsonRecord
type Event = AgentEvent.Unstamped

export interface Work {
  /** Calls of tools that edit, until they return. */
  readonly edits: ReadonlyMap<string, string>
  readonly steps: ReadonlyMap<string, Plans.Step>
  readonly tasks: ReadonlyMap<string, Task>
}

interface Task {
  readonly tag: "SubAgent" | "Background"
  /** The tool call that it comes from. */
  readonly call: string | undefined
}

interface Told {
  readonly work: Work
  readonly events: ReadonlyArray<Event>
}

export const none: Work = { edits: new Map(), steps: new Map(), tasks: new Map() }

export const called = (work: Work, id: string | undefined, name: string, input: unknown): Work => {
  const [path] = writes({ name, input })
  return id === undefined || path === undefined ? work : { ...work, edits: Begun.kept(work.edits, id, path) }
}

const diff = (hunks: unknown): string | undefined => {
  const text = Json.list(hunks).map(Json.record).map((hunk) =>
    `@@ -${hunk["oldStart"]},${hunk["oldLines"]} +${hunk["newStart"]},${hunk["newLines"]} @@\n${
      Json.strings(hunk["lines"]).map((line) => `${line}\n`).join("")
    }`
  ).join("")
  return text === "" ? undefined : text
}

/** The plan is told piece by piece: a step at a time, or the whole list. */
const planned = (steps: Work["steps"], told: Record_): Work["steps"] | undefined => {
  const entry = (step: Record_): ReadonlyArray<readonly [string, Plans.Step]> => {
    const text = Json.string(step["subject"]) ?? Json.string(step["content"])
    return text === undefined ? [] : [[Json.string(step["id"]) ?? text, { text, status: Plans.status(step["status"]) }]]
  }
  const list = told["newTodos"] ?? told["tasks"]
  if (Array.isArray(list)) return new Map(list.map(Json.record).flatMap(entry))
  if (Json.isRecord(told["task"])) {
    const [first] = entry(told["task"])
    return first === undefined ? undefined : Begun.kept(steps, ...first)
  }
  const id = Json.string(told["taskId"])
  const step = id === undefined ? undefined : steps.get(id)
  const to = Json.record(told["statusChange"])["to"]
  if (id === undefined || step === undefined || to === undefined) return undefined
  return to === "deleted"
    ? Begun.without(steps, id)
    : Begun.kept(steps, id, { ...step, status: Plans.status(to) })
}

/** A tool has returned; `told` is what the CLI says of the result beside the text, for the main agent only. */
export const returned = (
  work: Work,
  id: string | undefined,
  { ok, parent, told }: { readonly ok: boolean; readonly parent: string | undefined; readonly told: Record_ },
  output: unknown
): Told => {
  const path = id === undefined ? undefined : work.edits.get(id)
  if (id !== undefined && path !== undefined) {
    const next = { ...work, edits: Begun.without(work.edits, id) }
    // Of a sub-agent's result there is only the text.
    const isNew = told["type"] === "create" || /^File created/.test(Json.string(output) ?? "")
    // `staged`: held for somebody to look at, and not written.
    return !ok || told["staged"] === true || Json.string(told["error"]) !== undefined ? { work: next, events: [] } : {
      work: next,
      events: [Json.compact({
        _tag: "FileChange" as const,
        path,
        kind: isNew ? "add" as const : "update" as const,
        diff: diff(told["structuredPatch"]),
        call: id,
        parent
      })]
    }
  }
  const steps = ok ? planned(work.steps, told) : undefined
  return steps === undefined ? { work, events: [] } : {
    work: { ...work, steps },
    events: [Json.compact({ _tag: "Plan" as const, steps: [...steps.values()], parent })]
  }
}

/** A task begins: a sub-agent, or whatever else goes on beside the turn. A command in the foreground is none. */
const begun = (work: Work, record: Record_, id: string, parent: string | undefined): Told | undefined => {
  const tag = record["task_type"] === "local_agent" ? "SubAgent" as const : "Background" as const
  if (tag === "Background" && record["is_backgrounded"] === false) return undefined
  const call = Json.string(record["tool_use_id"])
  const common = { phase: "started", id, call, parent } as const
  return {
    work: { ...work, tasks: Begun.kept(work.tasks, id, { tag, call }) },
    events: [
      tag === "SubAgent"
        ? Json.compact({ _tag: tag, ...common, name: Json.string(record["subagent_type"]) })
        : Json.compact({ _tag: tag, ...common, what: Json.string(record["description"]) })
    ]
  }
}

/** Elsewhere a sub-agent is called by the tool call that it comes from, in its questions by its own name. */
export const callOf = ({ tasks }: Work, agent: string): string => tasks.get(agent)?.call ?? agent

/** `undefined` where the record is no news of a task. */
export const task = (
  work: Work,
  record: Record_,
  parent: string | undefined
): Told | undefined => {
  const id = Json.string(record["task_id"])
  if (id === undefined) return undefined
  if (record["subtype"] === "task_started") return begun(work, record, id, parent)
  const tag = work.tasks.get(id)?.tag
  if (tag === undefined) return undefined
  const call = Json.string(record["tool_use_id"])
  const ok = record["status"] === "completed"
  return {
    work: { ...work, tasks: Begun.without(work.tasks, id) },
    events: [Json.compact({ _tag: tag, phase: "finished" as const, id, call, ok, parent })]
  }
}
