import * as Command from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { aliveWith, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import { brief, expectEmpty, judged, locksLimit, seconds, sh, text } from "./support.js"

/** Longer than any test may take: what ends before it has not waited for it. */
const long = Teardown.graceful("2 minutes")

const polite = "sleep $1 & sleep $2 & wait"
const stubborn = "trap '' TERM INT HUP; while :; do sleep $1; done"

const started = (
  script: string,
  mark: string,
  count: number,
  teardown: Teardown.Teardown = brief
) =>
  Effect.gen(function*() {
    const tree = yield* ProcessTree.start(sh(script, seconds(mark, 1), seconds(mark, 2), seconds(mark, 3)), {
      teardown
    })
    yield* waitForSleepers(mark, count)
    return tree
  })

const names = (report: Teardown.TeardownReport): ReadonlyArray<string> =>
  report.killed.map(({ by, command, signal }) => `${command} ${by} ${signal}`).sort()

describe("a teardown", () => {
  it.scopedLive("ends with the last of a polite tree, not with the grace", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const tree = yield* started(polite, mark, 2, long)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.isBelow(report.durationMs, 20_000)
        assert.deepStrictEqual(names(report), ["sh leader SIGTERM", "sleep group SIGTERM", "sleep group SIGTERM"])
        assert.deepStrictEqual(report.steps.map(({ alive, signal, to }) => ({ alive, signal, to })), [
          { alive: 0, signal: "SIGTERM", to: "tree" }
        ])
        assert.strictEqual(report.reason, "completed")
        assert.deepStrictEqual(report.layers, ["group", "environment", "rlimit", "guard"])
        assert.isAtLeast(report.looks, 2)
        assert.isFalse(report.outputHeld)
        assert.match(String(report), /^sh \(\d+\): verified empty, 3 ended, \d+ ms$/)
        assert.deepStrictEqual(
          Schema.decodeSync(Teardown.TeardownReport)(Schema.encodeSync(Teardown.TeardownReport)(report)),
          report
        )
      })
    ))

  it.scopedLive("does not take the end of the leader for that of the tree", () =>
    judged((mark) =>
      Effect.gen(function*() {
        // dash waits: the leader dies of SIGTERM at once, its child is deaf.
        const tree = yield* started("sh -c \"trap '' TERM; sleep $1; :\" & wait", mark, 1, brief)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.isAtLeast(report.steps[0]?.durationMs ?? 0, 400)
        assert.isAtLeast(report.steps[0]?.alive ?? 0, 1)
        assert.include(names(report), "sh leader SIGTERM")
        assert.isTrue(
          report.killed.some(({ by, signal }) => by !== "leader" && signal === "SIGKILL"),
          names(report).join()
        )
      })
    ))

  it.scopedLive("of the deaf ends with the grace", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const tree = yield* started(stubborn, mark, 1, brief)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.isAtLeast(report.durationMs, 400)
        assert.isBelow(report.durationMs, 10_000)
        assert.include(names(report), "sh leader SIGKILL")
      })
    ))

  it.scopedLive("without steps kills at once", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const tree = yield* started("trap 'exit 0' TERM; sleep $1 & wait", mark, 1, Teardown.immediate)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.deepStrictEqual(report.steps, [])
        assert.deepStrictEqual(names(report), ["sh leader SIGKILL", "sleep group SIGKILL"])
        assert.deepStrictEqual(yield* tree.exit, { code: null, signal: "SIGKILL" })
      })
    ))

  it.scopedLive("returns when it is known how the leader ended, forty times", () =>
    Effect.forEach(Array.from({ length: 40 }), () =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh("exec sleep 300"), { teardown: Teardown.immediate })
        yield* tree.teardown
        assert.isFalse(yield* tree.isRunning)
      }), { concurrency: 4, discard: true }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("asks the leader first, and then what it left behind", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const policy = Teardown.make([
          { signal: "SIGINT", to: "leader", wait: "2 minutes" },
          { signal: "SIGTERM", wait: "2 minutes" }
        ])
        // A child of a shell without job control ignores SIGINT: it is there when the leader has gone.
        const tree = yield* started("trap 'exit 5' INT; sleep $1 & wait", mark, 1, policy)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.deepStrictEqual(yield* tree.exit, { code: 5, signal: null })
        assert.deepStrictEqual(report.steps.map(({ alive, signal, to }) => ({ alive, signal, to })), [
          { alive: 1, signal: "SIGINT", to: "leader" },
          { alive: 0, signal: "SIGTERM", to: "tree" }
        ])
        assert.deepStrictEqual(names(report), ["sh leader SIGINT", "sleep group SIGTERM"])
      })
    ))

  it.scopedLive("takes any signal, in order, and not one more than needed", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const policy = Teardown.make([
          { signal: "SIGHUP", wait: "50 millis" },
          { signal: "SIGUSR2", wait: "2 minutes" },
          { signal: "SIGTERM", wait: "2 minutes" }
        ])
        const tree = yield* started("trap '' HUP; trap 'kill -KILL $!; exit' USR2; sleep $1 & wait", mark, 1, policy)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.deepStrictEqual(report.steps.map(({ signal }) => signal), ["SIGHUP", "SIGUSR2"])
      })
    ))

  it.scopedLive("lets the stopped hear it", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const tree = yield* started("sleep $1 & setsid sleep $2 & wait", mark, 2, long)
        yield* tree.signal("SIGSTOP", "tree")
        yield* waitUntil("all are stopped", Effect.map(tree.members, (all) => all.every(({ state }) => state === "T")))
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.deepStrictEqual([...new Set(report.killed.map(({ signal }) => signal))], ["SIGTERM"])
      })
    ))

  it.scopedLive("sweeps also after a normal end, and tells what it found", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const tree = yield* Scope.extend(started("setsid sleep $1 & sleep $2 & sleep 0.2", mark, 2, long), scope)
        assert.deepStrictEqual(yield* tree.exit, { code: 0, signal: null })
        yield* Scope.close(scope, Exit.void)
        const report = yield* tree.report
        expectEmpty(report)
        assert.strictEqual(report.reason, "completed")
        assert.deepStrictEqual(report.killed.map(({ command }) => command), ["sleep", "sleep"])
      })
    ))

  it.scopedLive("of a tree that has ended alone finds nobody", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(Command.make("true"))
        yield* tree.exit
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.deepStrictEqual(report.killed, [])
        assert.deepStrictEqual(report.steps, [])
      })
    ))

  it.scopedLive("tells that somebody still holds the output whom nothing ties to the tree", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      // Only the privileged can raise the limit that marks it; without, it is one more daemon.
      const script =
        "(env -i setsid sh -c 'ulimit -w unlimited || ulimit -x unlimited; exec sleep $0' $1 2>&- &); sleep 0.1"
      const tree = yield* ProcessTree.start(sh(script, seconds(mark)), { teardown: brief })
      const [daemon] = yield* waitForSleepers(mark, 1)
      const escaped = daemon !== undefined && locksLimit(daemon.pid) === "unlimited"
      yield* tree.exit
      const report = yield* tree.teardown
      expectEmpty(report)
      assert.strictEqual(report.outputHeld, escaped)
      assert.strictEqual((yield* aliveWith(mark)).length, escaped ? 1 : 0)
      assert.strictEqual(yield* text(tree.stdout), "", "a reader does not wait for the holder")
    }).pipe(Effect.provide(NodeProcessTree.layer)))

  it.scopedLive("a holder of the output that belongs to the tree is ended, and does not hold it any more", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const tree = yield* started("setsid sleep $1 & exit 0", mark, 1, brief)
        yield* tree.exit
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.isFalse(report.outputHeld)
        assert.deepStrictEqual(report.killed.map(({ command }) => command), ["sleep"])
      })
    ))

  it.scopedLive("is not slowed down by zombies, and does not count them", () =>
    judged((mark) =>
      Effect.gen(function*() {
        // Orphans that end at once: a slow init lets them lie as zombies.
        const tree = yield* started("for i in 1 2 3 4 5; do (sh -c 'exit 0' &); done; sleep $1 & wait", mark, 1, long)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.isBelow(report.durationMs, 20_000)
        assert.deepStrictEqual(names(report), ["sh leader SIGTERM", "sleep group SIGTERM"])
      })
    ))

  it.scopedLive("stays within the bound of its policy", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const policy = Teardown.make([
          { signal: "SIGTERM", to: "leader", wait: "100 millis" },
          { signal: "SIGINT", wait: "200 millis" }
        ], { settle: "5 seconds" })
        assert.strictEqual(Duration.toMillis(Teardown.grace(policy)), 300)
        const tree = yield* started(stubborn, mark, 1, policy)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.isAtLeast(report.durationMs, 300)
        assert.isBelow(report.durationMs, 5300)
      })
    ))
})

describe("the reason of a teardown", () => {
  const reasonOf = (body: (tree: ProcessTree.ProcessTree) => Effect.Effect<unknown, string>) =>
    judged((mark) =>
      Effect.gen(function*() {
        const tree = yield* Deferred.make<ProcessTree.ProcessTree>()
        yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
          const own = yield* ProcessTree.start(Command.make("sleep", seconds(mark)))
          yield* Deferred.succeed(tree, own)
          yield* body(own)
        })))
        const report = yield* Effect.flatMap(Deferred.await(tree), ({ report }) => report)
        expectEmpty(report)
        return report.reason
      })
    )

  it.scopedLive("is that the work was completed", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reasonOf(() => Effect.void), "completed")
    }))

  it.scopedLive("is that it failed, or died", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reasonOf(() => Effect.fail("no")), "failed")
      assert.strictEqual(yield* reasonOf(() => Effect.dieMessage("no")), "failed")
    }))

  it.scopedLive("is that it failed, also when that interrupted others", () =>
    Effect.gen(function*() {
      const failing = Effect.all([Effect.zipRight(Effect.sleep(20), Effect.fail("no")), Effect.never], {
        concurrency: 2
      })
      assert.strictEqual(yield* reasonOf(() => failing), "failed")
    }))

  it.scopedLive("is that it was interrupted", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reasonOf(() => Effect.interrupt), "interrupted")
      const reports = yield* judged((mark) =>
        Effect.gen(function*() {
          const spawner = yield* ProcessTree.Spawner
          const reports = yield* Effect.fork(Stream.runCollect(Stream.take(spawner.reports, 2)))
          yield* Effect.sleep("20 millis")
          const run = Effect.scoped(Effect.zipRight(
            ProcessTree.start(Command.make("sleep", seconds(mark)), { teardown: brief }),
            Effect.never
          ))
          yield* Effect.timeoutOption(run, "60 millis")
          yield* Effect.race(run, Effect.sleep("60 millis"))
          return [...yield* Fiber.join(reports)]
        })
      )
      assert.deepStrictEqual(reports.map(({ reason }) => reason), ["interrupted", "interrupted"])
    }))
})

describe("a teardown tells", () => {
  it.scopedLive("a tracer", () =>
    Effect.gen(function*() {
      const spans: Array<Tracer.Span> = []
      const native = yield* Effect.tracer
      const tracer = Tracer.make({
        span: (...args) => {
          const span = native.span(...args)
          spans.push(span)
          return span
        },
        context: native.context
      })
      yield* judged((mark) => ProcessTree.start(Command.make("sleep", seconds(mark)))).pipe(Effect.withTracer(tracer))
      const span = spans.find(({ name }) => name === "ProcessTree.teardown")
      assert.strictEqual(span?.status._tag, "Ended")
      assert.strictEqual(span?.attributes.get("process.tree.verified"), "empty")
      assert.strictEqual(span?.attributes.get("process.tree.killed"), 1)
      assert.strictEqual(span?.attributes.get("process.executable.name"), "sleep")
    }))
})
