/** What Codex's app-server is asked for at the beginning of a dialogue, as of 0.171.0. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentRequest from "../../AgentRequest.js"
import * as Answer from "./answer.js"
import * as Json from "./json.js"
import * as StrictSchema from "./strictSchema.js"

type Record_ = AgentDriver.JsonRecord

export interface Opening {
  readonly initialize: Record_
  readonly thread: { readonly method: string; readonly params: Record_ }
  /** The first turn, without its thread. */
  readonly turn: Record_
}

/** How far the sandbox lets commands go; none for `Bypass`. */
export const sandbox: Readonly<Record<AgentRequest.Permission, "read-only" | "workspace-write" | undefined>> = {
  ReadOnly: "read-only",
  Plan: "read-only",
  Edit: "workspace-write",
  Auto: "workspace-write",
  Bypass: undefined
}

/**
 * What is asked: whatever the sandbox would not let the model do. Without somebody to ask, and without a sandbox,
 * nothing. (With `untrusted` it would ask more, and what is allowed would stay inside of the sandbox all the same.)
 */
const policy = ({ permission }: AgentDriver.Request, { dialogue }: AgentDriver.PlanContext): string =>
  dialogue?.approvals !== true || permission === "Bypass" ? "never" : "on-request"

export const text = (text: string): Record_ => ({ type: "text", text, text_elements: [] })

/** A schema that the model cannot be held to is asked for in words. */
export const asked = (prompt: string, schema: Record_ | undefined): string =>
  schema === undefined || StrictSchema.strict(schema) !== undefined ? prompt : Answer.inWords(prompt, schema)

/** What is said to the model at the beginning. */
export interface Said {
  readonly instructions: string | undefined
  readonly prompt: string
}

const thread = (
  request: AgentDriver.Request,
  context: AgentDriver.PlanContext,
  { instructions }: Said
): Opening["thread"] => {
  const { session } = request
  const params = Json.compact({
    approvalPolicy: policy(request, context),
    approvalsReviewer: "user",
    sandbox: sandbox[request.permission] ?? "danger-full-access",
    model: request.model,
    baseInstructions: request.systemReplace,
    developerInstructions: instructions
  })
  return session._tag === "New"
    // Its directory is that of the process. Named here, it would be written down as trusted for all time.
    ? { method: "thread/start", params }
    : {
      method: session._tag === "Resume" ? "thread/resume" : "thread/fork",
      params: { threadId: session.id, cwd: context.cwd, ...params }
    }
}

export const opening = (
  request: AgentDriver.Request,
  context: AgentDriver.PlanContext,
  said: Said
): Opening => ({
  initialize: { clientInfo: { name: "effect-agents", title: null, version: "0.1.0" }, capabilities: null },
  thread: thread(request, context, said),
  turn: Json.compact({
    input: [text(said.prompt), ...request.attachments.map(({ path }) => ({ type: "localImage", path }))],
    effort: request.effort,
    outputSchema: request.outputSchema && StrictSchema.strict(request.outputSchema)
  })
})
