/** Answers, sessions, tools and refusals of the real CLIs, through the public API. */
import { assert, layer } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Agent from "effect-agents/Agent"
import * as Session from "effect-agents/Session"
import { existsSync, mkdirSync, readlinkSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { aliveWith, expectGone } from "../utils/Processes.js"
import * as Rig from "./rig.js"

const hello = "Hello from the scripted model."

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("answers", (it) => {
  for (const cli of Rig.all) {
    it.scoped(`${cli.name}: text`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("text", { _tag: "Text", text: hello })
        const prompt = "-say hello\n\"quoted\" ünïcödé 🙂"
        const outcome = yield* Rig.run(cli, place, route.url, { prompt })
        assert.strictEqual(outcome.text, hello)
        assert.strictEqual(outcome.stop, "completed")
        assert.strictEqual(outcome.session.agent, cli.name)
        assert.match(outcome.session.id, /^[0-9a-f-]{36}$/)
        // Copilot does not say.
        assert.strictEqual(outcome.usage.inputTokens, cli.name === "copilot" ? undefined : 100)
        assert.deepStrictEqual(outcome.exit, { code: 0, signal: null })
        assert.strictEqual(outcome.unparsed, 0)
        assert.strictEqual(outcome.teardown.verified, "empty")
        assert.deepStrictEqual(outcome.teardown.killed, [])
        const turns = yield* route.turns
        assert.strictEqual(turns.length, 1)
        assert.include(turns[0], JSON.stringify(prompt).slice(1, -1))
        yield* expectGone(place.mark)
        yield* Rig.expectNothingOutside
      }))

    it.scoped(`${cli.name}: a launcher on PATH leads to the native binary`, () =>
      Effect.gen(function*() {
        const { installed } = yield* Rig.Rig
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("stall", { _tag: "Stall", text: hello })
        const request = yield* Rig.request(cli, place, route.url, { prompt: "wait" })
        const path = `${dirname(installed[cli.name].launcher)}:${process.env.PATH}`
        yield* Effect.scoped(Effect.gen(function*() {
          const run = yield* Agent.start({ ...request, env: { ...request.env, PATH: path } })
          yield* Stream.runHead(run.events)
          assert.strictEqual(readlinkSync(`/proc/${run.tree.pid}/exe`), realpathSync(installed[cli.name].native))
        })).pipe(Effect.provide(cli.layer()))
        yield* expectGone(place.mark)
      }))

    it.scoped(`${cli.name}: a prompt and a system prompt of 300 KB arrive whole`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("long", { _tag: "Text", text: hello })
        const outcome = yield* Rig.run(cli, place, route.url, {
          prompt: `${"word ".repeat(60_000)}end-of-prompt`,
          system: `${"rule ".repeat(60_000)}end-of-system`
        })
        assert.strictEqual(outcome.text, hello)
        const body = (yield* route.turns)[0] ?? ""
        assert.include(body, "word word end-of-prompt")
        assert.include(body, "rule rule end-of-system")
      }))

    it.scoped(`${cli.name}: a prompt that begins with a slash goes to the model, a command to the CLI`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const commands = join(place.cwd, ".claude", "commands")
        mkdirSync(commands, { recursive: true })
        writeFileSync(join(commands, "mine.md"), "the text of the command: $ARGUMENTS")
        const asked = (fields: Rig.Fields) =>
          Effect.gen(function*() {
            const route = yield* Rig.open("text", { _tag: "Text", text: hello })
            yield* Rig.run(cli, place, route.url, fields)
            return (yield* route.turns)[0] ?? ""
          })
        for (const interactive of [false, true]) {
          for (const prompt of ["/compact", "/mine a b"]) {
            assert.include(yield* asked({ prompt, interactive }), prompt)
          }
          if (cli.name === "claude") {
            const said = yield* asked({ prompt: "/mine a b", command: true, interactive })
            assert.include(said, "the text of the command: a b")
          }
        }
        if (cli.name === "claude") {
          const route = yield* Rig.open("text", { _tag: "Text", text: hello })
          const outcomes = yield* Effect.scoped(Effect.gen(function*() {
            const { prompt: _, ...fields } = yield* Rig.request(cli, place, route.url, { prompt: "none" })
            const conversation = yield* Agent.conversation(fields)
            return [yield* conversation.turn("begin"), yield* conversation.turn("/mine a b")]
          })).pipe(Effect.provide(Rig.agent(cli)))
          assert.deepStrictEqual(outcomes.map(({ text }) => text), [hello, hello])
          assert.notInclude((yield* route.turns)[1] ?? "", "the text of the command")
        }
      }))

    it.scoped(`${cli.name}: an answer of 2 MB`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const big = "0123456789 ünïcödé 🙂 ".repeat(90_000)
        assert.isAbove(Buffer.byteLength(big), 2_000_000)
        const route = yield* Rig.open("big", { _tag: "Text", text: big })
        const outcome = yield* Rig.run(cli, place, route.url, { prompt: "say much" })
        assert.strictEqual(
          outcome.text.length,
          big.trimEnd().length + (outcome.text.length - outcome.text.trimEnd().length)
        )
        assert.isTrue(outcome.text.trimEnd() === big.trimEnd(), "the answer is not the one that was given")
      }))

    it.scoped(`${cli.name}: two turns by resume`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("resume", { _tag: "Text", text: hello })
        const first = yield* Rig.run(cli, place, route.url, { prompt: "the first question" })
        const second = yield* Rig.run(cli, place, route.url, {
          prompt: "the second question",
          session: Session.resume(first.session)
        })
        assert.strictEqual(second.session.id, first.session.id)
        const [one, two] = yield* route.turns
        assert.notInclude(one, "the second question")
        assert.include(two, "the first question")
        assert.include(two, hello)
        assert.include(two, "the second question")
        // What the second run used, not the conversation so far, which is all that Codex tells.
        const told = cli.name === "codex" ? undefined : first.usage
        assert.strictEqual(second.usage.inputTokens, told?.inputTokens)
        assert.strictEqual(second.usage.outputTokens, told?.outputTokens)
        assert.strictEqual(second.usage.costUsd, told?.costUsd)
      }))

    it.scoped(`${cli.name}: resume of a session that does not exist`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("unknown-session", { _tag: "Text", text: hello })
        for (const id of ["00000000-0000-4000-8000-000000000000", "no-such-session"]) {
          const error = yield* Effect.flip(
            Rig.run(cli, place, route.url, { prompt: "go on", session: Session.resume(id) })
          )
          assert.strictEqual(error._tag, "AgentSessionNotFound", `${id}: ${error.message}`)
          assert.isFalse(error.isTransient)
        }
        yield* expectGone(place.mark)
      }))

    it.scoped(`${cli.name}: events, a tool call, and a temporary folder of the run's own`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("tool", {
          _tag: "Shell",
          command: "echo \"folder=$TMPDIR\"",
          text: "the tool has run"
        })
        const request = yield* Rig.request(cli, place, route.url, { prompt: "run it", permission: "Bypass" })
        const [events, outcome] = yield* Effect.scoped(Effect.gen(function*() {
          const run = yield* Agent.start(request)
          const events = Chunk.toReadonlyArray(yield* Stream.runCollect(run.events))
          return [events, yield* run.outcome] as const
        })).pipe(Effect.provide(Rig.agent(cli)))
        assert.strictEqual(outcome.text, "the tool has run")
        assert.deepStrictEqual(events.map((event) => event.seq), events.map((_, index) => index))
        const call = events.find((event) => event._tag === "ToolCall")
        const result = events.find((event) => event._tag === "ToolResult")
        assert.isTrue(call !== undefined && result !== undefined && call.seq < result.seq)
        assert.strictEqual(result?.id, call?.id)
        assert.include(JSON.stringify(result?.output), "folder=")
        assert.strictEqual(events.at(-1)?._tag, "Finished")
        const folder = /folder=(\/[^\s"\\<]+)/.exec((yield* route.turns)[1] ?? "")?.[1] ?? ""
        assert.include(folder, "/ea-")
        assert.isFalse(existsSync(folder), `${folder} is still there`)
      }))

    it.scoped(`${cli.name}: read-only does not write`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("write", { _tag: "Shell", command: "echo x > written", text: "tried" })
        const outcome = yield* Rig.run(cli, place, route.url, { prompt: "write it" })
        assert.isFalse(existsSync(`${place.cwd}/written`))
        assert.strictEqual(outcome.exit.code, 0)
        yield* expectGone(place.mark)
      }))
  }

  for (const cli of [Rig.claude, Rig.codex]) {
    it.scoped(`${cli.name}: fork`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("fork", { _tag: "Text", text: hello })
        const trunk = yield* Rig.run(cli, place, route.url, { prompt: "the trunk" })
        const branch = yield* Rig.run(cli, place, route.url, {
          prompt: "branch A",
          session: Session.fork(trunk.session)
        })
        const again = yield* Rig.run(cli, place, route.url, {
          prompt: "trunk B",
          session: Session.resume(trunk.session)
        })
        assert.notStrictEqual(branch.session.id, trunk.session.id)
        assert.strictEqual(again.session.id, trunk.session.id)
        const turns = yield* route.turns
        assert.include(turns[1], "the trunk")
        assert.include(turns[1], "branch A")
        assert.include(turns[2], "the trunk")
        assert.notInclude(turns[2], "branch A")
      }))
  }

  it.scoped("copilot: fork is refused before anything is started", () =>
    Effect.gen(function*() {
      const place = yield* Rig.makePlace
      const route = yield* Rig.open("fork", { _tag: "Text", text: hello })
      // A program that would leave a trace if it were started.
      const error = yield* Effect.flip(
        Rig.run(Rig.copilot, place, route.url, { prompt: "branch", session: Session.fork("x") }, {
          program: "/bin/does-not-exist"
        })
      )
      assert.strictEqual(error._tag, "AgentUnsupported")
      assert.deepStrictEqual(yield* route.requests, [])
      assert.deepStrictEqual(yield* aliveWith(place.mark), [])
    }))
})
