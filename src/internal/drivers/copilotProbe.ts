/** What Copilot tells of itself, as of 1.0.102: whether it would begin a conversation, and with which models. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as Installation from "../../Installation.js"
import * as Json from "./json.js"

const model = (chosen: unknown) => (value: unknown): ReadonlyArray<Installation.Model> => {
  const record = Json.record(value)
  const id = Json.string(record["modelId"])
  return id === undefined
    ? []
    : [Json.compact({ id, name: Json.string(record["name"]), isDefault: id === chosen ? true : undefined })]
}

const notLoggedIn = -32000

export const probe: AgentDriver.Probe = {
  verified: "1.0.102",
  version: ["--version", "--no-auto-update"],
  help: [{
    args: ["--help", "--no-auto-update"],
    words: {
      addDirs: ["--add-dir"],
      approvals: ["--acp"],
      attachments: ["--attachment"],
      effort: ["--reasoning-effort"],
      interactive: ["--acp"],
      mcpServers: ["--additional-mcp-config"],
      outputSchema: [],
      resume: ["--resume"],
      system: [],
      tools: ["--allow-tool", "--deny-tool"]
    }
  }],
  ask: {
    args: ["--acp", "--no-auto-update", "--no-remote", "--disable-builtin-mcps"],
    records: (cwd) => [
      { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } },
      // Nothing is kept of a conversation without a prompt.
      { jsonrpc: "2.0", id: 2, method: "session/new", params: { cwd, mcpServers: [] } }
    ],
    answers: 1,
    isAnswer: ({ id, method }) => method === undefined && id === 2,
    read: ([answer]) => {
      const found = Json.record(Json.record(answer?.["result"])["models"])
      const models = Json.list(found["availableModels"]).flatMap(model(found["currentModelId"]))
      return Json.compact({
        login: Json.isRecord(answer?.["result"])
          ? "yes" as const
          : Json.record(answer?.["error"])["code"] === notLoggedIn
          ? "no" as const
          : "unknown" as const,
        models: models.length === 0 ? undefined : models
      })
    }
  }
}
