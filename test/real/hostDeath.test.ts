/**
 * Nothing that a real CLI started outlives its host, its own leading process or its launcher, whichever is killed.
 * Judged by the process table, and by what still arrives at the model.
 */
import { afterAll, assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Containment from "effect-agents/Containment"
import * as Copilot from "effect-agents/Copilot"
import type * as ProcessTree from "effect-agents/ProcessTree"
import { chmodSync, existsSync, readdirSync, realpathSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Host from "../utils/Host.js"
import { aliveWith, expectGone, isAlive, type Seen, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import type { Input } from "./hostProgram.js"
import * as LeftBehind from "./leftBehind.js"
import type * as ModelServer from "./ModelServer.js"
import * as Rig from "./rig.js"

const aSecond = Duration.seconds(1)

/** How long the output of a run whose leader is dead may be silent before the rest of the tree is ended, by default. */
const drain = Duration.millis(500)

const drivers = { claude: Claude.driver, codex: Codex.driver, copilot: Copilot.driver }

const rows: Array<string> = []

afterAll(() => {
  const head = "| what | processes | empty after |\n| --- | --- | --- |"
  process.stdout.write(`\n${[head, ...rows].join("\n")}\n\n`)
})

/** A state directory of one's own: no other host sweeps what dies here, and nothing of others is swept. */
const ownState: Effect.Effect<string, never, Scope.Scope> = Effect.flatMap(
  TempDir.make,
  (directory) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const before = process.env.XDG_STATE_HOME
        process.env.XDG_STATE_HOME = directory
        return before
      }),
      (before) =>
        Effect.sync(() => {
          if (before === undefined) delete process.env.XDG_STATE_HOME
          else process.env.XDG_STATE_HOME = before
        })
    ).pipe(Effect.as(directory))
)

const ledgers = (state: string): ReadonlyArray<string> => {
  const directory = join(state, "effect-agents", "hosts")
  return existsSync(directory) ? readdirSync(directory) : []
}

interface Running {
  readonly cli: Rig.Cli
  readonly place: Rig.Place
  readonly route: ModelServer.Route
  readonly request: AgentRequest.AgentRequest
  /** Lets the tool return, upon which a CLI that lives asks the model again. */
  readonly release: Effect.Effect<void>
}

/** A request whose tool call starts the whole tree and waits to be released. */
const hanging = (cli: Rig.Cli): Effect.Effect<Running, never, Rig.Rig | Scope.Scope> =>
  Effect.gen(function*() {
    const place = yield* Rig.makePlace
    const file = join(place.home, "wait.sh")
    const released = join(place.home, "released")
    writeFileSync(file, `sleep 600.${place.mark}90 &\nuntil test -e '${released}'; do sleep 0.1; done\n`)
    const route = yield* Rig.open("death", {
      _tag: "Shell",
      command: `${LeftBehind.write(place, "return")}; . ${file}`,
      text: "the tool has returned"
    })
    const fields = { prompt: "run it", permission: "Bypass" } as const
    return {
      cli,
      place,
      route,
      request: yield* Rig.request(cli, place, route.url, fields, LeftBehind.mcp(place)),
      release: Effect.sync(() => writeFileSync(released, ""))
    }
  })

/** Everything below `root` and everything with the mark. */
const treeOf = (place: Rig.Place, root: number): Effect.Effect<ReadonlyArray<Seen>> =>
  Effect.map(Effect.all([aliveWith(""), aliveWith(place.mark)]), ([all, marked]) => {
    const pids = new Set([root, ...marked.map(({ pid }) => pid)])
    // As many rounds as the deepest chain of parents is long.
    for (let before = 0; before < pids.size;) {
      before = pids.size
      for (const { parent, pid } of all) if (pids.has(parent)) pids.add(pid)
    }
    return all.filter(({ pid }) => pids.has(pid))
  })

const kill = (...pids: ReadonlyArray<number>) => Effect.sync(() => pids.forEach((pid) => process.kill(pid, "SIGKILL")))

/** Where the machine does not have the seal, it says so and does nothing. */
const where = <A, E, R>(seal: ProcessTree.Seal, test: Effect.Effect<A, E, R>) =>
  seal === "none" || seal === "auto"
    ? Effect.asVoid(test)
    : Effect.matchEffect(Containment.require(seal), {
      onFailure: (error) => Console.log(`not tried: ${error.message}`),
      onSuccess: () => Effect.asVoid(test)
    })

interface Death {
  readonly what: string
  readonly since: number
  /** Who lived then. */
  readonly tree: ReadonlyArray<Seen>
  readonly within?: Duration.Duration
}

/**
 * Nobody of the tree and nobody with the mark is left in time, and nobody asks the model later than a second after the
 * death, though the tool returns then: to a CLI that lives, a reason to ask.
 */
const expectEnd = ({ cli, place, release, route }: Running, { since, tree, what, within = aSecond }: Death) =>
  Effect.gen(function*() {
    const late = yield* Effect.sleep(Math.max(0, since + Duration.toMillis(aSecond) - (yield* Clock.currentTimeMillis)))
      .pipe(
        Effect.zipRight(route.requests),
        Effect.tap(() => release),
        // That nothing happens can only be seen by waiting.
        Effect.zipWith(
          Effect.zipRight(Effect.sleep(aSecond), route.requests),
          (asked, all) => all.slice(asked.length).map(({ method, path }) => `${method} ${path}`)
        ),
        Effect.fork
      )
    const left = Effect.zipWith(
      Effect.filter(tree, isAlive),
      aliveWith(place.mark),
      (known, marked) => known.length + marked.length
    )
    yield* waitUntil("the end of all", Effect.map(left, (count) => count === 0))
    const took = (yield* Clock.currentTimeMillis) - since
    yield* expectGone(place.mark)
    rows.push(`| ${cli.name}: ${what} | ${tree.length} | ${took} ms |`)
    assert.deepStrictEqual(yield* Fiber.join(late), [], "asked more than a second after the death")
    assert.isAtMost(took, Duration.toMillis(within))
    yield* expectGone(place.mark)
    yield* Rig.expectNothingOutside
  })

/** A host in a process of its own, with its guard, in the midst of the run. */
const hosted = (running: Running, state: string, seal: ProcessTree.Seal = "none") =>
  Effect.gen(function*() {
    const { cli, place, request } = running
    const { installed } = yield* Rig.Rig
    const input: Input = {
      agent: cli.name,
      program: installed[cli.name].native,
      seal,
      temporary: state,
      request: yield* Effect.orDie(Schema.encode(AgentRequest.AgentRequest)(request))
    }
    const host = yield* Host.start(new URL("./hostProgram.ts", import.meta.url), input)
    yield* Effect.raceFirst(
      LeftBehind.complete(place),
      host.exit.pipe(
        Effect.zipRight(host.output),
        Effect.flatMap((output) => Effect.dieMessage(`the host ended early: ${output}`))
      )
    )
    const children = Effect.map(aliveWith(""), (all) => all.filter(({ parent }) => parent === host.pid))
    const [guard, ...more] = (yield* children).filter(({ command }) => command.includes("guardMain.js"))
    const marked = yield* aliveWith(place.mark)
    const leader = marked.find(({ parent }) => parent === host.pid)
    if (guard === undefined || leader === undefined) return yield* Effect.dieMessage("no guard, or no leader")
    assert.deepStrictEqual(more, [], "one guard is enough")
    assert.isFalse(marked.some(({ pid }) => pid === host.pid || pid === guard.pid), "the mark is only in the tree")
    return { host, guard, tree: yield* treeOf(place, leader.pid) }
  })

/** A run in this process, in the midst of its tool call: `die` kills its leader, which the run must tell of. */
const expectFailure = <E>(
  what: string,
  running: Running,
  options: { readonly program: string; readonly seal: ProcessTree.Seal },
  die: (leader: number, seen: ReadonlyArray<Seen>, tree: ProcessTree.ProcessTree) => Effect.Effect<void, E>
) =>
  Effect.scoped(Effect.gen(function*() {
    const { cli, place, request } = running
    const run = yield* Agent.start(request)
    const called = yield* Deferred.make<void>()
    yield* run.events.pipe(
      Stream.runForEach((event) => event._tag === "ToolCall" ? Deferred.succeed(called, void 0) : Effect.void),
      Effect.ignore,
      Effect.forkScoped
    )
    const outcome = yield* Effect.forkScoped(
      // The table is looked at as soon as the run has told of it, before its scope closes.
      Effect.flip(run.outcome).pipe(Effect.tap(() => expectGone(place.mark)))
    )
    yield* Effect.raceFirst(
      Effect.zipRight(Deferred.await(called), LeftBehind.complete(place)),
      Effect.flatMap(Fiber.join(outcome), (error) => Effect.dieMessage(`the run ended early: ${error}`))
    )
    const tree = yield* treeOf(place, run.tree.pid)
    const since = yield* Clock.currentTimeMillis
    const [leader] = yield* run.tree.members
    yield* die(leader?.pid ?? 0, tree, run.tree)
    const { steps } = drivers[cli.name].teardown
    // What is said to the leader is not waited for: it is dead.
    const within = steps.filter(({ to }) => to === "tree").reduce(
      (total, { wait }) => Duration.sum(total, wait),
      Duration.sum(drain, aSecond)
    )
    yield* expectEnd(running, { what, since, tree, within })
    const error = yield* Fiber.join(outcome)
    if (error._tag !== "AgentFailed") return assert.fail(`failed otherwise: ${error}`)
    // Behind a seal, whoever watches the program tells of its end in the way of shells.
    assert.deepStrictEqual(
      [error.signal, error.code],
      options.seal === "none" ? ["SIGKILL", null] : [null, 137]
    )
    assert.strictEqual(error.partial.openToolCalls.length, 1, "the tool call has not returned")
    const { teardown } = error.partial
    assert.strictEqual(teardown?.reason, "completed")
    assert.strictEqual(teardown?.verified, "empty")
    assert.deepStrictEqual(teardown?.survivors, [])
    assert.includeMembers([...teardown?.layers ?? []], options.seal === "none" ? ["guard"] : ["guard", options.seal])
  })).pipe(Effect.provide(running.cli.layer(options)))

const script = (place: Rig.Place, text: string): string => {
  const file = join(place.home, "launch")
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o700)
  return file
}

layer(Layer.provide(Rig.layer, Layer.scopedDiscard(ownState)), {
  excludeTestServices: true,
  timeout: "10 minutes"
})("death", (it) => {
  for (const cli of Rig.all) {
    it.scoped(`${cli.name}: SIGKILL of the host and its guard, and a sweep by another host`, () =>
      Effect.gen(function*() {
        const state = yield* ownState
        const running = yield* hanging(cli)
        const { guard, host, tree } = yield* hosted(running, state)
        // Stopped first, so that it does not see the host's end.
        process.kill(guard.pid, "SIGSTOP")
        yield* kill(host.pid, guard.pid)
        yield* host.exit
        yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
        assert.isAtLeast((yield* LeftBehind.alive(running.place)).length, 8, "nobody has ended them yet")
        assert.strictEqual(ledgers(state).length, 1)

        const since = yield* Clock.currentTimeMillis
        const reports = yield* Containment.sweepStale
        yield* expectGone(running.place.mark)
        yield* expectEnd(running, { what: "sweep after SIGKILL of host and guard", since, tree })
        assert.deepStrictEqual(reports.map(({ pid, reason, verified }) => ({ pid, reason, verified })), [
          { pid: host.pid, reason: "host-died", verified: "empty" }
        ])
        assert.deepStrictEqual(reports.flatMap(({ survivors }) => survivors), [])
        assert.deepStrictEqual(ledgers(state), [])
      }))

    for (const seal of ["none", "namespace"] as const) {
      const sealed = seal === "none" ? "" : ", sealed"

      it.scoped(`${cli.name}: SIGKILL of the host${sealed}`, () =>
        where(
          seal,
          Effect.gen(function*() {
            const state = yield* ownState
            const running = yield* hanging(cli)
            const { guard, host, tree } = yield* hosted(running, state, seal)
            assert.strictEqual(ledgers(state).length, 1)
            const since = yield* Clock.currentTimeMillis
            yield* kill(host.pid)
            yield* expectEnd(running, { what: `SIGKILL of the host${sealed}`, since, tree })
            yield* waitUntil("the end of the guard", Effect.map(isAlive(guard), (alive) => !alive))
            assert.deepStrictEqual(ledgers(state), [])
            assert.strictEqual((yield* running.route.turns).length, 1)
          })
        ))

      it.scoped(`${cli.name}: SIGKILL of the CLI${sealed}`, () =>
        where(
          seal,
          Effect.gen(function*() {
            yield* ownState
            const running = yield* hanging(cli)
            const { installed } = yield* Rig.Rig
            const program = installed[cli.name].native
            yield* expectFailure(`SIGKILL of the CLI${sealed}`, running, { program, seal }, (leader) => kill(leader))
            assert.strictEqual((yield* running.route.turns).length, 1)
          })
        ))

      it.scoped(`${cli.name}: SIGKILL of its launcher${sealed}`, () =>
        where(
          seal,
          Effect.gen(function*() {
            yield* ownState
            const running = yield* hanging(cli)
            const { installed } = yield* Rig.Rig
            const { launcher, native } = installed[cli.name]
            // The launcher of Claude Code's package is its binary. Behind a script, so that the native one is not looked for.
            const program = script(
              running.place,
              cli.name === "claude"
                ? `'${native}' "$@"\nexit $?`
                : `exec '${process.execPath}' '${realpathSync(launcher)}' "$@"`
            )
            yield* expectFailure(`SIGKILL of the launcher${sealed}`, running, { program, seal }, (leader, seen, tree) =>
              Effect.gen(function*() {
                const main = seen.find(({ command, parent }) =>
                  parent === leader && command.startsWith(native)
                )
                if (main === undefined) {
                  return yield* Effect.dieMessage("no CLI under its launcher")
                }
                yield* kill(leader)
                yield* tree.exit
                assert.isTrue(yield* isAlive(main), "the CLI outlives its launcher")
              }))
          })
        ))
    }
  }
})
