// A stdio MCP server without tools that ignores the end of its input and every polite signal. Its argument is the mark
// by which a test finds it.
import { createInterface } from "node:readline"

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {})
setTimeout(() => process.exit(1), 600_000)

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "stubborn", version: "1.0.0" }
  }),
  "tools/list": () => ({ tools: [] })
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const body = answer === undefined ? { error: { code: -32601, message: method } } : { result: answer(params) }
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`)
})
process.stdout.on("error", () => {})
