import * as Command from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { fromErrno } from "../../src/internal/kernel/resolve.js"
import * as TempDir from "../utils/TempDir.js"
import { expectEmpty, judged, reasonOf, seconds, text } from "./support.js"

const megabytes = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count * 10 }, () => "x".repeat(100_000))

/** Each with what it must fail with. The folder holds what the file system needs. */
const refused: ReadonlyArray<readonly [string, string, (folder: string) => Command.Command]> = [
  ["a program that is not on PATH", "spawn: NotFound", () => Command.make("no-such-program-anywhere")],
  ["a path without a file", "spawn: NotFound", (folder) => Command.make(join(folder, "missing"))],
  ["a relative path without a file", "spawn: NotFound", () => Command.make("./missing")],
  ["a path through a file", "spawn: NotFound", (folder) => Command.make(join(folder, "plain", "program"))],
  ["a folder", "spawn: PermissionDenied", (folder) => Command.make(folder)],
  ["a file that is not executable", "spawn: PermissionDenied", (folder) => Command.make(join(folder, "plain"))],
  [
    "a file on PATH that is not executable",
    "spawn: PermissionDenied",
    (folder) => Command.make("plain").pipe(Command.env({ PATH: folder }))
  ],
  ["a script without its interpreter", "spawn: NotFound", (folder) => Command.make(join(folder, "script"))],
  ["an empty name", "spawn: InvalidData", () => Command.make("")],
  ["a NUL in the name", "spawn: InvalidData", () => Command.make("true\0")],
  ["a NUL in an argument", "spawn: InvalidData", () => Command.make("true", "a\0b")],
  ["a NUL in the environment", "spawn: InvalidData", () => Command.make("true").pipe(Command.env({ A: "a\0b" }))],
  [
    "a missing working directory",
    "cwd: NotFound",
    (folder) => Command.make("true").pipe(Command.workingDirectory(join(folder, "missing")))
  ],
  [
    "a working directory that is a file",
    "cwd: BadResource",
    (folder) => Command.make("true").pipe(Command.workingDirectory(join(folder, "plain")))
  ],
  ["one argument that is too long", "spawn: BadResource", () => Command.make("true", "x".repeat(200_000))],
  ["arguments that are too long together", "spawn: BadResource", () => Command.make("true", ...megabytes(10))],
  [
    "an environment that is too large",
    "spawn: BadResource",
    () => Command.make("true").pipe(Command.env({ LARGE: "x".repeat(200_000) }))
  ],
  ["a shell that does not exist", "spawn: NotFound", () => Command.make("true").pipe(Command.runInShell("/no/shell"))]
]

const folder = Effect.map(TempDir.make, (path) => {
  writeFileSync(join(path, "plain"), "#!/bin/sh\n")
  writeFileSync(join(path, "script"), "#!/no/such/interpreter -x\n")
  chmodSync(join(path, "script"), 0o755)
  return path
})

describe("a start is refused", () => {
  for (const [what, reason, command] of refused) {
    it.scopedLive(what, () =>
      Effect.gen(function*() {
        const path = yield* folder
        yield* judged((mark) =>
          Effect.gen(function*() {
            const marked = command(path).pipe(Command.env({ MARK: mark }))
            const error = yield* Effect.flip(ProcessTree.start(marked))
            assert.strictEqual(reasonOf(error), reason, error.message)
            assert.isAbove(error.message.length, 20)
          })
        )
      }))
  }

  it.scopedLive("and a part of a pipe that is refused takes the parts before it along", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const command = Command.make("sleep", seconds(mark)).pipe(Command.pipeTo(Command.make("no-such-program")))
        const error = yield* Effect.flip(Effect.scoped(ProcessTree.start(command)))
        assert.strictEqual(reasonOf(error), "spawn: NotFound")
      })
    ))
})

describe("a program is found", () => {
  const run = (command: Command.Command) =>
    Effect.flatMap(ProcessTree.start(command), (tree) => Effect.zip(text(tree.stdout), tree.exit))

  it.scopedLive("by a relative path, seen from its working directory, and by a PATH of its own", () =>
    Effect.gen(function*() {
      const path = yield* TempDir.make
      mkdirSync(join(path, "bin"))
      for (const name of ["-tool", "to ol", "to=ol", "tool"]) {
        writeFileSync(join(path, "bin", name), `#!/bin/sh\nprintf '%s:%s' "$MARK" "$1"\n`)
        chmodSync(join(path, "bin", name), 0o755)
      }
      writeFileSync(join(path, "bin", "bare"), `printf '%s' "$1"\n`)
      chmodSync(join(path, "bin", "bare"), 0o755)
      yield* judged((mark) =>
        Effect.gen(function*() {
          const inFolder = Command.workingDirectory(path)
          const marked = Command.env({ MARK: mark })
          const onPath = Command.env({ PATH: `${join(path, "bin")}:/usr/bin:/bin` })
          // A name that a shell cannot spell goes around it, which must not take the program for a variable.
          const odd = Command.env({ "odd.name": "1" })
          const commands = [
            Command.make("./bin/tool", "a").pipe(inFolder),
            Command.make("bin/tool", "a").pipe(inFolder),
            Command.make("tool", "a").pipe(onPath),
            Command.make("-tool", "a").pipe(onPath),
            Command.make("to ol", "a").pipe(onPath),
            Command.make("to=ol", "a").pipe(onPath, odd),
            Command.make(join(path, "bin", "to=ol"), "a")
          ]
          for (const command of commands) {
            assert.deepStrictEqual(yield* run(command.pipe(marked)), [`${mark}:a`, { code: 0, signal: null }])
          }
          const [printed] = yield* run(Command.make(join(path, "bin", "bare"), "no first line"))
          assert.strictEqual(printed, "no first line")
        })
      )
    }))

  it.scopedLive("after a refusal, as if nothing had been", () =>
    judged((mark) =>
      Effect.gen(function*() {
        for (let time = 0; time < 5; time++) {
          yield* Effect.flip(ProcessTree.start(Command.make("true", "x".repeat(200_000))))
        }
        const tree = yield* ProcessTree.start(Command.make("echo", mark))
        assert.strictEqual(yield* Stream.runFold(tree.stdout, 0, (sum, bytes) => sum + bytes.length), mark.length + 1)
        expectEmpty(yield* tree.teardown)
      })
    ))
})

describe("an error of Node", () => {
  it("goes on without what it says of the command line, which may be secret", () => {
    const error = Object.assign(new Error("spawn sh EMFILE"), {
      code: "EMFILE",
      syscall: "spawn sh",
      spawnargs: ["--key", "hunter2"],
      path: "hunter2"
    })
    const failure = fromErrno("spawn", "tool")(error)
    assert.strictEqual(reasonOf(failure), "spawn: Busy")
    assert.include(failure.message, "EMFILE")
    assert.notInclude(inspect(failure, { depth: 10 }), "hunter2")
    const refused = Object.assign(new TypeError("The argument 'args[1]' … Received 'hunter2\\x00'"), {
      code: "ERR_INVALID_ARG_VALUE"
    })
    assert.notInclude(inspect(fromErrno("spawn", "tool")(refused), { depth: 10 }), "hunter2")
  })

  it.scopedLive("the real one too, with a NUL beside a secret", () =>
    judged(() =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(ProcessTree.start(Command.make("true", "hunter2\0")))
        assert.notInclude(inspect(error, { depth: 10 }), "hunter2")
      })
    ))
})
