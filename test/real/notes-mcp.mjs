// A stdio MCP server whose tools leave a file of their name in the folder of its first argument, where it also writes
// down what it was started with.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"

const [, , folder, ...rest] = process.argv
writeFileSync(
  join(folder, "started.json"),
  JSON.stringify({ rest, environ: readFileSync("/proc/self/environ", "utf8") })
)

const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
const tools = [
  { name: "note", description: "Takes a note", inputSchema },
  { name: "drop", description: "Drops a note", inputSchema },
  { name: "look", description: "Says that it only looks", inputSchema, annotations: { readOnlyHint: true } }
]

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "notes", version: "1.0.0" }
  }),
  "tools/list": () => ({ tools }),
  "tools/call": ({ arguments: { text }, name }) => {
    writeFileSync(join(folder, name), text)
    return { content: [{ type: "text", text: `${name} was given ${text}` }] }
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const body = answer === undefined ? { error: { code: -32601, message: method } } : { result: answer(params) }
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`)
})
process.stdout.on("error", () => {})
