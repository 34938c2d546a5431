/**
 * The two model APIs which the CLIs speak, as far as a scripted answer needs them: what a request asks
 * (`read`), and an answer as server-sent events (`text`, `toolCall`). Pure: the server does the sending.
 */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

export interface Tool {
  readonly name: string
  readonly properties: { readonly [name: string]: Json }
  readonly required: ReadonlyArray<string>
}

export interface Asked {
  readonly tools: ReadonlyArray<Tool>
  /** The last thing in the conversation is the result of a tool call. */
  readonly afterTool: boolean
}

export interface Wire {
  readonly read: (body: Json) => Asked
  readonly text: (serial: number, text: string) => ReadonlyArray<string>
  readonly toolCall: (serial: number, tool: string, input: Json) => ReadonlyArray<string>
  readonly failure: (status: number) => Json
}

const isRecord = (json: Json | undefined): json is { readonly [key: string]: Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const field = (json: Json | undefined, key: string): Json | undefined => isRecord(json) ? json[key] : undefined

const items = (json: Json | undefined): ReadonlyArray<Json> => Array.isArray(json) ? json : []

const string = (json: Json | undefined): string => typeof json === "string" ? json : ""

const tool = (name: Json | undefined, schema: Json | undefined): Tool => {
  const properties = field(schema, "properties")
  return {
    name: string(name),
    properties: isRecord(properties) ? properties : {},
    required: items(field(schema, "required")).map(string)
  }
}

const event = (type: string, data: { readonly [key: string]: Json }): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`

const pieces = (text: string): ReadonlyArray<string> => {
  const size = Math.max(16, Math.ceil(text.length / 100))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
}

const inputTokens = 100
const outputTokens = 10

const anthropicMessage = (
  serial: number,
  block: { readonly [key: string]: Json },
  deltas: ReadonlyArray<Json>,
  stopReason: string
): ReadonlyArray<string> => [
  event("message_start", {
    message: {
      id: `msg_${serial}`,
      type: "message",
      role: "assistant",
      model: "scripted",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: inputTokens,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 1
      }
    }
  }),
  event("content_block_start", { index: 0, content_block: block }),
  ...deltas.map((delta) => event("content_block_delta", { index: 0, delta })),
  event("content_block_stop", { index: 0 }),
  event("message_delta", {
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage: { output_tokens: outputTokens }
  }),
  event("message_stop", {})
]

/** Messages API: Claude Code, and Copilot with a provider of type `anthropic`. */
export const messages: Wire = {
  read: (body) => ({
    tools: items(field(body, "tools")).map((item) => tool(field(item, "name"), field(item, "input_schema"))),
    afterTool: items(field(items(field(body, "messages")).at(-1), "content")).some((part) =>
      field(part, "type") === "tool_result"
    )
  }),
  text: (serial, text) =>
    anthropicMessage(
      serial,
      { type: "text", text: "" },
      pieces(text).map((piece) => ({ type: "text_delta", text: piece })),
      "end_turn"
    ),
  toolCall: (serial, name, input) =>
    anthropicMessage(
      serial,
      { type: "tool_use", id: `toolu_${serial}`, name, input: {} },
      [{ type: "input_json_delta", partial_json: JSON.stringify(input) }],
      "tool_use"
    ),
  failure: (status) => ({
    type: "error",
    error: {
      type: status === 401
        ? "authentication_error"
        : status === 429
        ? "rate_limit_error"
        : status === 529
        ? "overloaded_error"
        : "api_error",
      message: `scripted ${status}`
    }
  })
}

const response = (serial: number, output: ReadonlyArray<string>): ReadonlyArray<string> => [
  event("response.created", {
    response: { id: `resp_${serial}`, object: "response", status: "in_progress", output: [] }
  }),
  ...output,
  event("response.completed", {
    response: {
      id: `resp_${serial}`,
      object: "response",
      status: "completed",
      output: [],
      usage: {
        input_tokens: inputTokens,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: outputTokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: inputTokens + outputTokens
      }
    }
  })
]

/** Responses API: Codex. */
export const responses: Wire = {
  read: (body) => ({
    tools: items(field(body, "tools")).map((item) => tool(field(item, "name"), field(item, "parameters"))),
    afterTool: string(field(items(field(body, "input")).at(-1), "type")).endsWith("_call_output")
  }),
  text: (serial, text) => {
    const message = { type: "message", id: `msg_${serial}`, role: "assistant" }
    return response(serial, [
      event("response.output_item.added", { output_index: 0, item: { ...message, content: [] } }),
      ...pieces(text).map((delta) =>
        event("response.output_text.delta", { item_id: `msg_${serial}`, output_index: 0, content_index: 0, delta })
      ),
      event("response.output_item.done", {
        output_index: 0,
        item: { ...message, status: "completed", content: [{ type: "output_text", text, annotations: [] }] }
      })
    ])
  },
  toolCall: (serial, name, input) =>
    response(serial, [
      event("response.output_item.done", {
        output_index: 0,
        item: {
          type: "function_call",
          id: `fc_${serial}`,
          call_id: `call_${serial}`,
          name,
          arguments: JSON.stringify(input),
          status: "completed"
        }
      })
    ]),
  failure: (status) => ({
    error: {
      message: `scripted ${status}`,
      type: status === 401 ? "invalid_request_error" : status === 429 ? "rate_limit_exceeded" : "server_error",
      code: status === 401 ? "invalid_api_key" : status === 429 ? "rate_limit_exceeded" : null
    }
  })
}

const shellNames = ["Bash", "bash", "exec_command", "shell_command", "shell"]

/** A call of the CLI's own shell tool, filled in as its schema demands; `undefined` if it offers none. */
export const shellCall = (
  tools: ReadonlyArray<Tool>,
  command: string
): { readonly name: string; readonly input: Json } | undefined => {
  const shell = tools.find((candidate) => shellNames.includes(candidate.name))
  if (shell === undefined) return undefined
  const known: { readonly [name: string]: Json } = {
    command: shell.name === "shell" ? ["bash", "-c", command] : command,
    cmd: command,
    description: "scripted command",
    mode: "sync",
    initial_wait: 600,
    timeout: 600_000,
    timeout_ms: 600_000,
    yield_time_ms: 30_000
  }
  const input = Object.fromEntries(
    Object.entries(known).filter(([name]) => name in shell.properties)
  )
  return { name: shell.name, input }
}
