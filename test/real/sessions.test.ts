/** One conversation by its name at the real CLIs, in three processes that have nothing in common but the files. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Session from "effect-agents/Session"
import { expectGone } from "../utils/Processes.js"
import * as Host from "../utils/Host.js"
import type { Input } from "./hostProgram.js"
import * as Rig from "./rig.js"

const hello = "Hello from the scripted model."

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("named sessions", (it) => {
  for (const cli of Rig.all) {
    it.scoped(`${cli.name}: a name over three processes: begun, continued, continued`, () =>
      Effect.gen(function*() {
        const { installed } = yield* Rig.Rig
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("named", { _tag: "Text", text: hello })
        const prompts = ["the first question", "the second question", "the third question"]
        for (const prompt of prompts) {
          const session = Session.named(place.mark, "review")
          const request = yield* Rig.request(cli, place, route.url, { prompt, session })
          const input: Input = {
            agent: cli.name,
            program: installed[cli.name].native,
            seal: "none",
            temporary: place.home,
            request: yield* Schema.encode(AgentRequest.AgentRequest)(request)
          }
          yield* Effect.scoped(Effect.gen(function*() {
            const host = yield* Host.start(new URL("./hostProgram.ts", import.meta.url), input)
            const exit = yield* host.exit
            const output = yield* host.output
            assert.include(output, `ended with ${hello}`)
            assert.deepStrictEqual(exit, { code: 0, signal: null }, output)
          }))
          yield* expectGone(place.mark)
        }
        // Each one is asked with all that was said before, and nothing twice.
        const turns = yield* route.turns
        const asked = (turn: string) => prompts.map((prompt) => turn.split(prompt).length - 1)
        assert.deepStrictEqual(turns.map(asked), [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
        assert.strictEqual((turns[2] ?? "").split(hello).length - 1, 2)
        yield* Rig.expectNothingOutside
      }))
  }
})
