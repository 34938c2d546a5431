/**
 * What a request says beside its prompt arrives at the CLI, secrets in files that are only the user's.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as ToolRule from "effect-agents/ToolRule"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Fakes from "../utils/Fakes.js"
import * as TempDir from "../utils/TempDir.js"
import { conformance, failsWith } from "./harness.js"

const encode = Schema.encode(Schema.parseJson(AgentRequest.AgentRequest))
const decode = Schema.decode(Schema.parseJson(AgentRequest.AgentRequest))

const secret = "s3cret-value"

conformance("request", ({ layer, name, request }) => {
  it.scopedLive("a request from a queue: rules, servers, attachments, system prompt", () =>
    Effect.gen(function*() {
      const cwd = yield* TempDir.make
      const dump = join(cwd, "dump.json")
      writeFileSync(join(cwd, "a.png"), "")
      const stored = yield* encode(request({ name: "OK", dump }, {
        cwd,
        permission: "Edit",
        attachments: [{ path: "a.png" }],
        mcpServers: {
          docs: { command: "docs", env: { TOKEN: secret } },
          web: { url: "https://example.com/mcp", headers: { "X-Key": secret } }
        },
        tools: { allow: [ToolRule.mcp("docs", "search")], deny: [ToolRule.mcp("docs", "drop")] },
        ...(name === "copilot" ? {} : { systemReplace: "You are a parrot" })
      }))
      yield* Agent.run(yield* decode(stored))
      const { argv, env, files, prompt } = yield* Fakes.readDump(dump)
      const line = argv.join(" ")

      assert.notInclude(line, secret)
      for (const { mode, path } of Object.values(files)) {
        assert.strictEqual(mode, 0o600)
        assert.include(line, path)
        assert.isFalse(existsSync(path), "a file outlived its run")
      }
      const content = Object.values(files).map((file) => file.content).join("\n")
      assert.include(content, secret)
      if (name !== "copilot") assert.include(content, "You are a parrot")
      assert.include(name === "claude" ? prompt : line, "a.png")
      assert.strictEqual(prompt?.startsWith("Do it"), true)
      assert.include(`${content}${Object.values(env).join("\n")}`.replace(secret, ""), secret, "one of the two")
      assert.include(line, "search")
      assert.include(line, "drop")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("an attachment that cannot be read: nothing is started", () =>
    Effect.gen(function*() {
      const cwd = yield* TempDir.make
      const dump = join(cwd, "dump.json")
      mkdirSync(join(cwd, "folder.png"))
      for (const path of ["missing.png", "folder.png"]) {
        const error = yield* failsWith(
          "AgentSpawnError",
          Agent.run(request({ name: "OK", dump }, { cwd, attachments: [{ path }] }))
        )
        assert.strictEqual(error.reason, "files")
        assert.include(error.message, path)
        assert.isFalse(existsSync(dump))
      }
    }).pipe(Effect.provide(layer())))
})
