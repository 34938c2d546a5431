/** What Codex tells of itself, as of 0.171.0: the answers of its app-server, without a conversation. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as Installation from "../../Installation.js"
import * as Json from "./json.js"

const model = (value: unknown): ReadonlyArray<Installation.Model> => {
  const record = Json.record(value)
  const id = Json.string(record["model"]) ?? Json.string(record["id"])
  return id === undefined || record["hidden"] === true ? [] : [Json.compact({
    id,
    name: Json.string(record["displayName"]),
    efforts: Json.list(record["supportedReasoningEfforts"]).flatMap((effort) =>
      Json.string(Json.record(effort)["reasoningEffort"]) ?? []
    ),
    isDefault: record["isDefault"] === true ? true : undefined
  })]
}

const quota = (limits: AgentDriver.JsonRecord) => (name: string): ReadonlyArray<Installation.Quota> => {
  const window = Json.record(limits[name])
  const usedPercent = Json.number(window["usedPercent"])
  const seconds = Json.number(window["resetsAt"])
  return usedPercent === undefined
    ? []
    : [Json.compact({ name, usedPercent, resetsAt: seconds === undefined ? undefined : seconds * 1000 })]
}

const names = ["account/read", "model/list", "account/rateLimits/read"]

export const probe: AgentDriver.Probe = {
  verified: "0.171.0",
  help: [
    {
      args: ["exec", "--help"],
      words: {
        addDirs: ["--add-dir"],
        attachments: ["--image"],
        effort: ["--config"],
        fork: ["fork"],
        mcpServers: ["--config"],
        outputSchema: ["--output-schema"],
        resume: ["resume"],
        system: ["--config"],
        systemReplace: ["--config"]
      }
    },
    { args: ["--help"], words: { approvals: ["app-server"], interactive: ["app-server"] } }
  ],
  ask: {
    args: ["app-server"],
    records: () => [
      { id: "initialize", method: "initialize", params: { clientInfo: { name: "effect-agents", version: "0.1.0" } } },
      { method: "initialized" },
      ...names.map((name) => ({ id: name, method: name, params: {} }))
    ],
    answers: names.length,
    isAnswer: ({ id, method }) => method === undefined && names.includes(String(id)),
    read: (answers) => {
      const resultOf = (name: string) => Json.record(answers.find(({ id }) => id === name)?.["result"])
      const account = resultOf("account/read")
      const own = Json.record(account["account"])
      const by = Json.string(own["type"])
      const limits = Json.record(resultOf("account/rateLimits/read")["rateLimits"])
      const models = Json.list(resultOf("model/list")["data"]).flatMap(model)
      const windows = ["primary", "secondary"].flatMap(quota(limits))
      return Json.compact({
        login: Json.isRecord(account["account"])
          ? "yes" as const
          : account["requiresOpenaiAuth"] === true
          ? "no" as const
          : "unknown" as const,
        by,
        models: models.length === 0 ? undefined : models,
        quota: windows.length === 0 ? undefined : windows
      })
    }
  }
}
