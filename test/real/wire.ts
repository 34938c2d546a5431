/**
 * The two model APIs which the CLIs speak, as far as a scripted answer needs them: what a request asks
 * (`read`), and an answer as server-sent events (`text`, `toolCall`). Pure: the server does the sending.
 */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

interface Tool {
  readonly name: string
  /** Of the tools that belong together, where the API puts them so. */
  readonly namespace?: string | undefined
  readonly properties: { readonly [name: string]: Json }
  readonly required: ReadonlyArray<string>
}

export interface Asked {
  readonly tools: ReadonlyArray<Tool>
  /** The last thing in the conversation is the result of a tool call. */
  readonly afterTool: boolean
  /** How many results of tool calls it holds. */
  readonly results: number
}

/** What a tool is called with. */
interface Made extends Pick<Tool, "name" | "namespace"> {
  readonly input: Json
}

/** Finds its tool among those that are offered. */
export type Call = (tools: ReadonlyArray<Tool>) => Made | undefined

export interface Wire {
  readonly read: (body: Json) => Asked
  readonly text: (serial: number, text: string) => ReadonlyArray<string>
  readonly toolCall: (serial: number, call: Made) => ReadonlyArray<string>
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

const isResult = (part: Json): boolean => field(part, "type") === "tool_result"

/** Messages API: Claude Code, and Copilot with a provider of type `anthropic`. */
export const messages: Wire = {
  read: (body) => ({
    tools: items(field(body, "tools")).map((item) => tool(field(item, "name"), field(item, "input_schema"))),
    afterTool: items(field(items(field(body, "messages")).at(-1), "content")).some(isResult),
    results: items(field(body, "messages")).flatMap((message) => items(field(message, "content"))).filter(isResult)
      .length
  }),
  text: (serial, text) =>
    anthropicMessage(
      serial,
      { type: "text", text: "" },
      pieces(text).map((piece) => ({ type: "text_delta", text: piece })),
      "end_turn"
    ),
  toolCall: (serial, { input, name }) =>
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

const isOutput = (item: Json | undefined): boolean => string(field(item, "type")).endsWith("_call_output")

/** Responses API: Codex. */
export const responses: Wire = {
  read: (body) => ({
    tools: items(field(body, "tools")).flatMap((item) =>
      field(item, "type") === "namespace"
        ? items(field(item, "tools")).map((one) => ({
          ...tool(field(one, "name"), field(one, "parameters")),
          namespace: string(field(item, "name"))
        }))
        : [tool(field(item, "name"), field(item, "parameters"))]
    ),
    afterTool: isOutput(items(field(body, "input")).at(-1)),
    results: items(field(body, "input")).filter(isOutput).length
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
  toolCall: (serial, { input, name, namespace }) =>
    response(serial, [
      event("response.output_item.done", {
        output_index: 0,
        item: {
          type: "function_call",
          id: `fc_${serial}`,
          call_id: `call_${serial}`,
          name,
          ...(namespace === undefined ? {} : { namespace }),
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

/**
 * A call of the CLI's own shell tool, filled in as its schema demands. `outside`: where the tool knows of a sandbox, the
 * model asks to be let out of it.
 */
export const shell = (command: string, outside = false): Call => (tools) => {
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
    yield_time_ms: 30_000,
    ...(outside ? { sandbox_permissions: "require_escalated", justification: "the script wants it" } : {})
  }
  const input = Object.fromEntries(
    Object.entries(known).filter(([name]) => name in shell.properties)
  )
  return { name: shell.name, input }
}

/** A call of a tool of MCP; each CLI has its own way to make one name of a server and its tool. */
export const mcp = (server: string, name: string, input: Json): Call => (tools) => {
  const plain = (text: string) => text.replace(/[-_]+/g, "_")
  const found = tools.find((tool) =>
    plain(`${tool.namespace ?? ""}_${tool.name}`).endsWith(plain(`_${server}_${name}`))
  )
  return found === undefined ? undefined : { name: found.name, namespace: found.namespace, input }
}

/** A call of the CLI's own tool that writes a file. */
export const write = (path: string): Call => (tools) => {
  const found = tools.find(({ name }) => name === "Write" || name === "create")
  return found === undefined
    ? undefined
    : {
      name: found.name,
      input: found.name === "Write" ? { file_path: path, content: "written" } : { path, file_text: "written" }
    }
}

/** By this tool Claude Code has the model give a value that a schema asks for. */
export const valueTool = "StructuredOutput"

export const value = (input: Json): Call => (tools) =>
  tools.find(({ name }) => name === valueTool) && { name: valueTool, input }
