// What the three CLIs print, cut down to the fields that mean something. `fail` and the like return what is printed on
// both outputs and the exit code.
import { randomUUID } from "node:crypto"

const at = () => new Date().toISOString()

const valueOf = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const claude = (context) => {
  const base = () => ({ session_id: context.session, uuid: randomUUID() })
  const message = (id, content, usage = { input_tokens: 100, output_tokens: 1 }) => ({
    type: "assistant",
    message: {
      id,
      type: "message",
      role: "assistant",
      model: context.model,
      content: [content],
      stop_reason: null,
      usage: { cache_creation_input_tokens: 0, cache_read_input_tokens: 0, ...usage }
    },
    parent_tool_use_id: null,
    ...base()
  })
  const result = (fields) => ({
    duration_api_ms: 27,
    stop_reason: "end_turn",
    ...base(),
    total_cost_usd: 0.00045,
    usage: { input_tokens: 100, cache_creation_input_tokens: 20, cache_read_input_tokens: 30, output_tokens: 10 },
    modelUsage: {
      [context.model]: { inputTokens: 100, outputTokens: 10, contextWindow: 200000, maxOutputTokens: 32000 }
    },
    permission_denials: [],
    terminal_reason: "completed",
    is_error: false,
    num_turns: 1,
    subtype: "success",
    api_error_status: null,
    ...fields,
    type: "result",
    duration_ms: 96
  })
  const errors = {
    auth: [null, "authentication_failed", "Not logged in · Please run /login"],
    rate: [429, "rate_limit", "API Error: Request rejected (429) · This request would exceed your rate limit"],
    overloaded: [529, "overloaded", "API Error: 529 Overloaded"],
    server: [
      500,
      "server_error",
      "API Error: 500 Internal server error. This is a server-side issue, usually temporary"
    ],
    connection: [null, "unknown", "Connection to the API was lost (ECONNRESET)"],
    turn: [403, "invalid_request", "API Error: 403 This organization has been disabled"]
  }
  const deltas = context.options["--include-partial-messages"] !== undefined
  const stream = (event) => ({ type: "stream_event", event, parent_tool_use_id: null, ...base() })
  return {
    start: () => [{
      type: "system",
      subtype: "init",
      cwd: context.cwd,
      tools: ["Bash", "Edit", "Read"],
      mcp_servers: [],
      model: context.model,
      permissionMode: "default",
      slash_commands: ["compact", "review"],
      skills: ["review"],
      apiKeySource: "none",
      claude_code_version: "2.1.332",
      ...base()
    }],
    text: (text, { id = "msg_1", usage } = {}) => {
      const whole = message(id, { type: "text", text }, usage)
      if (!deltas) return [whole]
      return [
        stream({
          type: "message_start",
          message: { id, type: "message", role: "assistant", model: context.model, content: [] }
        }),
        stream({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
        stream({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
        whole,
        stream({ type: "content_block_stop", index: 0 }),
        stream({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } }),
        stream({ type: "message_stop" })
      ]
    },
    tool: (id, command) => [message(`msg_${id}`, { type: "tool_use", id, name: "Bash", input: { command } })],
    toolResult: (id, output, ok = true) => [{
      type: "user",
      message: { role: "user", content: [{ tool_use_id: id, type: "tool_result", content: output, is_error: !ok }] },
      parent_tool_use_id: null,
      ...base()
    }],
    edit: (id, path, ok) => [
      message(`msg_${id}`, { type: "tool_use", id, name: "Edit", input: { file_path: path, old_string: "a" } }),
      {
        type: "user",
        message: { role: "user", content: [{ tool_use_id: id, type: "tool_result", content: "…", is_error: !ok }] },
        parent_tool_use_id: null,
        ...base()
      }
    ],
    retry: (attempt, delay) => [{
      type: "system",
      subtype: "api_retry",
      attempt,
      max_retries: 10,
      retry_delay_ms: delay,
      error_status: 529,
      error: "overloaded",
      ...base()
    }],
    end: (text) => [result({
      result: text,
      ...(context.options["--json-schema"] === undefined ? {} : { structured_output: valueOf(text) })
    })],
    fail: (kind) => {
      const [status, error, text] = errors[kind]
      return {
        records: [
          {
            ...message("msg_error", { type: "text", text }),
            error,
            is_api_error_message: true,
            api_error_status: status
          },
          result({
            is_error: true,
            api_error_status: status,
            api_error: kind === "connection" ? "connection_failed" : undefined,
            terminal_reason: "api_error",
            result: text
          })
        ],
        code: 1
      }
    },
    unknownSession: (id) => {
      const text = `No conversation found with session ID: ${id}`
      return {
        records: [
          result({ subtype: "error_during_execution", is_error: true, num_turns: 0, session_id: id, errors: [text] })
        ],
        stderr: `${text}\n`,
        code: 1
      }
    },
    aborted: () => [
      result({
        subtype: "error_during_execution",
        is_error: true,
        terminal_reason: "aborted_tools",
        errors: ["[ede_diagnostic] result_type=user"]
      })
    ],
    strange: () => [
      { type: "system", subtype: "weather_report", forecast: ["rain"], ...base() },
      { type: "telemetry_v9", data: { nested: { deep: [1, null, true] } }, ...base() },
      { ...message("msg_1", { type: "hologram", frames: [] }), confidence: 0.4 },
      { type: "rate_limit_event", rate_limit_info: { status: "allowed", unheard_of: {} }, ...base() }
    ]
  }
}

const codex = (context) => {
  const errors = {
    auth: "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header",
    rate: "exceeded retry limit, last status: 429 Too Many Requests",
    overloaded: "We’re currently experiencing high demand, which may cause temporary errors.",
    server: "exceeded retry limit, last status: 500 Internal Server Error",
    connection: "stream disconnected before completion: stream closed before response.completed",
    turn: "{\"error\":{\"message\":\"bad request\",\"type\":\"invalid_request_error\",\"code\":null}}"
  }
  const command = (id, line, rest) => ({
    id,
    type: "command_execution",
    command: `/bin/bash -lc '${line}'`,
    ...rest
  })
  return {
    start: () => [{ type: "thread.started", thread_id: context.session }, { type: "turn.started" }],
    text: (text, { id = "item_1" } = {}) => [{ type: "item.completed", item: { id, type: "agent_message", text } }],
    tool: (id, line) => [{
      type: "item.started",
      item: command(id, line, { aggregated_output: "", exit_code: null, status: "in_progress" })
    }],
    toolResult: (id, output, ok = true) => [{
      type: "item.completed",
      item: command(id, "make test", {
        aggregated_output: output,
        exit_code: ok ? 0 : 3,
        status: ok ? "completed" : "failed"
      })
    }],
    edit: (id, path, ok) => [{
      type: "item.completed",
      item: { id, type: "file_change", changes: [{ path, kind: "update" }], status: ok ? "completed" : "failed" }
    }],
    retry: (
      attempt
    ) => [{ type: "error", message: `Reconnecting... ${attempt}/10 (unexpected status 529 overloaded)` }],
    end: () => [{
      type: "turn.completed",
      usage: {
        input_tokens: 150,
        cached_input_tokens: 30,
        cache_write_input_tokens: 20,
        output_tokens: 10,
        reasoning_output_tokens: 2
      }
    }],
    fail: (kind) => ({
      records: [
        { type: "error", message: errors[kind] },
        { type: "turn.failed", error: { message: errors[kind] } }
      ],
      code: 1
    }),
    // An id that is not a UUID silently begins a new thread.
    unknownSession: (id) =>
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)
        ? {
          records: [],
          stderr: `Error: thread/resume: thread/resume failed: no rollout found for thread id ${id} (code -32600)\n`,
          code: 1
        }
        : undefined,
    aborted: () => [],
    strange: () => [
      { type: "thread.mood_changed", mood: "curious" },
      { type: "item.updated", item: { id: "item_9", type: "hologram", frames: [] } },
      { type: "item.completed", item: { id: "item_9", type: "hologram", frames: [], confidence: 0.4 } },
      { type: "telemetry_v9", data: { nested: { deep: [1, null, true] } } }
    ]
  }
}

const copilot = (context) => {
  const record = (type, data, rest = {}) => ({ type, data, ...rest, id: randomUUID(), timestamp: at(), parentId: null })
  const ephemeral = { ephemeral: true }
  const result = (exitCode) => ({
    type: "result",
    timestamp: at(),
    sessionId: context.session,
    exitCode,
    usage: { premiumRequests: 1, totalApiDurationMs: 24, sessionDurationMs: 268 }
  })
  const errors = {
    rate: [
      "rate_limit",
      429,
      "Failed to get response from the AI model; retried 5 times Last error: 429 Too Many Requests"
    ],
    overloaded: ["query", 529, "Failed to get response from the AI model; retried 5 times Last error: 529 Overloaded"],
    server: ["query", 500, "Failed to get response from the AI model; retried 5 times Last error: 500 api_error"],
    connection: [
      "query",
      undefined,
      "Failed to get response from the AI model; retried 5 times Last error: Failed native model HTTP request: error "
      + "decoding response body: error reading a body from connection: unexpected EOF during chunk size line"
    ],
    turn: ["query", 403, "Failed to get response from the AI model Last error: 403 This organization has been disabled"]
  }
  return {
    start: () => [
      record("session.tools_updated", { model: context.model }, ephemeral),
      record("user.message", { content: "…", messageId: randomUUID() }),
      record("assistant.turn_start", { turnId: "0" }),
      record("model.call_start", { turnId: "0", model: context.model }, ephemeral)
    ],
    text: (text, { id = "message_1" } = {}) => [
      record("assistant.message_start", { messageId: id }, ephemeral),
      record("assistant.message_delta", { messageId: id, deltaContent: text }, ephemeral),
      record("assistant.message", { messageId: id, model: context.model, content: text, toolRequests: [], turnId: "0" })
    ],
    tool: (id, command) => [
      record("assistant.message", {
        messageId: `message_${id}`,
        model: context.model,
        content: "",
        toolRequests: [{ toolCallId: id, name: "bash", arguments: { command }, type: "function" }],
        turnId: "0"
      }),
      record("tool.execution_start", { toolCallId: id, toolName: "bash", arguments: { command }, turnId: "0" })
    ],
    toolResult: (id, output, ok = true) => [
      record("tool.execution_complete", {
        toolCallId: id,
        shellExecution: { exitCode: ok ? 0 : 3 },
        success: ok,
        result: { content: output, detailedContent: output }
      })
    ],
    edit: (id, path, ok) => [
      record("tool.execution_start", { toolCallId: id, toolName: "edit", arguments: { path, old_str: "a" } }),
      record("tool.execution_complete", { toolCallId: id, success: ok, result: { content: "…" } })
    ],
    retry: (attempt) => [
      record("model.call_failure", { statusCode: 529, retryAttempt: attempt - 1, errorMessage: "overloaded" }),
      record("assistant.turn_retry", { reason: "overloaded" })
    ],
    end: () => [record("assistant.turn_end", { turnId: "0" }), record("assistant.idle", {}, ephemeral), result(0)],
    fail: (kind, code = 1) => {
      if (kind === "auth") {
        return {
          records: [],
          stderr:
            "Error: No authentication information found.\n\nCopilot can be authenticated with GitHub using an OAuth "
            + "Token or a Fine-Grained Personal Access Token.\n",
          code: 1
        }
      }
      const [errorType, statusCode, message] = errors[kind]
      return {
        records: [
          record("session.error", { errorType, message, statusCode }),
          record("assistant.idle", {}, ephemeral),
          result(code)
        ],
        code
      }
    },
    unknownSession: (id) => ({
      records: [],
      stderr:
        `Error: No session, task, or name matched '${id}'.\n\nTo resume by session or task ID:  copilot --resume=<id>\n`,
      code: 1
    }),
    aborted: () => [record("abort", { reason: "user_abort" }), record("assistant.idle", {}, ephemeral), result(0)],
    strange: () => [
      record("session.mood_changed", { mood: "curious" }),
      record("assistant.hologram", { frames: [] }, ephemeral),
      { type: "telemetry_v9", nested: { deep: [1, null, true] } }
    ]
  }
}

export const wires = { claude, codex, copilot }

export const models = { claude: "claude-sonnet-4-5", codex: "gpt-5.6-sol", copilot: "claude-sonnet-4.6" }
