/** How GitHub Copilot speaks with `--output-format json`, as of 1.0.102. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import * as AgentOutcome from "../../AgentOutcome.js"
import * as Begun from "./begun.js"
import * as Answer from "./answer.js"
import * as Failure from "./failure.js"
import * as Json from "./json.js"
import * as ToolCalls from "./toolCalls.js"

type Record_ = AgentDriver.JsonRecord
type Step = AgentDriver.Step<State>
type Event = AgentEvent.Unstamped

export interface State {
  readonly continued: boolean
  readonly schema: AgentDriver.JsonRecord | undefined
  /** The id that the command line names: the CLI prints it in its last record only. */
  readonly asked: string | undefined
  readonly session: string | undefined
  readonly announced: boolean
  /** The newest complete message, and the one in the making. */
  readonly text: string
  readonly draft: string
  readonly draftOf: string | undefined
  readonly streamed: boolean
  readonly structured: unknown
  readonly reasoningOf: string | undefined
  readonly usage: AgentOutcome.Usage
  readonly subAgents: AgentOutcome.Usage | undefined
  readonly open: ToolCalls.Open
  /** Commands in the background, with the calls that began them. */
  readonly shells: ReadonlyMap<string, string | undefined>
  readonly lastCall: { readonly status: number | undefined; readonly attempt: number | undefined } | undefined
  readonly failure: AgentDriver.Failure | undefined
  readonly aborted: string | undefined
  readonly quiet: boolean
  readonly terminal: AgentDriver.Terminal | undefined
}

const initial: AgentDriver.Protocol<State>["initial"] = (request, context) => ({
  continued: request.session._tag !== "New",
  schema: request.outputSchema,
  asked: request.session._tag === "New" ? request.session.id ?? context.uuid : request.session.id,
  session: undefined,
  announced: false,
  text: "",
  draft: "",
  draftOf: undefined,
  streamed: false,
  structured: undefined,
  reasoningOf: undefined,
  usage: {},
  subAgents: undefined,
  open: [],
  shells: new Map(),
  lastCall: undefined,
  failure: undefined,
  aborted: undefined,
  quiet: false,
  terminal: undefined
})

/** A changed copy. To spread a state of this size takes longer than all else that a record makes of it. */
const updated = (state: State, change: Partial<State>): State =>
  Object.assign<State, Partial<State>>({
    continued: state.continued,
    schema: state.schema,
    asked: state.asked,
    session: state.session,
    announced: state.announced,
    text: state.text,
    draft: state.draft,
    draftOf: state.draftOf,
    streamed: state.streamed,
    structured: state.structured,
    reasoningOf: state.reasoningOf,
    usage: state.usage,
    subAgents: state.subAgents,
    open: state.open,
    shells: state.shells,
    lastCall: state.lastCall,
    failure: state.failure,
    aborted: state.aborted,
    quiet: state.quiet,
    terminal: state.terminal
  }, change)

const unknown = (state: State, record: Record_): Step => ({
  state,
  events: [{ _tag: "Unknown", type: Json.string(record["type"]) ?? "unknown", raw: record }]
})

const parentOf = (record: Record_, data: Record_): string | undefined =>
  Json.string(data["parentToolCallId"]) ?? Json.string(record["agentId"])

const started = (state: State, session: string, model: string | undefined): Step => ({
  state: { ...state, session, announced: true },
  events: [Json.compact({ _tag: "Started" as const, session, model })]
})

// ---------------------------------------------------------------------------------------------------------------------
// words
// ---------------------------------------------------------------------------------------------------------------------

const delta = (state: State, record: Record_, data: Record_): Step => {
  const text = Json.string(data["deltaContent"])
  if (text === undefined) return unknown(state, record)
  const parent = parentOf(record, data)
  const message = Json.string(data["messageId"])
  if (parent !== undefined) return { state, events: [{ _tag: "Text", text, parent }] }
  return {
    // An attempt that was cut off is repeated as another message: its text is display only, and never added up.
    state: updated(state, {
      draft: state.draftOf === message ? state.draft + text : text,
      draftOf: message,
      streamed: true
    }),
    events: [{ _tag: "Text", text }]
  }
}

const message = (state: State, record: Record_, data: Record_): Step => {
  const text = Json.string(data["content"]) ?? ""
  const id = Json.string(data["messageId"])
  const parent = parentOf(record, data)
  const events: Array<Event> = [Json.compact({ _tag: "Message" as const, text, id, parent })]
  if (parent !== undefined) return text === "" ? unknown(state, record) : { state, events }
  if (text === "") return unknown({ ...state, draft: "", draftOf: undefined, streamed: false }, record)
  if (!state.streamed || state.draftOf !== id) events.unshift({ _tag: "Text", text })
  const continues = (Json.number(data["chunkIndex"]) ?? 0) > 0
  return {
    state: updated(state, {
      text: continues ? state.text + text : text,
      draft: "",
      draftOf: undefined,
      streamed: false
    }),
    events
  }
}

const reasoning = (state: State, record: Record_, data: Record_, isDelta: boolean): Step => {
  const text = Json.string(data[isDelta ? "deltaContent" : "content"])
  const id = Json.string(data["reasoningId"])
  if (text === undefined || (!isDelta && id !== undefined && id === state.reasoningOf)) return unknown(state, record)
  return {
    state: isDelta && id !== state.reasoningOf ? { ...state, reasoningOf: id } : state,
    events: [Json.compact({ _tag: "Thinking" as const, text, parent: parentOf(record, data) })]
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// tools
// ---------------------------------------------------------------------------------------------------------------------

const toolStart = (state: State, record: Record_, data: Record_): Step => {
  const id = Json.string(data["toolCallId"])
  const name = Json.string(data["toolName"]) ?? "unknown"
  return {
    state: updated(state, { open: ToolCalls.opened(state.open, id, name) }),
    events: [Json.compact({
      _tag: "ToolCall" as const,
      id,
      name,
      input: data["arguments"] ?? null,
      parent: parentOf(record, data)
    })]
  }
}

const toolComplete = (state: State, record: Record_, data: Record_): Step => {
  const id = Json.string(data["toolCallId"])
  const error = Json.record(data["error"])
  const result = Json.record(data["result"])
  const parent = parentOf(record, data)
  const shell = inBackground.exec(Json.string(result["content"]) ?? "")?.[1]
  const open = ToolCalls.closed(state.open, id)
  return {
    state: updated(state, shell === undefined ? { open } : { open, shells: Begun.kept(state.shells, shell, id) }),
    events: [
      Json.compact({
        _tag: "ToolResult" as const,
        id,
        ok: Json.boolean(data["success"]),
        denied: error["code"] === "denied" || error["code"] === "rejected" ? true : undefined,
        exitCode: Json.number(Json.record(data["shellExecution"])["exitCode"]),
        output: Json.string(error["message"]) ?? result["content"] ?? data["result"] ?? null,
        parent
      }),
      ...changed(data, id, parent),
      ...(shell === undefined ? [] : [background("started", shell, { call: id, parent })])
    ]
  }
}

const edits: Readonly<Record<string, "add" | "update" | "delete">> = { create: "add", edit: "update", delete: "delete" }

const changed = (data: Record_, call: string | undefined, parent: string | undefined): ReadonlyArray<Event> => {
  const files = Json.list(data["fileEdits"]).map(Json.record)
  const shown = Json.string(Json.record(data["result"])["detailedContent"]) ?? ""
  return files.flatMap(({ kind: word, path }): ReadonlyArray<Event> => {
    const kind = edits[Json.string(word) ?? ""]
    if (typeof path !== "string" || kind === undefined) return []
    const from = kind === "update" && files.length === 1 ? shown.indexOf("@@ ") : -1
    return [Json.compact({
      _tag: "FileChange" as const,
      path,
      kind,
      diff: from < 0 ? undefined : shown.slice(from),
      call,
      parent
    })]
  })
}

/** The only word for it: its result. */
const inBackground = /^<command started in background with shellId: ([^>]+)>/

const background = (
  phase: "started" | "finished",
  id: string,
  about: Pick<Extract<Event, { readonly _tag: "Background" }>, "call" | "exitCode" | "ok" | "parent" | "what">
): Event => Json.compact({ _tag: "Background" as const, phase, id, ...about })

/** Of what the CLI tells its model, this is news: a command in the background has ended. */
const notification = (state: State, record: Record_, data: Record_): Step => {
  const about = Json.record(data["kind"])
  const shell = Json.string(about["shellId"])
  if (shell === undefined || Json.string(about["type"])?.endsWith("completed") !== true) return unknown(state, record)
  const exitCode = Json.number(about["exitCode"])
  return {
    state: { ...state, shells: Begun.without(state.shells, shell) },
    events: [background("finished", shell, {
      call: state.shells.get(shell),
      what: Json.string(about["description"]),
      ok: exitCode === undefined ? undefined : exitCode === 0,
      exitCode,
      parent: parentOf(record, data)
    })]
  }
}

const subAgent = (state: State, type: string, record: Record_, data: Record_): Step => {
  const call = Json.string(data["toolCallId"])
  const id = Json.string(record["agentId"]) ?? call
  if (id === undefined) return unknown(state, record)
  const hasBegun = type === "subagent.started"
  return {
    state,
    events: [Json.compact({
      _tag: "SubAgent" as const,
      phase: hasBegun ? "started" as const : "finished" as const,
      id,
      call,
      name: Json.string(data["agentName"]),
      ok: hasBegun ? undefined : type === "subagent.completed" && data["cancelled"] !== true,
      tokens: Json.number(data["totalTokens"])
    })]
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// usage
// ---------------------------------------------------------------------------------------------------------------------

const used = (state: State, record: Record_, usage: AgentOutcome.Usage, add: boolean): Step =>
  Object.keys(usage).length === 0
    ? unknown(state, record)
    : {
      state: { ...state, usage: add ? AgentOutcome.addUsage(state.usage, usage) : { ...state.usage, ...usage } },
      events: [{ _tag: "Usage", usage }]
    }

const usedBySub = (state: State, usage: AgentOutcome.Usage, parent: string): Step => ({
  state: { ...state, subAgents: AgentOutcome.addUsage(state.subAgents ?? {}, usage) },
  events: [{ _tag: "Usage", usage, parent }]
})

const callUsage = (data: Record_): AgentOutcome.Usage => {
  const read = Json.number(data["cacheReadTokens"])
  const written = Json.number(data["cacheWriteTokens"])
  const input = Json.number(data["inputTokens"])
  return Json.compact({
    inputTokens: input === undefined ? undefined : Math.max(0, input - (read ?? 0) - (written ?? 0)),
    outputTokens: Json.number(data["outputTokens"]),
    cacheReadTokens: read,
    cacheWriteTokens: written,
    reasoningTokens: Json.number(data["reasoningTokens"]),
    modelCalls: 1
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// failures and the end
// ---------------------------------------------------------------------------------------------------------------------

const errorKinds: ReadonlyMap<string, AgentDriver.Failure["kind"]> = new Map<string, AgentDriver.Failure["kind"]>([
  ["authentication", "not-authenticated"],
  ["authorization", "not-authenticated"],
  ["rate_limit", "rate-limited"],
  ["quota", "rate-limited"],
  ["policy", "turn-failed"],
  ["context_limit", "turn-failed"]
])

const connection = /connection|HTTP request|EOF|timed out|reset/i

/** What comes after the first "Last error:". In one expression, the search would begin again at every other one. */
const lastError = (text: string): string => {
  const at = text.search(/Last error: /i)
  return at < 0 ? "" : text.slice(at)
}

const sessionError = (data: Record_): AgentDriver.Failure => {
  const detail = Json.string(data["message"]) ?? "the session failed"
  const status = Json.number(data["statusCode"])
  const kind = errorKinds.get(Json.string(data["errorType"]) ?? "")
    ?? Failure.kindOfStatus(status)
    ?? (connection.test(lastError(detail)) ? "overloaded" : Failure.kindOfWords(detail))
    ?? "turn-failed"
  return Json.compact({
    kind,
    detail,
    status,
    retryAfterMs: Failure.isPassing(kind) ? Failure.retryAfterIn(detail) : undefined
  })
}

const notice = (state: State, record: Record_, data: Record_, level: "info" | "warning" | "error"): Step => {
  const text = Json.string(data["message"])
  return text === undefined ? unknown(state, record) : { state, events: [{ _tag: "Notice", level, text }] }
}

const callFailure = (state: State, data: Record_): Step => {
  const status = Json.number(data["statusCode"])
  const { message: text } = Failure.unwrap(Json.string(data["errorMessage"]) ?? "a call of the model failed")
  return {
    state: { ...state, lastCall: { status, attempt: Json.number(data["retryAttempt"]) } },
    events: [{ _tag: "Notice", level: "warning", text: status === undefined ? text : `HTTP ${status}: ${text}` }]
  }
}

const retry = (state: State, data: Record_): Step => ({
  state: { ...state, draft: "", draftOf: undefined, streamed: false, lastCall: undefined },
  events: [Json.compact({
    _tag: "Retry" as const,
    reason: Json.string(data["reason"]) ?? "unknown",
    attempt: state.lastCall?.attempt === undefined ? undefined : state.lastCall.attempt + 1,
    status: state.lastCall?.status
  })]
})

const textOf = ({ draft, text }: State): string => draft === "" ? text : draft

/** An aborted turn exits with 0 and looks like any other, so it is told apart here. */
const ended = (state: State, exitCode: number | undefined): AgentDriver.Terminal => {
  if (state.aborted !== undefined) {
    return {
      stop: state.aborted === "autopilot_credit_limit" ? "max-budget" : "interrupted",
      stopDetail: state.aborted,
      failure: { kind: "turn-failed", detail: `the turn was aborted: ${state.aborted}` }
    }
  }
  if (state.failure !== undefined) return { stop: "error", failure: state.failure }
  return exitCode === undefined || exitCode === 0
    ? { stop: "completed" }
    : { stop: "error", failure: { kind: "turn-failed", detail: `the agent gave up with exit code ${exitCode}` } }
}

/** The turn is over, with the value that was asked for or without it. */
export const over = (state: State, exitCode: number | undefined) => {
  const terminal = ended(state, exitCode)
  const { failure, structured } = Answer.valueOf(state.schema, textOf(state))
  return {
    structured,
    terminal: failure === undefined || terminal.failure !== undefined ? terminal : { stop: "error" as const, failure }
  }
}

/** What a whole conversation took. That is the run's only where the run began it. */
const conversation = (state: State, usage: AgentOutcome.Usage): AgentOutcome.Usage =>
  state.continued ? {} : Json.compact(usage)

const result = (state: State, record: Record_): Step => {
  const usage = Json.record(record["usage"])
  const session = Json.string(record["sessionId"]) ?? state.session
  const { structured, terminal } = over(state, Json.number(record["exitCode"]))
  const events: Array<Event> = []
  if (session !== undefined && session !== state.session) events.push({ _tag: "Started", session })
  events.push({ _tag: "Finished", ok: terminal.failure === undefined, stop: terminal.stop })
  return {
    state: {
      ...state,
      session,
      structured,
      terminal,
      usage: {
        ...state.usage,
        ...conversation(state, {
          premiumRequests: Json.number(usage["premiumRequests"]),
          apiDurationMs: Json.number(usage["totalApiDurationMs"]),
          durationMs: Json.number(usage["sessionDurationMs"])
        })
      }
    },
    events
  }
}

const stirring = "session.background_tasks_changed"

const dispatch = (state: State, type: string, record: Record_): Step => {
  const data = Json.record(record["data"])
  switch (type) {
    case "assistant.message_delta":
      return delta(state, record, data)
    case "assistant.message":
      return message(state, record, data)
    case "assistant.reasoning_delta":
      return reasoning(state, record, data, true)
    case "assistant.reasoning":
      return reasoning(state, record, data, false)
    case "tool.execution_start":
      return toolStart(state, record, data)
    case "tool.execution_complete":
      return toolComplete(state, record, data)
    case "session.start":
    case "session.resume": {
      const session = Json.string(data["sessionId"]) ?? state.session
      return session === undefined
        ? unknown(state, record)
        : started(state, session, Json.string(data["selectedModel"]))
    }
    case "session.tools_updated":
      return state.announced || state.session === undefined
        ? unknown(state, record)
        : started(state, state.session, Json.string(data["model"]))
    case "assistant.turn_start":
      // What went wrong before did not end the work.
      return unknown({ ...state, failure: undefined, aborted: undefined, terminal: undefined }, record)
    case "assistant.turn_retry":
      return retry(state, data)
    case "model.call_failure":
      return callFailure(state, data)
    case "assistant.usage": {
      const parent = parentOf(record, data)
      return parent === undefined
        ? used(state, record, callUsage(data), true)
        : usedBySub(state, callUsage(data), parent)
    }
    case "subagent.started":
    case "subagent.completed":
    case "subagent.failed":
      return subAgent(state, type, record, data)
    case "system.notification":
      return notification(state, record, data)
    case "session.usage_info":
      return used(
        state,
        record,
        Json.compact({
          contextTokens: Json.number(data["currentTokens"]),
          contextWindow: Json.number(data["tokenLimit"])
        }),
        false
      )
    case "session.usage_checkpoint":
      return used(
        state,
        record,
        {
          ...Json.compact({ aiCreditsNano: Json.number(data["totalNanoAiu"]) }),
          ...conversation(state, { premiumRequests: Json.number(data["totalPremiumRequests"]) })
        },
        false
      )
    case "session.skills_loaded": {
      const skills = Json.list(data["skills"]).flatMap((skill) => Json.string(Json.record(skill)["name"]) ?? [])
      return { state, events: [{ _tag: "Commands", commands: [], skills }] }
    }
    case "session.compaction_start":
      return { state, events: [{ _tag: "Compaction", phase: "started" }] }
    case "session.compaction_complete": {
      const ok = Json.boolean(data["success"])
      return { state, events: [Json.compact({ _tag: "Compaction" as const, phase: "finished" as const, ok })] }
    }
    case "session.info":
      return notice(state, record, data, "info")
    case "session.warning":
      return notice(state, record, data, "warning")
    case "session.error":
      return notice({ ...state, failure: sessionError(data) }, record, data, "error")
    case "abort": {
      const reason = Json.string(data["reason"]) ?? "unknown"
      return {
        state: { ...state, aborted: reason },
        events: [{ _tag: "Notice", level: "warning", text: `aborted: ${reason}` }]
      }
    }
    case "assistant.idle":
      // After an abort, the last record is often missing.
      return unknown(state.aborted === undefined ? state : { ...state, ...over(state, undefined) }, record)
    case "result":
      return result(state, record)
    default:
      return unknown(state, record)
  }
}

/** Each record proves that the CLI works under the id that it was given, or it would have left without a word. */
const step = (before: State, record: Record_): Step => {
  const type = Json.string(record["type"]) ?? "unknown"
  const isNoise = type === stirring
  if (isNoise && before.quiet) return { state: before, events: [] }
  const state = before.session !== undefined && before.quiet === isNoise
    ? before
    : { ...before, session: before.session ?? before.asked, quiet: isNoise }
  if (state.announced || state.session === undefined || type === "result") return dispatch(state, type, record)
  // The model is told in one of the first records. A conversation that is under way is announced without it.
  if (type !== "user.message" && type !== "assistant.turn_start") return dispatch(state, type, record)
  const first = started(state, state.session, undefined)
  const next = dispatch(first.state, type, record)
  return { state: next.state, events: [...first.events, ...next.events] }
}

const wordings: ReadonlyArray<Failure.Wording> = [
  { kind: "session-not-found", pattern: /^Error: No session(?:, task,)?(?: or task)?(?: or name)? matched/i },
  { kind: "flag-rejected", pattern: /^error: Invalid command format/i },
  Failure.flagRejected,
  { kind: "not-authenticated", pattern: /No authentication information found|not logged in|\bcopilot login\b/i },
  { kind: "turn-failed", pattern: /^(?:Error: )?(?:Offline mode requires|BYOK providers require|No prompt provided)/i }
]

export const protocol: AgentDriver.Protocol<State> = {
  initial,
  step,
  progress: (state) => ({
    session: state.session,
    text: textOf(state),
    structured: state.structured,
    usage: state.usage,
    ...(state.subAgents === undefined ? {} : { subAgents: state.subAgents }),
    openToolCalls: state.open,
    terminal: state.terminal
  }),
  diagnose: (state, ending) =>
    state.aborted === undefined
      ? state.failure ?? Failure.fromOutput(ending, wordings)
      : ended(state, undefined).failure
}
