/** What a caller says to a real CLI while its turn goes on, proven by files and by what the model was asked. */
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as Agent from "effect-agents/Agent"
import * as Approval from "effect-agents/Approval"
import * as Session from "effect-agents/Session"
import * as ToolRule from "effect-agents/ToolRule"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { aliveWith, expectGone, waitUntil } from "../utils/Processes.js"
import * as Rig from "./rig.js"
import * as Wire from "./wire.js"

const clis = [Rig.claude, Rig.codex, Rig.copilot]

const shells = { claude: "Bash", codex: "command_execution", copilot: "bash" }

const image = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

const exists = (file: string) => Effect.sync(() => existsSync(file))

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("dialogue", (it) => {
  for (const cli of clis) {
    const asking = (place: Rig.Place, calls: ReadonlyArray<Wire.Call>, fields: Partial<Rig.Fields> = {}) =>
      Effect.gen(function*() {
        const route = yield* Rig.open("dialogue", { _tag: "Calls", calls, text: "all done" })
        const request = yield* Rig.request(cli, place, route.url, { prompt: "go on", permission: "Edit", ...fields })
        return { route, request }
      })

    it.scoped(`${cli.name}: what is allowed is done as the answer says`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const asked = join(place.home, "asked")
        const edited = join(place.home, "edited")
        const edits = cli.name === "claude"
        const { request } = yield* asking(place, [Wire.shell(`python3 -c 'open("${asked}", "w")'`, true)])
        const outcome = yield* Agent.run(request, {
          approve: ({ input, tool }) =>
            Effect.sync(() => {
              assert.include(JSON.stringify(input), "asked")
              assert.strictEqual(tool, shells[cli.name])
              return Approval.allow(edits ? { input: { command: `touch ${edited}` } } : {})
            })
        }).pipe(Effect.provide(Rig.agent(cli)))
        assert.strictEqual(outcome.text, "all done")
        assert.strictEqual(existsSync(edited), edits, "the edited command was not run")
        assert.strictEqual(existsSync(asked), !edits, "the command was not run as the answer says")
      }))

    it.scoped(`${cli.name}: what is denied is not done, and the model hears why`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const file = join(place.home, "denied")
        const { request, route } = yield* asking(place, [Wire.shell(`python3 -c 'open("${file}", "w")'`, true)])
        yield* Agent.run(request, { approve: () => Effect.succeed(Approval.deny("not on a full moon")) }).pipe(
          Effect.provide(Rig.agent(cli))
        )
        assert.isFalse(existsSync(file))
        assert.include((yield* route.turns)[1] ?? "", "not on a full moon")
      }))

    it.scoped(`${cli.name}: three questions in one turn, each with its own answer; reading needs none`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const files = [1, 2, 3].map((number) => join(place.cwd, `file-${number}`))
        const { request } = yield* asking(
          place,
          files.map((file) => Wire.shell(`python3 -c 'open("${file}", "w")'`, true)),
          { permission: "ReadOnly" }
        )
        const questions = yield* Ref.make<ReadonlyArray<string>>([])
        yield* Agent.run(request, {
          approve: ({ id, input }) =>
            Effect.as(
              Ref.update(questions, (ids) => [...ids, id]),
              JSON.stringify(input).includes("file-2") ? Approval.deny("not that one") : Approval.allow()
            )
        }).pipe(Effect.provide(Rig.agent(cli)))
        assert.strictEqual(new Set(yield* Ref.get(questions)).size, 3)
        assert.deepStrictEqual(files.map((file) => existsSync(file)), [true, false, true])
      }))

    const takesMessages = cli.name !== "copilot"
    const talking = Effect.gen(function*() {
      const place = yield* Rig.makePlace
      const begun = join(place.cwd, "begun")
      const released = join(place.cwd, "released")
      const script = join(place.home, "wait.sh")
      writeFileSync(script, `touch ${begun}; until test -e ${released}; do sleep 0.05; done\n`)
      const { request, route } = yield* asking(place, [Wire.shell(`. ${script}`)], {
        permission: "Bypass",
        interactive: true
      })
      const outcome = yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* Agent.start(request)
        yield* waitUntil("the tool", exists(begun))
        const sent = yield* Effect.fork(Effect.either(run.send("and mind the marmalade")))
        yield* Effect.sleep("200 millis")
        writeFileSync(released, "")
        const outcome = yield* run.outcome
        const refused = Either.getLeft(yield* Fiber.join(sent))
        assert.strictEqual(
          Option.getOrUndefined(refused)?._tag,
          takesMessages ? undefined : "AgentUnsupported"
        )
        return outcome
      })).pipe(Effect.provide(Rig.agent(cli)))
      assert.strictEqual(outcome.text, "all done")
      const turns = yield* route.turns
      assert.strictEqual((turns.at(-1) ?? "").includes("and mind the marmalade"), takesMessages)
    })
    if (takesMessages) it.scoped(`${cli.name}: a message reaches the turn that goes on`, () => talking)
    else it.scoped(`${cli.name}: a message into a turn is refused, and the turn goes on`, () => talking)

    it.scoped(`${cli.name}: a turn that is interrupted leaves no tool at work, and the conversation goes on`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const begun = join(place.cwd, "begun")
        const script = join(place.home, "stay.sh")
        writeFileSync(script, `(setsid sleep 600.${place.mark}1 &); touch ${begun}; sleep 600.${place.mark}2\n`)
        const { request, route } = yield* asking(place, [Wire.shell(`. ${script}`)], { permission: "Bypass" })
        const { prompt: _, ...fields } = request
        yield* Effect.scoped(Effect.gen(function*() {
          const conversation = yield* Agent.conversation(fields)
          const stopped = yield* Deferred.make<string>()
          yield* Effect.scoped(Effect.gen(function*() {
            const turn = yield* conversation.start("go on")
            yield* Effect.forkScoped(Effect.ignore(Stream.runDrain(turn.events)))
            yield* waitUntil("the tool", exists(begun))
            yield* turn.interrupt
            yield* Deferred.succeed(stopped, (yield* turn.outcome).stop)
            const left = yield* aliveWith(`600.${place.mark}`)
            assert.deepStrictEqual(left, [], "a tool is still at work")
          }))
          assert.strictEqual(yield* Deferred.await(stopped), "interrupted")
          const before = (yield* conversation.session)?.id
          const next = yield* conversation.turn("and now?")
          assert.strictEqual(next.session.id, before)
          assert.include((yield* route.turns).at(-1) ?? "", "and now?")
          assert.include((yield* route.turns).at(-1) ?? "", "go on")
        })).pipe(Effect.provide(Rig.agent(cli)))
        yield* expectGone(place.mark)
      }))
  }

  it.scoped("codex: another input than it asked for ends the run, and nothing is done", () =>
    Effect.gen(function*() {
      const place = yield* Rig.makePlace
      const file = join(place.home, "edited")
      const route = yield* Rig.open("dialogue", {
        _tag: "Calls",
        calls: [Wire.shell(`touch ${file}`, true)],
        text: "all done"
      })
      const request = yield* Rig.request(Rig.codex, place, route.url, { prompt: "go on", permission: "Edit" })
      const error = yield* Agent.run(request, {
        approve: () => Effect.succeed(Approval.allow({ input: { command: `touch ${file}` } }))
      }).pipe(Effect.provide(Rig.agent(Rig.codex)), Effect.flip)
      assert.strictEqual(error._tag, "AgentUnsupported")
      assert.isFalse(existsSync(file))
    }))

  it.scoped("codex: what a request says reaches the model through the dialogue as well, also when it is continued", () =>
    Effect.gen(function*() {
      const cli = Rig.codex
      const place = yield* Rig.makePlace
      writeFileSync(join(place.cwd, "a,b.png"), image)
      const route = yield* Rig.open("dialogue", { _tag: "Text", text: "{\"a\":1}" })
      const fields = {
        prompt: "what is it",
        permission: "Edit",
        interactive: true,
        attachments: [{ path: "a,b.png" }],
        system: "added to it",
        systemReplace: "You are the parrot",
        model: "scripted-2",
        effort: "low",
        outputSchema: {
          type: "object",
          properties: { a: { type: "number" } },
          required: ["a"],
          additionalProperties: false
        }
      } as const
      const first = yield* Rig.run(cli, place, route.url, fields)
      assert.deepStrictEqual(first.structured, { a: 1 })
      assert.notInclude(readFileSync(join(place.home, ".codex", "config.toml"), "utf8"), "trust")
      const resumed = yield* Rig.run(cli, place, route.url, { ...fields, session: Session.resume(first.session) })
      assert.strictEqual(resumed.session.id, first.session.id)
      assert.deepStrictEqual(resumed.usage, first.usage, "the tokens of this run alone")
      const forked = yield* Rig.run(cli, place, route.url, { ...fields, session: Session.fork(first.session) })
      assert.notStrictEqual(forked.session.id, first.session.id)
      const turns = yield* route.turns
      assert.deepStrictEqual(turns.map((turn) => turn.split("what is it").length - 1), [1, 2, 3])
      for (const turn of turns) {
        for (
          const part of [image.toString("base64"), "added to it", "You are the parrot", "scripted-2", "json_schema"]
        ) {
          assert.include(turn, part)
        }
        assert.match(turn, /"effort":"low"/)
      }
      for (const id of ["nope", "01a22cce-1c1c-72b3-81a4-a1130404f5b9"]) {
        const error = yield* Effect.flip(
          Rig.run(cli, place, route.url, { prompt: "x", interactive: true, session: Session.resume(id) })
        )
        assert.strictEqual(error._tag, "AgentSessionNotFound")
      }
    }))

  it.scoped("codex: a tool of MCP that no rule allows is asked for by its name, and once for the conversation", () =>
    Effect.gen(function*() {
      const place = yield* Rig.makePlace
      const folder = join(place.home, "notes")
      mkdirSync(folder)
      const route = yield* Rig.open("dialogue", {
        _tag: "Calls",
        calls: ["note", "note"].map((tool) => Wire.mcp("my-notes", tool, { text: "a text" })),
        text: "all done"
      })
      const request = yield* Rig.request(Rig.codex, place, route.url, {
        prompt: "take a note",
        permission: "Edit",
        mcpServers: {
          "my-notes": {
            command: process.execPath,
            args: [fileURLToPath(new URL("notes-mcp.mjs", import.meta.url)), folder, place.mark]
          }
        }
      })
      const asked = yield* Ref.make<ReadonlyArray<Approval.Question>>([])
      yield* Agent.run(request, {
        approve: (question) => Effect.as(Ref.update(asked, (all) => [...all, question]), Approval.allowForSession)
      }).pipe(Effect.provide(Rig.agent(Rig.codex)))
      assert.deepStrictEqual((yield* Ref.get(asked)).map(({ input, tool }) => ({ input, tool })), [
        { input: { text: "a text" }, tool: "mcp__my-notes__note" }
      ])
      assert.isTrue(existsSync(join(folder, "note")))
      assert.strictEqual((yield* route.turns).length, 3)
    }))

  it.scoped("copilot: a conversation goes on under the permission of the request, whatever it had before", () =>
    Effect.gen(function*() {
      const cli = Rig.copilot
      const place = yield* Rig.makePlace
      const file = (number: number) => join(place.home, `file-${number}`)
      const route = yield* Rig.open("dialogue", {
        _tag: "Calls",
        calls: [1, 2].map((number) => Wire.shell(`touch ${file(number)}`)),
        text: "all done"
      })
      const whole = yield* Rig.run(cli, place, route.url, { prompt: "go on", permission: "Bypass", interactive: true })
      assert.isTrue(existsSync(file(1)) && existsSync(file(2)))
      const again = yield* Rig.open("dialogue", {
        _tag: "Calls",
        calls: [undefined, undefined, 3, 4].map((number) => Wire.shell(`touch ${file(number ?? 0)}`)),
        text: "all done"
      })
      const asked = yield* Ref.make(0)
      const request = yield* Rig.request(cli, place, again.url, {
        prompt: "/context is what they say",
        permission: "Edit",
        session: Session.resume(whole.session)
      })
      const outcome = yield* Agent.run(request, {
        approve: () => Effect.as(Ref.update(asked, (n) => n + 1), Approval.deny("no"))
      }).pipe(Effect.provide(Rig.agent(cli)))
      assert.strictEqual(outcome.session.id, whole.session.id)
      assert.strictEqual(outcome.text, "all done")
      assert.strictEqual(yield* Ref.get(asked), 2)
      assert.isFalse(existsSync(file(3)) || existsSync(file(4)))
      const turns = yield* again.turns
      assert.include(turns[0] ?? "", "/context is what they say")
      assert.include(turns[0] ?? "", "go on")
      const error = yield* Effect.flip(
        Rig.run(cli, place, again.url, { prompt: "x", interactive: true, session: Session.resume("nope") })
      )
      assert.strictEqual(error._tag, "AgentSessionNotFound")
    }))

  it.scoped("copilot: with nobody to ask nothing is done, and rules, servers, model and system hold in a dialogue", () =>
    Effect.gen(function*() {
      const cli = Rig.copilot
      const place = yield* Rig.makePlace
      const folder = join(place.home, "notes")
      mkdirSync(folder)
      const denied = join(place.home, "denied")
      const other = join(place.home, "other place")
      mkdirSync(other)
      const route = yield* Rig.open("dialogue", {
        _tag: "Calls",
        calls: [
          Wire.mcp("my-notes", "note", { text: "a text" }),
          Wire.write(join(other, "written")),
          Wire.shell(`touch ${denied}`),
          Wire.write(join(place.home, "denied-too"))
        ],
        text: "all done"
      })
      const outcome = yield* Rig.run(cli, place, route.url, {
        prompt: "take a note",
        permission: "Edit",
        interactive: true,
        model: "scripted-2",
        addDirs: [other],
        system: "In French",
        tools: { allow: [ToolRule.mcp("my-notes", "note")], deny: [ToolRule.shell()] },
        mcpServers: {
          "my-notes": {
            command: process.execPath,
            args: [fileURLToPath(new URL("notes-mcp.mjs", import.meta.url)), folder, place.mark]
          }
        }
      })
      assert.strictEqual(outcome.text, "all done")
      assert.isTrue(existsSync(join(folder, "note")))
      assert.isTrue(existsSync(join(other, "written")))
      assert.isFalse(existsSync(denied))
      assert.isFalse(existsSync(join(place.home, "denied-too")))
      assert.isAbove(outcome.usage.outputTokens ?? 0, 0)
      const turns = yield* route.turns
      assert.include(turns[0] ?? "", "scripted-2")
      assert.include(turns[0] ?? "", "In French")
    }))

  it.scoped("copilot: a failure of the provider is none of the answer", () =>
    Effect.gen(function*() {
      const place = yield* Rig.makePlace
      const route = yield* Rig.open("dialogue", { _tag: "Status", status: 401 })
      const error = yield* Effect.flip(
        Rig.run(Rig.copilot, place, route.url, { prompt: "x", interactive: true })
      )
      assert.strictEqual(error._tag, "AgentNotAuthenticated")
    }))
})
