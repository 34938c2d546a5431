/** What a caller says to a real CLI while its turn goes on, proven by files and by what the model was asked. */
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as Agent from "effect-agents/Agent"
import * as Approval from "effect-agents/Approval"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { aliveWith, expectGone, waitUntil } from "../utils/Processes.js"
import * as Rig from "./rig.js"
import * as Wire from "./wire.js"

/** Those that have a dialogue. */
const clis = [Rig.claude]

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
        const asked = join(place.cwd, "asked")
        const edited = join(place.cwd, "edited")
        const { request } = yield* asking(place, [Wire.shell(`python3 -c 'open("${asked}", "w")'`)])
        const outcome = yield* Agent.run(request, {
          approve: ({ input, tool }) =>
            Effect.sync(() => {
              assert.include(JSON.stringify(input), "asked")
              assert.strictEqual(tool, "Bash")
              return Approval.allow({ input: { command: `touch ${edited}` } })
            })
        }).pipe(Effect.provide(Rig.agent(cli)))
        assert.strictEqual(outcome.text, "all done")
        assert.isTrue(existsSync(edited), "the edited command was not run")
        assert.isFalse(existsSync(asked), "the command was run as it was asked for")
      }))

    it.scoped(`${cli.name}: what is denied is not done, and the model hears why`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const file = join(place.cwd, "denied")
        const { request, route } = yield* asking(place, [Wire.shell(`python3 -c 'open("${file}", "w")'`)])
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
          files.map((file) => Wire.shell(`python3 -c 'open("${file}", "w")'`)),
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

    it.scoped(`${cli.name}: a message reaches the turn that goes on`, () =>
      Effect.gen(function*() {
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
          const sent = yield* Effect.fork(run.send("and mind the marmalade"))
          yield* Effect.sleep("200 millis")
          writeFileSync(released, "")
          const outcome = yield* run.outcome
          yield* Fiber.join(sent)
          return outcome
        })).pipe(Effect.provide(Rig.agent(cli)))
        assert.strictEqual(outcome.text, "all done")
        const turns = yield* route.turns
        assert.include(turns.at(-1) ?? "", "and mind the marmalade")
      }))

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
})
