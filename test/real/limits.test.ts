/** Every limit at the real CLIs, where they tell what it takes: in one shot and in a dialogue. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "effect-agents/Agent"
import * as AgentError from "effect-agents/AgentError"
import type * as AgentRun from "effect-agents/AgentRun"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expectGone } from "../utils/Processes.js"
import type * as ModelServer from "./ModelServer.js"
import * as Rig from "./rig.js"
import * as Wire from "./wire.js"

type Limit = AgentError.AgentLimitExceeded["limit"]

interface Row {
  readonly limits: AgentRun.Limits
  readonly allowed: number
  /** What its model does; `stay` is a command that does not end. */
  readonly script: (stay: Wire.Call) => ModelServer.Script
  /** Who tells enough for it, where not all do. */
  readonly only?: (cli: Rig.Cli, interactive: boolean) => boolean
  /** It may be over before the agent has named its conversation. */
  readonly early?: boolean
}

const stalled = (): ModelServer.Script => ({ _tag: "Stall", text: "half of the answer" })
const busy = (stay: Wire.Call): ModelServer.Script => ({ _tag: "Calls", calls: [stay], text: "done" })
const rounds = (): ModelServer.Script => ({ _tag: "Calls", calls: Array(6).fill(Wire.shell("true")), text: "done" })

const rows: Readonly<Record<Limit, Row>> = {
  wall: { limits: { wall: "2 seconds" }, allowed: 2000, script: stalled, early: true },
  firstEvent: { limits: { firstEvent: "1 millis" }, allowed: 1, script: stalled, early: true },
  idle: { limits: { idle: "2 seconds" }, allowed: 2000, script: stalled, early: true },
  tool: { limits: { tool: "1 second" }, allowed: 1000, script: busy },
  turns: { limits: { turns: 2 }, allowed: 2, script: rounds },
  steps: { limits: { steps: 2 }, allowed: 2, script: rounds },
  // Each turn of the script costs 0.0006 at the prices that Claude Code knows.
  costUsd: { limits: { costUsd: 0.001 }, allowed: 0.001, script: rounds, only: ({ name }) => name === "claude" },
  tokens: {
    limits: { tokens: 15 },
    allowed: 15,
    script: rounds,
    only: ({ name }, interactive) => name === "claude" || interactive
  },
  processes: { limits: { processes: 1 }, allowed: 1, script: busy, early: true },
  memoryBytes: { limits: { memoryBytes: 2 ** 20 }, allowed: 2 ** 20, script: stalled, early: true },
  cpuSeconds: { limits: { cpuSeconds: 0.01 }, allowed: 0.01, script: stalled, early: true },
  openFiles: { limits: { openFiles: 3 }, allowed: 3, script: stalled, early: true }
}

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("limits", (it) => {
  const begin = Effect.fnUntraced(function*(cli: Rig.Cli, interactive: boolean, script: Row["script"]) {
    const place = yield* Rig.makePlace
    const stay = join(place.home, "stay.sh")
    writeFileSync(stay, `(setsid sleep 600.${place.mark}1 &); sleep 600.${place.mark}2\n`)
    const route = yield* Rig.open("limits", script(Wire.shell(`. ${stay}`)))
    const request = yield* Rig.request(cli, place, route.url, { prompt: "go on", permission: "Bypass", interactive })
    return { place, route, request }
  })

  for (const cli of Rig.all) {
    for (const interactive of [false, true]) {
      const way = interactive ? "in a dialogue" : "in one shot"

      it.scoped(`${cli.name}: every limit, ${way}`, () =>
        Effect.forEach(Object.entries(rows) as ReadonlyArray<[Limit, Row]>, ([limit, row]) =>
          Effect.gen(function*() {
            if (row.only?.(cli, interactive) === false) return
            const { place, request, route } = yield* begin(cli, interactive, row.script)
            const error = yield* Agent.run(request, { limits: row.limits }).pipe(
              Effect.flip,
              Effect.timeoutFail({ duration: "30 seconds", onTimeout: () => `${limit} is not kept` })
            )
            if (!(error instanceof AgentError.AgentLimitExceeded)) return assert.fail(`${limit}: ${String(error)}`)
            assert.deepStrictEqual([error.limit, error.allowed], [limit, row.allowed])
            assert.isAbove(error.measured, row.allowed)
            assert.strictEqual(error.partial.teardown?.verified, "empty")
            if (row.early !== true) assert.match(error.partial.session?.id ?? "", /^[0-9a-f-]{36}$/, limit)
            if (limit === "tool") assert.strictEqual(error.partial.openToolCalls.length, 1)
            // The one that knows of it does not even ask its model again.
            if (limit === "turns" && cli.name === "claude") assert.lengthOf(yield* route.turns, 2)
            yield* expectGone(place.mark)
          }).pipe(Effect.scoped), { concurrency: 4, discard: true }).pipe(Effect.provide(Rig.agent(cli))))

      it.scoped(`${cli.name}: afterResult, ${way}: the answer of one that does not leave is kept`, () =>
        Effect.gen(function*() {
          const { place, request } = yield* begin(cli, interactive, () => ({ _tag: "Text", text: "done" }))
          const { installed } = yield* Rig.Rig
          const program = join(place.home, cli.name)
          const script = `#!/bin/sh\n"${installed[cli.name].native}" "$@"\nexec sleep 600.${place.mark}1\n`
          writeFileSync(program, script, { mode: 0o755 })
          const outcome = yield* Agent.run(request, { limits: { afterResult: "1 second" } }).pipe(
            Effect.provide(Rig.agent(cli, { program }))
          )
          assert.deepStrictEqual([outcome.text, outcome.stop], ["done", "completed"])
          assert.isString(outcome.exit.signal, "it left of itself")
          assert.strictEqual(outcome.teardown.verified, "empty")
          yield* expectGone(place.mark)
        }))
    }
  }

  it.scoped("claude: turns, in a conversation: those of each turn, and its process goes on", () =>
    Effect.gen(function*() {
      const { request, route } = yield* begin(Rig.claude, false, rounds)
      const { prompt, ...fields } = request
      // All of them together cost more than this.
      const conversation = yield* Agent.conversation(fields, { limits: { turns: 2, costUsd: 0.0015 } })
      for (const asked of [2, 4, 6]) {
        const error = yield* Effect.flip(conversation.turn(prompt))
        if (!(error instanceof AgentError.AgentLimitExceeded)) return assert.fail(String(error))
        assert.deepStrictEqual([error.limit, error.allowed, error.measured], ["turns", 2, 3])
        assert.isUndefined(error.partial.teardown, "its process was ended")
        assert.lengthOf(yield* route.turns, asked)
      }
      assert.strictEqual((yield* conversation.turn(prompt)).text, "done")
    }).pipe(Effect.provide(Rig.agent(Rig.claude))))
})
