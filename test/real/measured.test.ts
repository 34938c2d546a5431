/**
 * The promise in figures, on this machine: what Effect.timeout takes and leaves when the leader ignores SIGTERM, and
 * beside it what killing the process group leaves on the same CLIs with the same tree.
 *
 * EFFECT_AGENTS_REAL_REPEATS is the number of runs of each row, by default 20, in CI 3.
 */
import * as Command from "@effect/platform/Command"
import { afterAll, assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Agent from "effect-agents/Agent"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import { spawn } from "node:child_process"
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { aliveWith, expectGone, isAlive, makeMark, type Seen, waitUntil } from "../utils/Processes.js"
import * as LeftBehind from "./leftBehind.js"
import * as Rig from "./rig.js"

const repeats = Number(process.env.EFFECT_AGENTS_REAL_REPEATS ?? (process.env.CI === undefined ? 20 : 3))

/** When the tree of the tool call is surely there; each run checks that it was. */
const timeout = Duration.seconds(8)
const teardown = Teardown.graceful("2 seconds")
const grace = Duration.toMillis(Teardown.grace(teardown))
const tolerance = 500
const politeAtMost = 40

const rows: Array<ReadonlyArray<string>> = []

afterAll(() => {
  const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
  const head = ["what", "processes", "returned after (median, longest)", "allowed", "survivors", "held"]
  process.stdout.write(`\n${[line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")}\n\n`)
})

const sorted = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)
const median = (values: ReadonlyArray<number>): number => sorted(values)[Math.floor(values.length / 2)] ?? Number.NaN
const ms = (value: number): string => `${Math.round(value)} ms`
const spread = (values: ReadonlyArray<number>): string =>
  [...new Set(sorted(values))].filter((_, i, all) => i === 0 || i === all.length - 1).join("–")

/** A leader that hears no polite signal and does not even end when the CLI under it does. */
const deafLauncher = (place: Rig.Place, native: string): string => {
  const file = join(place.home, "deaf")
  writeFileSync(file, `#!/bin/sh\ntrap '' TERM INT HUP\n"${native}" "$@"\nwhile :; do sleep 5.${place.mark}; done\n`)
  chmodSync(file, 0o700)
  return file
}

const hanging = (cli: Rig.Cli) =>
  Effect.gen(function*() {
    const place = yield* Rig.makePlace
    const route = yield* Rig.open("measured", {
      _tag: "Shell",
      command: LeftBehind.write(place, "stay"),
      text: "the tool has returned"
    })
    const request = yield* Rig.request(
      cli,
      place,
      route.url,
      { prompt: "run it", permission: "Bypass" },
      LeftBehind.mcp(place)
    )
    return { place, request }
  })

interface Measured {
  readonly processes: number
  readonly lateMs: number
  readonly survivors: ReadonlyArray<Seen>
}

const byTimeout = (cli: Rig.Cli) =>
  Effect.scoped(Effect.gen(function*() {
    const { installed } = yield* Rig.Rig
    const { place, request } = yield* hanging(cli)
    const program = deafLauncher(place, installed[cli.name].native)
    const tree = yield* Effect.fork(LeftBehind.complete(place).pipe(Effect.zipRight(aliveWith(place.mark))))
    // Made before the clock starts.
    const agent = yield* Effect.provide(Effect.context<Agent.Agent>(), Rig.agent(cli, { program, teardown }))
    const before = yield* Clock.currentTimeMillis
    const outcome = yield* Agent.run(request).pipe(Effect.timeoutOption(timeout), Effect.provide(agent))
    const after = yield* Clock.currentTimeMillis
    const survivors = yield* aliveWith(place.mark)
    assert.isTrue(Option.isNone(outcome), "the run ended before the timeout")
    const seen = Option.getOrThrowWith(
      yield* Fiber.poll(tree),
      () => new Error("the tree was not complete before the timeout")
    )
    return {
      processes: (yield* seen).length,
      lateMs: after - before - Duration.toMillis(timeout),
      survivors
    }
  }))

/** The same CLI with the same arguments, as its own leader of a group, ended as everybody does it. */
const byGroup = (cli: Rig.Cli) =>
  Effect.scoped(Effect.gen(function*() {
    const { installed } = yield* Rig.Rig
    const { place, request } = yield* hanging(cli)
    const plan = yield* Agent.plan(request).pipe(Effect.provide(Rig.agent(cli)))
    const args = plan.args.map((arg) =>
      typeof arg === "string" ? arg : arg._tag === "Secret" ? arg.value : assert.fail("a plan with files")
    )
    const child = yield* Effect.sync(() => {
      const started = spawn(installed[cli.name].native, args, {
        cwd: place.cwd,
        env: { PATH: process.env.PATH, TMPDIR: place.home, ...plan.env, ...request.env },
        detached: true,
        stdio: ["pipe", "ignore", "ignore"]
      })
      started.stdin.on("error", () => {})
      started.stdin.end(plan.stdin)
      return started
    })
    yield* LeftBehind.complete(place)
    const all = yield* aliveWith(place.mark)
    const leader = all.find(({ pid }) => pid === child.pid) ?? assert.fail("the leader is not there")
    const before = yield* Clock.currentTimeMillis
    yield* Effect.sync(() => process.kill(-leader.pid, "SIGKILL"))
    yield* waitUntil("the end of the leader", Effect.map(isAlive(leader), (alive) => !alive))
    const after = yield* Clock.currentTimeMillis
    // The mark of the place takes care of them afterwards.
    return { processes: all.length, lateMs: after - before, survivors: yield* LeftBehind.alive(place) }
  }))

const politely = Effect.scoped(Effect.gen(function*() {
  const mark = yield* makeMark
  const script = `sleep 600.${mark}1 & sleep 600.${mark}2 & wait`
  const fiber = yield* ProcessTree.start(Command.make("sh", "-c", script).pipe(Command.stdin(Stream.empty))).pipe(
    Effect.zipRight(Effect.never),
    Effect.scoped,
    Effect.fork
  )
  const sleepers = Effect.map(aliveWith(mark), (seen) => seen.filter(({ command }) => command.startsWith("sleep ")))
  yield* waitUntil("the tree", Effect.map(sleepers, ({ length }) => length === 2))
  const processes = (yield* aliveWith(mark)).length
  const before = yield* Effect.sync(() => performance.now())
  yield* Fiber.interrupt(fiber)
  const after = yield* Effect.sync(() => performance.now())
  yield* expectGone(mark)
  return { processes, lateMs: after - before, survivors: [] }
}))

const measure = <R>(
  what: string,
  allowed: number | undefined,
  judge: (runs: ReadonlyArray<Measured>) => ReadonlyArray<boolean>,
  one: Effect.Effect<Measured, unknown, R>
) =>
  Effect.gen(function*() {
    const runs = yield* Effect.replicateEffect(one, repeats)
    const late = runs.map(({ lateMs }) => lateMs)
    const survivors = runs.map(({ survivors }) => survivors.length)
    const held = judge(runs)
    rows.push([
      what,
      spread(runs.map(({ processes }) => processes)),
      `${ms(median(late))}, ${ms(Math.max(...late))}`,
      allowed === undefined ? "–" : `≤ ${ms(allowed)}`,
      spread(survivors),
      `${held.filter((ok) => ok).length} of ${held.length}`
    ])
    return runs
  })

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("measured", (it) => {
  const patience = { timeout: repeats * 60_000 }

  for (const cli of Rig.all) {
    it.effect(`${cli.name}: Effect.timeout on a leader that ignores SIGTERM`, () =>
      Effect.gen(function*() {
        const allowed = grace + tolerance
        const runs = yield* measure(
          `Effect.timeout, leader ignores SIGTERM, real ${cli.name} with the full tool tree`,
          allowed,
          (runs) => runs.map(({ lateMs, survivors }) => lateMs <= allowed && survivors.length === 0),
          byTimeout(cli)
        )
        assert.deepStrictEqual(runs.flatMap(({ survivors }) => survivors), [])
        for (const { lateMs } of runs) assert.isAtMost(lateMs, allowed)
      }), patience)

    it.effect(`${cli.name}: kill(-pgid, SIGKILL) beside it`, () =>
      Effect.gen(function*() {
        const runs = yield* measure(
          `reference: kill(-pgid, SIGKILL), real ${cli.name} with the full tool tree`,
          undefined,
          (runs) => runs.map(({ survivors }) => survivors.length === 0),
          byGroup(cli)
        )
        for (const { survivors } of runs) assert.isAbove(survivors.length, 0)
      }), patience)
  }

  it.effect("a polite tree, from interrupt to verified empty", () =>
    Effect.gen(function*() {
      const runs = yield* measure(
        "polite tree (leader + 2), from interrupt to verified empty",
        politeAtMost,
        (runs) => [median(runs.map(({ lateMs }) => lateMs)) <= politeAtMost],
        politely
      )
      assert.isAtMost(median(runs.map(({ lateMs }) => lateMs)), politeAtMost)
    }), patience)
})
