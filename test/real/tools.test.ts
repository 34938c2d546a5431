/** Rules for tools, MCP servers, attachments and system prompts at the real CLIs: proven by files and by what the model sees. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Agent from "effect-agents/Agent"
import * as Session from "effect-agents/Session"
import * as ToolRule from "effect-agents/ToolRule"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expectGone } from "../utils/Processes.js"
import * as Rig from "./rig.js"
import * as Wire from "./wire.js"

const secret = "s3cret '\"$(x) value"

/** The server with the notes, and where it puts them. */
const notes = (place: Rig.Place) => {
  const folder = join(place.home, "notes")
  mkdirSync(folder)
  return {
    server: {
      command: process.execPath,
      args: [fileURLToPath(new URL("notes-mcp.mjs", import.meta.url)), folder, place.mark, "it's \"two\" words"],
      env: { NOTES_TOKEN: secret }
    },
    started: (): { readonly rest: ReadonlyArray<string>; readonly environ: string } =>
      JSON.parse(readFileSync(join(folder, "started.json"), "utf8")),
    has: (name: string) => existsSync(join(folder, name))
  }
}

const variable = (environ: string, name: string): string | undefined =>
  environ.split("\0").find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1)

const image = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("tools", (it) => {
  for (const cli of Rig.all) {
    it.scoped(`${cli.name}: of MCP the tools that are named, with the mark, and no secret on a command line`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const { has, server, started } = notes(place)
        const route = yield* Rig.open("mcp", {
          _tag: "Calls",
          calls: ["note", "look"].map((tool) => Wire.mcp("my-notes", tool, { text: `text of ${tool}` })),
          text: "done"
        })
        const request = yield* Rig.request(cli, place, route.url, {
          prompt: "take a note",
          mcpServers: {
            "my-notes": server,
            web: { url: `${route.url}/mcp`, headers: { "X-Key": "header-value" } }
          },
          tools: { allow: [ToolRule.mcp("my-notes", "note")] }
        })
        const leader = yield* Effect.scoped(Effect.gen(function*() {
          const run = yield* Agent.start(request)
          yield* Stream.runHead(run.events)
          const read = (name: string) => readFileSync(`/proc/${run.tree.pid}/${name}`, "utf8")
          const seen = { environ: read("environ"), cmdline: read("cmdline") }
          assert.strictEqual((yield* run.outcome).exit.code, 0)
          return seen
        })).pipe(Effect.provide(Rig.agent(cli)))

        assert.isTrue(has("note"), "the tool that is allowed was not called")
        assert.isFalse(has("look"), "a tool that nobody named was called")
        assert.include((yield* route.turns)[1], "note was given text of note")

        const { environ, rest } = started()
        assert.deepStrictEqual(rest, server.args.slice(2))
        assert.strictEqual(variable(environ, "NOTES_TOKEN"), secret)
        assert.isString(variable(leader.environ, "EFFECT_AGENTS_TREE"))
        assert.strictEqual(
          variable(environ, "EFFECT_AGENTS_TREE"),
          variable(leader.environ, "EFFECT_AGENTS_TREE")
        )
        assert.notInclude(leader.cmdline, "s3cret")
        assert.notInclude(leader.cmdline, "header-value")
        assert.include(
          (yield* route.requests).filter(({ path }) => path.endsWith("/mcp")).map(({ headers }) => headers["x-key"]),
          "header-value"
        )
        yield* expectGone(place.mark)
        yield* Rig.expectNothingOutside
      }))

    it.scoped(`${cli.name}: a denial beats even Bypass`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const { has, server } = notes(place)
        const route = yield* Rig.open("deny", {
          _tag: "Calls",
          calls: ["note", "drop"].map((tool) => Wire.mcp("notes", tool, { text: tool })),
          text: "done"
        })
        yield* Rig.run(cli, place, route.url, {
          prompt: "drop it",
          permission: "Bypass",
          mcpServers: { notes: server },
          tools: { allow: [ToolRule.mcp("notes")], deny: [ToolRule.mcp("notes", "drop")] }
        })
        assert.isTrue(has("note"), "the tool that is not denied was not called")
        assert.isFalse(has("drop"), "the tool that is denied was called")
        yield* expectGone(place.mark)
      }))

    it.scoped(`${cli.name}: an image, and a system prompt in place of its own`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        writeFileSync(join(place.cwd, "a b.png"), image)
        const route = yield* Rig.open("image", { _tag: "Text", text: "a dot" })
        const replaced = cli.name === "copilot"
          ? {}
          : { systemReplace: "You are the \"parrot\"\nof this test" }
        const fields = { prompt: "what is it", attachments: [{ path: "a b.png" }], system: "added to it" }
        const { session } = yield* Rig.run(cli, place, route.url, { ...fields, ...replaced })
        if (cli.name === "codex") {
          yield* Rig.run(cli, place, route.url, { ...fields, ...replaced, session: Session.resume(session) })
        }
        for (const turn of yield* route.turns) {
          assert.include(turn, image.toString("base64"))
          assert.include(turn, "added to it")
          assert.strictEqual(turn.includes("You are the \\\"parrot\\\"\\nof this test"), cli.name !== "copilot")
          assert.notInclude(turn, "You are a coding agent running in the Codex CLI")
          assert.notInclude(turn, "using your own judgment along the way")
        }
      }))
  }

  for (const cli of [Rig.claude, Rig.copilot]) {
    it.scoped(`${cli.name}: commands and edits as the rules say`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        writeFileSync(join(place.cwd, "a"), "")
        mkdirSync(join(place.cwd, "kept"))
        const route = yield* Rig.open("rules", {
          _tag: "Calls",
          calls: [
            Wire.shell("ln a allowed"),
            Wire.shell("ln -s a denied"),
            Wire.shell("truncate -s 0 unnamed"),
            Wire.write(join(place.cwd, "kept", "edit")),
            Wire.write(join(place.cwd, "edit"))
          ],
          text: "done"
        })
        yield* Rig.run(cli, place, route.url, {
          prompt: "try everything",
          permission: "Edit",
          tools: { allow: [ToolRule.shell("ln")], deny: [ToolRule.shell("ln -s"), ToolRule.edit("kept")] }
        })
        const made = ["allowed", "denied", "unnamed", "kept/edit", "edit"].filter((name) =>
          existsSync(join(place.cwd, name))
        )
        assert.deepStrictEqual(made, ["allowed", "edit"])
        assert.strictEqual((yield* route.turns).length, 6, "not everything was tried")
      }))
  }

  it.scoped("an attachment that is not there fails the run before it starts", () =>
    Effect.gen(function*() {
      const place = yield* Rig.makePlace
      mkdirSync(join(place.cwd, "folder.png"))
      const route = yield* Rig.open("missing", { _tag: "Text", text: "never" })
      for (const path of ["missing.png", "folder.png"]) {
        const error = yield* Effect.flip(
          Rig.run(Rig.codex, place, route.url, { prompt: "look", attachments: [{ path }] })
        )
        assert.strictEqual(error._tag, "AgentSpawnError")
        assert.include(error.message, path)
      }
      assert.deepStrictEqual(yield* route.requests, [])
    }))
})
