/** What a fake CLI prints: lines in the formats of the real ones, as fast as `cat` can. */
import { chmodSync, closeSync, openSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"

const session = "5f0c3c1e-6a4e-4c53-9d0e-0d6f1b7a2c11"
const uuid = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`
const words = (length, seed) => `piece ${seed} of an answer, ä€𝄞 `.repeat(Math.ceil(length / 28)).slice(0, length)

const claudeUsage = {
  input_tokens: 100,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 2000,
  output_tokens: 42
}

/** By agent: the record before, the n-th of many, and the one behind, of about `size` bytes. */
const wires = {
  claude: {
    first: {
      type: "system",
      subtype: "init",
      session_id: session,
      model: "a-model",
      slash_commands: [],
      skills: [],
      tools: []
    },
    nth: (n, size) => {
      const frame = { session_id: session, parent_tool_use_id: null, uuid: uuid(n) }
      const id = `msg_${Math.floor(n / 10)}`
      const message = (content) => ({
        type: "assistant",
        message: {
          id,
          type: "message",
          role: "assistant",
          model: "a-model",
          content,
          stop_reason: null,
          usage: claudeUsage
        },
        ...frame
      })
      switch (n % 10) {
        case 0:
          return message([{
            type: "tool_use",
            id: `toolu_${n}`,
            name: "Bash",
            input: { command: words(size - 460, n) }
          }])
        case 1:
          return {
            type: "user",
            message: {
              role: "user",
              content: [{
                tool_use_id: `toolu_${n - 1}`,
                type: "tool_result",
                content: words(size - 270, n),
                is_error: false
              }]
            },
            ...frame
          }
        case 9:
          return message([{ type: "text", text: words(size - 420, n) }])
        default:
          return {
            type: "stream_event",
            event: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words(size - 270, n) } },
            ...frame,
            api_message_id: id
          }
      }
    },
    last: {
      type: "result",
      subtype: "success",
      is_error: false,
      result: "done",
      session_id: session,
      stop_reason: "end_turn",
      num_turns: 1,
      total_cost_usd: 0.01,
      usage: claudeUsage
    }
  },
  codex: {
    first: { type: "thread.started", thread_id: session },
    nth: (n, size) => {
      const command = { id: `item_${n - (n % 3)}`, type: "command_execution", command: words((size - 170) / 2, n) }
      switch (n % 3) {
        case 0:
          return {
            type: "item.started",
            item: { ...command, aggregated_output: words((size - 170) / 2, n), exit_code: null, status: "in_progress" }
          }
        case 1:
          return {
            type: "item.completed",
            item: { ...command, aggregated_output: words((size - 170) / 2, n), exit_code: 0, status: "completed" }
          }
        default:
          return { type: "item.completed", item: { id: `item_${n}`, type: "agent_message", text: words(size - 90, n) } }
      }
    },
    last: {
      type: "turn.completed",
      usage: { input_tokens: 22, cached_input_tokens: 6, output_tokens: 14, reasoning_output_tokens: 4 }
    }
  },
  copilot: {
    first: { type: "assistant.turn_start", data: { turnId: "0" }, id: uuid(0), timestamp: "2026-01-01T00:00:00.000Z" },
    nth: (n, size) => {
      const frame = { id: uuid(n), timestamp: "2026-01-01T00:00:00.000Z", parentId: uuid(n - 1) }
      const call = { toolCallId: `call_${n - (n % 3)}`, toolName: "bash" }
      switch (n % 3) {
        case 0:
          return {
            type: "tool.execution_start",
            data: { ...call, arguments: { command: words(size - 260, n) } },
            ...frame
          }
        case 1:
          return {
            type: "tool.execution_complete",
            data: { ...call, success: true, result: { content: words(size - 270, n) } },
            ...frame
          }
        default:
          return {
            type: "assistant.message",
            data: { messageId: uuid(n), content: words(size - 270, n), toolRequests: [] },
            ...frame
          }
      }
    },
    last: {
      type: "result",
      sessionId: session,
      exitCode: 0,
      timestamp: "2026-01-01T00:00:00.000Z",
      usage: { premiumRequests: 0 }
    }
  }
}

/** Of the formats, by agent: the record before, so many lines of so many bytes each, and the record behind. */
export const write = (file, agent, count, size) => {
  const { first, last, nth } = wires[agent]
  const fd = openSync(file, "w")
  writeSync(fd, `${JSON.stringify(first)}\n`)
  for (let n = 1; n <= count;) {
    let block = ""
    for (const end = Math.min(count, n + 999); n <= end; n++) block += `${JSON.stringify(nth(n, size))}\n`
    writeSync(fd, block)
  }
  writeSync(fd, `${JSON.stringify(last)}\n`)
  closeSync(fd)
}

/** A program in a directory, by the words of its script. */
export const program = (directory, name, script) => {
  const file = join(directory, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

const written = new Map()

/** A program that prints such lines as fast as it can, `by` the command that prints a file. */
export const lines = (directory, agent, count, size, by = "cat ") => {
  const name = `${agent}-${count}-${size}`
  const file = join(directory, `${name}.jsonl`)
  if (!written.has(file)) write(file, agent, count, size)
  written.set(file, true)
  return program(directory, `${name}-${by.split(" ")[0]}`, `exec ${by}'${file}'`)
}
