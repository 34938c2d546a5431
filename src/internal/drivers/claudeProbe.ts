/** What Claude Code tells of itself, as of 2.1.332: the answer to the opening of a dialogue, before any prompt. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as Installation from "../../Installation.js"
import * as Json from "./json.js"

const model = (value: unknown): ReadonlyArray<Installation.Model> => {
  const record = Json.record(value)
  const id = Json.string(record["value"])
  return id === undefined ? [] : [Json.compact({
    id,
    name: Json.string(record["displayName"]),
    efforts: record["supportsEffort"] === true ? Json.strings(record["supportedEffortLevels"]) : undefined,
    isDefault: id === "default" ? true : undefined
  })]
}

export const probe: AgentDriver.Probe = {
  verified: "2.1.332",
  help: [{
    args: ["--help"],
    words: {
      addDirs: ["--add-dir"],
      approvals: ["--input-format"],
      attachments: [],
      command: [],
      effort: ["--effort"],
      fork: ["--fork-session"],
      interactive: ["--input-format", "--replay-user-messages"],
      mcpServers: ["--mcp-config"],
      outputSchema: ["--json-schema"],
      resume: ["--resume"],
      system: ["--append-system-prompt"],
      systemReplace: ["--system-prompt"],
      // Its option is there, and not in the help.
      thinking: [],
      tools: ["--allowedTools", "--disallowedTools"]
    }
  }],
  env: { DISABLE_AUTOUPDATER: "1" },
  ask: {
    // No MCP server is started for it.
    args: ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--strict-mcp-config"],
    records: () => [{ type: "control_request", request_id: "probe", request: { subtype: "initialize" } }],
    answers: 1,
    isAnswer: (record) => record["type"] === "control_response",
    read: ([answer]) => {
      const response = Json.record(Json.record(answer?.["response"])["response"])
      const account = Json.record(response["account"])
      // A key in the environment is a source of tokens, a login one of an account.
      const by = [account["tokenSource"], account["apiKeySource"]].map(Json.string)
        .find((source) => source !== undefined && source !== "none")
      const models = Json.list(response["models"]).flatMap(model)
      return Json.compact({
        login: by !== undefined
          ? "yes" as const
          : account["tokenSource"] === "none"
          ? "no" as const
          : "unknown" as const,
        by,
        models: models.length === 0 ? undefined : models
      })
    }
  }
}
