/**
 * One named session and several processes.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Claude from "effect-agents/Claude"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Session from "effect-agents/Session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Fakes from "../utils/Fakes.js"
import * as Host from "../utils/Host.js"
import type { Seen } from "../utils/Processes.js"
import { aliveWith, isAlive, makeMark, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import type { Input } from "./hostProgram.js"
import { inFiles, store } from "./support.js"

const shared = { project: "my-app", name: "shared" }

const start = (input: Input) => Host.start(new URL("./hostProgram.ts", import.meta.url), input)

const recordIn = (directory: string) =>
  Effect.flatMap(store, ({ get }) => get(shared)).pipe(
    Effect.map(Option.getOrUndefined),
    Effect.provide(inFiles(directory))
  )

const signal = (processes: ReadonlyArray<Seen>, name: NodeJS.Signals) =>
  Effect.forEach(
    processes,
    (seen) => Effect.whenEffect(Effect.sync(() => process.kill(seen.pid, name)), isAlive(seen)),
    { discard: true }
  )

const rounds = 10

describe("one named session", () => {
  it.scopedLive(
    "of two processes that both want it all the time is one conversation, in which nobody is interrupted",
    () =>
      Effect.gen(function*() {
        const directory = yield* TempDir.make
        const state = join(directory, "state")
        // Reads what was said, takes its time, and writes it with its own: a second run in between would lose a turn.
        const steps = [{ do: "start" }, { do: "pause", ms: 20 }, { do: "recall" }]
        const hosts = yield* Effect.forEach(["left", "right"], (side) =>
          start({
            directory: join(directory, "sessions"),
            scenario: { state, steps },
            prompts: Array.from({ length: rounds }, (_, index) => `${side} ${index}`)
          }))
        yield* Effect.forEach(hosts, (host) => host.exit, { concurrency: "unbounded" })
        const said = (yield* Effect.forEach(hosts, (host) => host.output)).join("").split("\n")
        assert.deepStrictEqual(said.filter((line) => line.startsWith("failed")), [])

        const conversations = readdirSync(state)
        assert.strictEqual(conversations.length, 1, "a second conversation was begun")
        const turns: ReadonlyArray<string> = JSON.parse(readFileSync(join(state, conversations[0]!), "utf8"))
        for (const side of ["left", "right"]) {
          assert.deepStrictEqual(
            turns.filter((turn) => turn.startsWith(side)),
            Array.from({ length: rounds }, (_, index) => `${side} ${index}`)
          )
        }
        assert.strictEqual(turns.length, 2 * rounds)
        // Both have had it in between, or this has shown nothing.
        const changes = turns.filter((turn, index) => index > 0 && turn[0] !== turns[index - 1]?.[0]).length
        assert.isAbove(changes, 1)

        const record = yield* recordIn(join(directory, "sessions"))
        assert.strictEqual(conversations[0], `claude-${record?.id}.json`)
        const ids = said.flatMap((line) => / in (\S+)$/.exec(line)?.[1] ?? [])
        assert.deepStrictEqual([new Set(ids), ids.length], [new Set([record?.id]), 2 * rounds])
        assert.deepStrictEqual(readdirSync(join(directory, "sessions", "my-app")).sort(), [
          "shared.json",
          "shared.lease"
        ])
        assert.deepStrictEqual(readdirSync(join(directory, "sessions", "my-app", "shared.lease")), [])
      }),
    120_000
  )

  for (const [who, guarded] of [["", true], [" together with its guard", false]] as const) {
    it.scopedLive(
      `of a host that was killed${who} goes on in the next one, once nothing of the first is left`,
      () =>
        Effect.gen(function*() {
          const directory = yield* TempDir.make
          const sessions = join(directory, "sessions")
          const state = join(directory, "state")
          const mark = yield* makeMark
          const host = yield* start({
            directory: sessions,
            scenario: {
              state,
              mark,
              steps: [{ do: "start" }, { do: "keep" }, { do: "spawn", kinds: ["tree", "setsid"] }, { do: "idle" }]
            },
            prompts: ["First"]
          })
          yield* waitUntil("the session is bound", Effect.map(recordIn(sessions), (record) => record !== undefined), {
            deadline: "60 seconds"
          })
          yield* waitUntil(
            "the turn is kept",
            Effect.sync(() => existsSync(state) && readdirSync(state).some((name) => name.endsWith(".json")))
          )
          const id = (yield* recordIn(sessions))?.id
          const guards = (yield* aliveWith("guardMain.js")).filter(({ parent }) => parent === host.pid)
          assert.strictEqual(guards.length, 1)
          if (!guarded) yield* signal(guards, "SIGSTOP")
          yield* host.signal("SIGKILL")
          yield* host.exit
          if (!guarded) {
            yield* signal(guards, "SIGKILL")
            assert.notStrictEqual((yield* aliveWith(mark)).length, 0)
          }

          const next = AgentRequest.make({
            prompt: "Second",
            session: Session.named(shared.project, shared.name),
            env: Fakes.environment({ name: "TALK", state })
          })
          const [text, left] = yield* Effect.scoped(Effect.gen(function*() {
            const run = yield* Agent.start(next)
            // It has begun: who holds the conversation must have gone before that.
            const left = yield* aliveWith(mark)
            const events = yield* Stream.runCollect(run.events)
            assert.isAbove(events.length, 0)
            const outcome = yield* run.outcome
            assert.strictEqual(outcome.session.id, id)
            return [outcome.text, left] as const
          })).pipe(
            Effect.provide(
              Claude.layer({ program: Fakes.program("claude") }).pipe(
                Layer.provide(inFiles(sessions)),
                // Nobody sweeps but who takes the session over.
                Layer.provide(NodeProcessTree.layerWith({ sweepStale: false }))
              )
            )
          )
          assert.deepStrictEqual(left, [])
          assert.strictEqual(text, "First / Second")
        }),
      60_000
    )
  }

  it.scopedLive(
    "of a host that is killed again and again loses no turn that it was told of",
    () =>
      Effect.gen(function*() {
        const directory = yield* TempDir.make
        const sessions = join(directory, "sessions")
        const state = join(directory, "state")
        const told: Array<string> = []
        for (let life = 0; life < 3; life++) {
          const host = yield* start({
            directory: sessions,
            scenario: { name: "TALK", state },
            prompts: Array.from({ length: 50 }, (_, index) => `${life}.${index}`)
          })
          yield* host.says(`${life}.1 in`)
          yield* Effect.sleep(Math.random() * 300)
          yield* host.signal("SIGKILL")
          yield* host.exit
          told.push(...(yield* host.output).split("\n").flatMap((line) => /^(\S+) in/.exec(line)?.[1] ?? []))
        }
        const record = yield* recordIn(sessions)
        const turns: ReadonlyArray<string> = JSON.parse(readFileSync(join(state, `claude-${record?.id}.json`), "utf8"))
        assert.deepStrictEqual(told.filter((turn) => !turns.includes(turn)), [])
        assert.strictEqual(readdirSync(state).filter((name) => name.endsWith(".json")).length, 1)
      }),
    120_000
  )
})
