import * as Command from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { brief, expectEmpty, judged, seconds, sh, text } from "./support.js"

const bytes = (string: string): Uint8Array => new TextEncoder().encode(string)

describe("a tree", () => {
  it.scopedLive("tells pid, exit code and end", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh("read line; echo $$; exit 7"))
        assert.isTrue(ProcessTree.isProcessTree(tree))
        assert.isTrue(yield* tree.isRunning)
        yield* Stream.run(Stream.make(bytes("go\n")), tree.stdin)
        assert.strictEqual(yield* text(tree.stdout), `${tree.pid}\n`)
        assert.deepStrictEqual(yield* tree.exit, { code: 7, signal: null })
        assert.isFalse(yield* tree.isRunning)
        assert.deepStrictEqual(tree.toJSON(), { _id: "ProcessTree", pid: tree.pid, command: "sh" })
      })
    ))

  it.scopedLive("tells the signal that ended it", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(Command.make("sleep", seconds(mark)))
        yield* tree.signal("SIGUSR1")
        assert.deepStrictEqual(yield* tree.exit, { code: null, signal: "SIGUSR1" })
        yield* tree.signal("SIGTERM")
        yield* tree.signal("SIGTERM", "tree")
      })
    ))

  it.scopedLive("keeps its output for those who read after its end", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh("head -c 60000 /dev/zero; echo problem >&2"))
        yield* tree.exit
        yield* Effect.sleep("50 millis")
        assert.strictEqual((yield* text(tree.stdout)).length, 60000)
        assert.strictEqual(yield* text(tree.stderr), "problem\n")
        assert.strictEqual(yield* text(tree.stdout), "", "a second reader finds the end")
      })
    ))

  it.scopedLive("waits for a late reader, who gets it all", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh("head -c 3000000 /dev/zero"))
        yield* Effect.sleep("50 millis")
        assert.isTrue(yield* tree.isRunning)
        assert.strictEqual((yield* text(tree.stdout)).length, 3000000)
        assert.strictEqual((yield* tree.exit).code, 0)
      })
    ))

  it.scopedLive("echoes what it is fed, however large", () =>
    judged(() =>
      Effect.gen(function*() {
        const input = "0123456789".repeat(200_000)
        const fed = yield* ProcessTree.start(Command.make("cat").pipe(Command.feed(input)))
        assert.strictEqual(yield* text(fed.stdout), input)
        const written = yield* ProcessTree.start(Command.make("cat"))
        yield* Effect.fork(Stream.run(Stream.make(bytes(input)), written.stdin))
        assert.strictEqual(yield* text(written.stdout), input)
      })
    ))

  it.scopedLive("has no standard input when that is ignored", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(Command.make("cat"), { stdin: "ignore" })
        assert.deepStrictEqual(yield* tree.exit, { code: 0, signal: null })
        yield* Stream.run(Stream.make(bytes("to nobody")), tree.stdin)
      })
    ))

  it.scopedLive("gets the end of its input also from a source that fails", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(Command.make("cat"))
        const source = Stream.concat(Stream.make(bytes("half")), Stream.fail("cut"))
        assert.strictEqual(yield* Effect.flip(Stream.run(source, tree.stdin)), "cut")
        assert.strictEqual(yield* text(tree.stdout), "half")
      })
    ))

  it.scopedLive("holds back a source that is faster than it reads", () =>
    judged((mark) =>
      Effect.gen(function*() {
        let made = 0
        const source = Stream.repeatEffect(Effect.sync(() => {
          made++
          return new Uint8Array(65536)
        }))
        const tree = yield* ProcessTree.start(Command.make("sleep", seconds(mark)), { teardown: brief })
        yield* Effect.fork(Stream.run(source, tree.stdin))
        yield* waitUntil("something is written", Effect.sync(() => made > 1))
        yield* Effect.sleep("100 millis")
        assert.isBelow(made, 50)
        expectEmpty(yield* tree.teardown)
      })
    ))

  it.scopedLive("fails a writer whose reader has gone", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh("exec 0<&-; echo closed; sleep 0.2"))
        yield* Stream.runHead(tree.stdout)
        const error = yield* Effect.flip(Stream.run(Stream.repeatValue(new Uint8Array(65536)), tree.stdin))
        assert.include(error.message, "EPIPE")
      })
    ))

  it.scopedLive("survives input that nobody reads", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(sh("exit 7").pipe(Command.feed("x".repeat(4_000_000))))
        assert.strictEqual((yield* tree.exit).code, 7)
      })
    ))

  it.scopedLive("gets the pipe closed by a reader who has enough", () =>
    judged(() =>
      Effect.gen(function*() {
        const tree = yield* ProcessTree.start(Command.make("yes"))
        yield* Stream.runHead(tree.stdout)
        assert.notStrictEqual((yield* tree.exit).code, 0)
      })
    ))

  it.scopedLive("may speak while it is asked to end, though its reader was interrupted", () =>
    Effect.gen(function*() {
      const file = join(yield* TempDir.make, "clean")
      yield* judged((mark) =>
        Effect.gen(function*() {
          const script =
            "trap 'echo ending; echo ending >&2; echo ending; : > \"$1\"; exit' TERM; echo ready; sleep $2 & wait"
          const tree = yield* ProcessTree.start(sh(script, file, seconds(mark)), {
            teardown: Teardown.graceful("5 seconds")
          })
          yield* Effect.forkScoped(Stream.runDrain(tree.stderr))
          const reader = yield* Effect.forkScoped(Stream.runDrain(tree.stdout))
          yield* waitForSleepers(mark, 1)
          yield* Fiber.interrupt(reader)
        })
      )
      assert.isTrue(existsSync(file), "its trap ran to the end")
    }))

  it.scopedLive("a reader at the time of the teardown gets the last words, and comes to the end", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const script = "trap 'echo last; exit' TERM; echo first; sleep $1 & wait"
        const tree = yield* ProcessTree.start(sh(script, seconds(mark)), { teardown: brief })
        let printed = ""
        const reader = yield* Effect.fork(Stream.runForEach(Stream.decodeText(tree.stdout), (said) =>
          Effect.sync(() => {
            printed += said
          })))
        yield* waitUntil("it has said something", Effect.sync(() => printed !== ""))
        yield* waitForSleepers(mark, 1)
        yield* tree.teardown
        yield* Fiber.join(reader)
        assert.strictEqual(printed, "first\nlast\n")
        assert.strictEqual(yield* text(tree.stderr), "", "who comes later finds the end")
      })
    ))

  it.scopedLive("shows its members, the leader first, and takes a signal to all of them", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const script = "sleep $1 & setsid sleep $2 & (env -i setsid sleep $3 &) ; wait"
        const tree = yield* ProcessTree.start(sh(script, seconds(mark, 1), seconds(mark, 2), seconds(mark, 3)))
        yield* waitForSleepers(mark, 3)
        const members = yield* tree.members
        assert.deepStrictEqual(
          members.map(({ by, command }) => `${command} ${by}`).sort(),
          ["sh leader", "sleep group", "sleep rlimit", "sleep rlimit"]
        )
        assert.strictEqual(members[0]?.pid, tree.pid)
        assert.strictEqual(new Set(members.map(({ session }) => session)).size, 3)
        yield* tree.signal("SIGKILL", "tree")
        yield* waitUntil("all have gone", Effect.map(tree.members, (left) => left.length === 0))
        assert.deepStrictEqual(yield* tree.exit, { code: null, signal: "SIGKILL" })
      })
    ))

  it.scopedLive("is torn down once, whoever asks, and everybody gets the report", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const spawner = yield* ProcessTree.Spawner
        const published = yield* Effect.fork(Stream.runCollect(Stream.take(spawner.reports, 1)))
        yield* Effect.sleep("20 millis")
        const tree = yield* ProcessTree.start(Command.make("sleep", seconds(mark)))
        const waiting = yield* Effect.fork(tree.report)
        const [one, other] = yield* Effect.all([tree.teardown, tree.teardown], { concurrency: 2 })
        assert.strictEqual(one, other)
        assert.strictEqual(yield* Fiber.join(waiting), one)
        assert.strictEqual(yield* tree.teardown, one)
        assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Fiber.join(published)), [one])
        assert.strictEqual(one.command, "sleep")
        assert.strictEqual(one.pid, tree.pid)
      })
    ))

  it.scopedLive("of a piped command: each part reads what the one before writes", () =>
    judged(() =>
      Effect.gen(function*() {
        const command = Command.make("printf", "b\\na\\n").pipe(
          Command.pipeTo(sh("head -c 300000 /dev/zero >&2; sort")),
          Command.pipeTo(Command.make("tr", "a-z", "A-Z"))
        )
        const tree = yield* ProcessTree.start(command)
        assert.strictEqual(yield* text(tree.stdout), "A\nB\n")
      })
    ))

  it.scopedLive("all parts of a piped command end with the scope", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const sleeps = [1, 2, 3].map((number) => sh("sleep $1; :", seconds(mark, number)))
        const [first, second, third] = sleeps
        if (first === undefined || second === undefined || third === undefined) return assert.fail()
        yield* ProcessTree.start(first.pipe(Command.pipeTo(second), Command.pipeTo(third)), { teardown: brief })
        yield* waitForSleepers(mark, 3)
      })
    ))

  it.scoped("runs and ends on native time under a test clock", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const script = "trap '' TERM; echo ready; while :; do sleep $1; done"
        const tree = yield* ProcessTree.start(sh(script, seconds(mark)), { teardown: Teardown.graceful("50 millis") })
        yield* Stream.runHead(tree.stdout)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.isAtLeast(report.durationMs, 50)
      })
    ))

  it.scopedLive("leaves no listener behind", () =>
    Effect.gen(function*() {
      const count = () => (["SIGINT", "SIGTERM", "SIGHUP", "exit"] as const).map((name) => process.listenerCount(name))
      const before = count()
      yield* judged((mark) =>
        Effect.gen(function*() {
          yield* ProcessTree.start(Command.make("sleep", seconds(mark, 1)))
          yield* ProcessTree.start(Command.make("sleep", seconds(mark, 2)))
          assert.deepStrictEqual(count(), before.map((n) => n + 1))
        })
      )
      assert.deepStrictEqual(count(), before)
    }))

  it.scopedLive("of one Spawner is nobody's to the next", () =>
    judged((mark) =>
      Effect.gen(function*() {
        // A new process now and then, so that some are younger than the other tree.
        const tree = yield* ProcessTree.start(sh("while :; do sleep 0.0$1; done", mark), { teardown: brief })
        const isYoung = (startTime: number) =>
          Effect.map(tree.members, (all) => all.some((member) => member.startTime > startTime + 2))
        const alien = yield* Effect.scoped(Effect.gen(function*() {
          const other = yield* ProcessTree.start(Command.make("sleep", seconds(mark)))
          const [leader] = yield* other.members
          yield* waitUntil("somebody of the one is younger than the other", isYoung(leader?.startTime ?? 0))
          return yield* other.teardown
        })).pipe(Effect.provide(NodeProcessTree.layerWith({})))
        assert.deepStrictEqual(alien.killed.map(({ pid }) => pid), [alien.pid])
      })
    ))
})
