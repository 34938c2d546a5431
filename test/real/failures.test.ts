/** What the provider refuses or breaks, as typed errors, by the real CLIs. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { expectGone } from "../utils/Processes.js"
import type * as ModelServer from "./ModelServer.js"
import * as Rig from "./rig.js"

const words = "Words that are cut off before the end of the sentence which they belong to."

interface Case {
  readonly name: string
  readonly script: ModelServer.Script
  readonly tag: string
  readonly transient: boolean
  readonly status?: number
}

const cases: ReadonlyArray<Case> = [
  {
    name: "401",
    script: { _tag: "Status", status: 401 },
    tag: "AgentNotAuthenticated",
    transient: false,
    status: 401
  },
  {
    name: "429",
    script: { _tag: "Status", status: 429, retryAfter: 1 },
    tag: "AgentRateLimited",
    transient: true,
    status: 429
  },
  { name: "500", script: { _tag: "Status", status: 500 }, tag: "AgentOverloaded", transient: true, status: 500 },
  { name: "a cut stream", script: { _tag: "Truncated", text: words }, tag: "AgentOverloaded", transient: true }
]

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("failures", (it) => {
  for (const cli of Rig.all) {
    for (const { name, script, status, tag, transient } of cases) {
      it.scoped(`${cli.name}: ${name}`, () =>
        Effect.gen(function*() {
          const place = yield* Rig.makePlace
          const route = yield* Rig.open("failure", script)
          const error = yield* Effect.flip(Rig.run(cli, place, route.url, { prompt: "say hello" }))
          yield* expectGone(place.mark)
          assert.strictEqual(error._tag, tag, error.message)
          assert.strictEqual(error.isTransient, transient)
          assert.isTrue("partial" in error)
          if (!("partial" in error)) return
          // Codex words a failing provider without its status.
          assert.strictEqual(error.status, cli.name === "codex" && status === 500 ? undefined : status, error.message)
          assert.deepStrictEqual(error.partial.exit, { code: 1, signal: null })
          assert.strictEqual(error.partial.teardown?.verified, "empty")
          assert.match(error.partial.session?.id ?? "", /^[0-9a-f-]{36}$/)
          assert.isAtLeast((yield* route.turns).length, 1)
          yield* Rig.expectNothingOutside
        }))
    }

    it.scoped(`${cli.name}: a flag that it does not know`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("flag", { _tag: "Text", text: "not asked" })
        const error = yield* Effect.flip(
          Rig.run(cli, place, route.url, { prompt: "say hello", extraArgs: ["--no-such-flag"] })
        )
        assert.strictEqual(error._tag, "AgentFlagRejected", error.message)
        assert.include(error.message, "--no-such-flag")
        assert.deepStrictEqual(yield* route.turns, [])
        yield* expectGone(place.mark)
      }))
  }
})
