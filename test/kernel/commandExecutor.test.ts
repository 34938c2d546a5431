/**
 * The executor of trees does what the platform's own does, and ends where that hangs or leaves somebody behind.
 */
import * as Command from "@effect/platform/Command"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as NodeCommandExecutor from "@effect/platform-node/NodeCommandExecutor"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { expectGone, makeMark, waitForSleepers } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { seconds, sh, text } from "./support.js"

type Test = (executor: Layer.Layer<CommandExecutor.CommandExecutor>) => Effect.Effect<void, unknown, Scope.Scope>

const executors: ReadonlyArray<readonly [string, Layer.Layer<CommandExecutor.CommandExecutor>]> = [
  ["the platform", Layer.provide(NodeCommandExecutor.layer, NodeFileSystem.layer)],
  ["trees", NodeProcessTree.layerCommandExecutor]
]

type Body = Effect.Effect<void, unknown, CommandExecutor.CommandExecutor | Scope.Scope>

const conforms = (what: string, body: Body) => {
  const test: Test = (executor) => Effect.provide(body, executor)
  for (const [name, executor] of executors) it.scopedLive(`${what} (${name})`, () => test(executor))
}

describe("an executor", () => {
  conforms(
    "returns the output as a string, lines and a stream, and the exit code",
    Effect.gen(function*() {
      const command = sh("printf 'ä\\nb\\n'; exit 3")
      assert.strictEqual(yield* Command.string(command), "ä\nb\n")
      assert.deepStrictEqual(yield* Command.lines(command), ["ä", "b"])
      assert.strictEqual(yield* text(Command.stream(command)), "ä\nb\n")
      assert.deepStrictEqual(Chunk.toArray(yield* Stream.runCollect(Command.streamLines(command))), ["ä", "b"])
      assert.strictEqual(yield* Command.exitCode(command), 3)
      assert.strictEqual(yield* Command.exitCode(Command.make("true")), 0)
    })
  )

  conforms(
    "feeds, pipes, sets variables, the place and the shell",
    Effect.gen(function*() {
      const folder = yield* TempDir.make
      assert.strictEqual(yield* Command.string(Command.make("cat").pipe(Command.feed("fed"))), "fed")
      const source = Stream.make(new TextEncoder().encode("streamed"))
      assert.strictEqual(yield* Command.string(Command.make("cat").pipe(Command.stdin(source))), "streamed")
      const piped = sh("echo b; echo a").pipe(
        Command.pipeTo(Command.make("sort")),
        Command.pipeTo(Command.make("head", "-1"))
      )
      assert.strictEqual(yield* Command.string(piped), "a\n")
      const variable = sh("echo $ONE").pipe(Command.env({ ONE: "1" }))
      assert.strictEqual(yield* Command.string(variable), "1\n")
      const place = Command.make("pwd").pipe(Command.workingDirectory(folder))
      assert.strictEqual(yield* Command.string(place), `${folder}\n`)
      const line = Command.make("echo", "one", "&&", "echo", "$ONE").pipe(
        Command.env({ ONE: "1" }),
        Command.runInShell(true)
      )
      assert.strictEqual(yield* Command.string(line), "one\n1\n")
    })
  )

  conforms(
    "gives hold of a process: input, both outputs, whether it runs, its end",
    Effect.gen(function*() {
      const child = yield* Command.start(sh("read line; echo \"out $line\"; echo err >&2; exit 4"))
      assert.isTrue(yield* child.isRunning)
      yield* Stream.run(Stream.make(new TextEncoder().encode("in\n")), child.stdin)
      assert.deepStrictEqual(
        yield* Effect.all([text(child.stdout), text(child.stderr)], { concurrency: 2 }),
        ["out in\n", "err\n"]
      )
      assert.strictEqual(yield* child.exitCode, 4)
      assert.isFalse(yield* child.isRunning)
      assert.isAbove(child.pid, 1)
    })
  )

  conforms(
    "kills, and then the exit code is a failure",
    Effect.gen(function*() {
      const child = yield* Command.start(Command.make("sleep", "100"))
      yield* child.kill("SIGKILL")
      assert.isFalse(yield* child.isRunning)
      const error = yield* Effect.flip(child.exitCode)
      assert.include(error.message, "SIGKILL")
    })
  )

  conforms(
    "runs the output through a sink",
    Effect.gen(function*() {
      const length = Sink.foldLeft(0, (sum: number, bytes: Uint8Array) => sum + bytes.length)
      const one = Sink.map(length, (sum) => Uint8Array.of(sum))
      const command = Command.make("printf", "12345").pipe(Command.stdout(one))
      assert.deepStrictEqual(
        Option.map(yield* Stream.runHead(Command.stream(command)), (bytes) => [...bytes]),
        Option.some([5])
      )
    })
  )

  conforms(
    "fails when there is no such program, or no such place",
    Effect.gen(function*() {
      for (
        const command of [
          Command.make("no-such-program-anywhere"),
          Command.make("true").pipe(Command.workingDirectory("/no/such/folder"))
        ]
      ) {
        for (
          const run of [Command.exitCode(command), Command.string(command), Stream.runDrain(Command.stream(command))]
        ) {
          const error = yield* Effect.flip(run)
          assert.strictEqual(error._tag === "SystemError" ? error.reason : error._tag, "NotFound")
        }
      }
    })
  )

  conforms(
    "ends what still runs with its scope",
    Effect.gen(function*() {
      const mark = yield* makeMark
      yield* Effect.scoped(
        Effect.zipRight(Command.start(Command.make("sleep", seconds(mark))), Effect.sleep("50 millis"))
      )
      yield* expectGone(mark)
      assert.isTrue(
        Option.isNone(yield* Effect.timeoutOption(Command.exitCode(Command.make("sleep", seconds(mark))), 50))
      )
      yield* expectGone(mark)
    })
  )
})

describe("an executor of trees, where the platform's own", () => {
  const own = (body: Body) => Effect.provide(Effect.scoped(body), NodeProcessTree.layerCommandExecutor)

  it.scopedLive("hangs: output that nobody reads, input that nobody writes", () =>
    own(Effect.gen(function*() {
      const much = "head -c 1000000 /dev/zero"
      assert.strictEqual(yield* Command.exitCode(sh(`${much}; ${much} >&2; exit 3`)), 3)
      assert.strictEqual(yield* Command.string(sh(`${much} >&2; echo done`)), "done\n")
      assert.deepStrictEqual(yield* Command.lines(sh(`${much} >&2; echo done`)), ["done"])
      assert.strictEqual(yield* Command.exitCode(Command.make("cat")), 0)
      assert.strictEqual(yield* Command.string(Command.make("cat")), "")
      assert.strictEqual(yield* text(Command.stream(Command.make("cat"))), "")
      const piped = sh(`${much} >&2; cat`).pipe(Command.pipeTo(Command.make("wc", "-c")))
      assert.strictEqual((yield* Command.string(piped)).trim(), "0")
    })))

  it.scopedLive("hangs: a timeout of what ignores SIGTERM", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const deaf = sh("trap '' TERM; setsid sleep $1 & while :; do sleep $1; done", seconds(mark))
      const before = yield* Clock.currentTimeMillis
      yield* own(Effect.gen(function*() {
        const child = yield* Effect.fork(Effect.timeoutOption(Command.exitCode(deaf), "1 second"))
        yield* waitForSleepers(mark, 2)
        yield* child.await
      }))
      // The default grace of five seconds, and time for a busy machine.
      assert.isBelow((yield* Clock.currentTimeMillis) - before, 20_000)
      yield* expectGone(mark)
    }))

  it.scopedLive("loses: output that is read after the end", () =>
    own(Effect.gen(function*() {
      const child = yield* Command.start(sh("echo kept; echo also >&2"))
      yield* child.exitCode
      yield* Effect.sleep("50 millis")
      assert.strictEqual(yield* text(child.stdout), "kept\n")
      assert.strictEqual(yield* text(child.stderr), "also\n")
    })))

  it.scopedLive("leaves behind: what left its group, after a normal end too", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      yield* own(Effect.gen(function*() {
        assert.strictEqual(yield* Command.exitCode(sh("setsid sleep $1 >&- 2>&- & exit 0", seconds(mark))), 0)
      }))
      yield* expectGone(mark)
    }))
})
