import * as Command from "@effect/platform/Command"
import type { StandardCommand } from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { chmodSync } from "node:fs"
import { basename, join } from "node:path"
import { realpathSync } from "node:fs"
import * as TempDir from "../utils/TempDir.js"
import { expectEmpty, judged, sh, text } from "./support.js"

const standard = (command: Command.Command): StandardCommand => Command.flatten(command)[0]

/** Without anything of the host. */
const bare = (command: Command.Command, env: Record<string, string>): Command.Command =>
  Command.env(command, env, { extendEnv: false })

const output = (command: Command.Command) =>
  Effect.gen(function*() {
    const tree = yield* ProcessTree.start(command)
    const printed = yield* text(tree.stdout)
    expectEmpty(yield* tree.teardown)
    return printed
  })

const variables = (command: Command.Command) =>
  Effect.map(output(command), (printed) =>
    new Map(
      printed.split("\0").filter((line) => line !== "").map((line) => {
        const at = line.indexOf("=")
        return [line.slice(0, at), line.slice(at + 1)] as const
      })
    ))

// bash as /bin/sh counts its own start, whatever one does.
const shellLevel = basename(realpathSync("/bin/sh")) === "bash" ? ["SHLVL"] : []

describe("the environment of a tree", () => {
  it.scopedLive("without that of the host holds its own variables and the mark", () =>
    judged(() =>
      Effect.gen(function*() {
        const seen = yield* variables(bare(Command.make("/usr/bin/env", "-0"), { ONE: "1" }))
        assert.deepStrictEqual([...seen.keys()].filter((name) => !shellLevel.includes(name)).sort(), [
          "EFFECT_AGENTS_TREE",
          "ONE"
        ])
        assert.match(seen.get("EFFECT_AGENTS_TREE") ?? "", /^[0-9a-f]{32}$/)
      })
    ))

  it.scopedLive("passes every name and value as it is", () =>
    judged(() =>
      Effect.gen(function*() {
        const own = {
          "-u": "an option",
          "odd.name": "dots",
          "odd-name": "dash",
          "9": "digit",
          "BASH_FUNC_greet%%": "() { echo hello\n}",
          "ÜMLAUT": "ü",
          IFS: "abc",
          PS1: "$ ",
          PS4: "+++",
          OPTIND: "7",
          PPID: "12",
          LINENO: "3",
          RANDOM: "4",
          _: "underscore",
          EMPTY: "",
          SPACES: "  two  ",
          QUOTES: `'"\`$(echo no)\${HOME}\\n`,
          LINES: "one\ntwo\n",
          EQUALS: "a=b=c"
        }
        const seen = yield* variables(bare(Command.make("/usr/bin/env", "-0"), own))
        for (const [name, value] of Object.entries(own)) assert.strictEqual(seen.get(name), value, name)
      })
    ))

  it.scopedLive("extends that of the host, and can replace it", () =>
    judged(() =>
      Effect.gen(function*() {
        const command = Command.make("env", "-0").pipe(Command.env({ HOME: "/elsewhere", UNSET: undefined }))
        const seen = yield* variables(command)
        assert.strictEqual(seen.get("HOME"), "/elsewhere")
        assert.strictEqual(seen.get("PATH"), process.env["PATH"])
        assert.isFalse(seen.has("UNSET"))
      })
    ))
})

describe("the arguments of a tree", () => {
  const words = [
    "",
    " ",
    "two words",
    "-n",
    "--",
    "-c",
    "'single'",
    "\"double\"",
    "$HOME ${PATH} $(echo no) `echo no`",
    "back\\slash\\n",
    "line one\nline two\n",
    "\ttab",
    "ünï©ødé 🌲",
    "*",
    "~",
    "a=b",
    "x".repeat(100_000)
  ]

  it.scopedLive("arrive as they are", () =>
    judged(() =>
      Effect.gen(function*() {
        const printed = yield* output(sh("printf '%s\\0' \"$@\"", ...words))
        assert.deepStrictEqual(printed.split("\0").slice(0, -1), words)
        const around = yield* output(sh("printf '%s\\0' \"$@\"", ...words).pipe(Command.env({ "odd.name": "1" })))
        assert.deepStrictEqual(around.split("\0").slice(0, -1), words)
      })
    ))

  it.scopedLive("are a line of a shell when that is wanted", () =>
    judged(() =>
      Effect.gen(function*() {
        const line = Command.make("printf '%s-' \"$ONE\" | tr a-z A-Z;", "exit", "3").pipe(Command.env({ ONE: "one" }))
        for (const shell of [true, "/bin/sh", "sh"]) {
          const tree = yield* ProcessTree.start(line.pipe(Command.runInShell(shell)))
          assert.strictEqual(yield* text(tree.stdout), "ONE-")
          assert.strictEqual((yield* tree.exit).code, 3)
        }
      })
    ))
})

describe("the place of a tree", () => {
  it.scopedLive("is its working directory, also by the variable", () =>
    Effect.gen(function*() {
      const folder = yield* TempDir.make
      yield* judged(() =>
        Effect.gen(function*() {
          const command = sh("pwd -P; echo \"$PWD\"").pipe(Command.workingDirectory(folder))
          assert.strictEqual(yield* output(command), `${folder}\n${folder}\n`)
        })
      )
    }))

  it.scopedLive("has the user and group that were asked for", () =>
    Effect.gen(function*() {
      const folder = yield* TempDir.make
      chmodSync(folder, 0o755)
      const asUser = (uid: number, gid: number): Command.Command => {
        const command = standard(Command.make("id", "-u", "-n", "--zero"))
        return Object.assign(Object.create(Object.getPrototypeOf(command)), command, {
          args: ["-u"],
          uid: Option.some(uid),
          gid: Option.some(gid)
        })
      }
      // Only root may become somebody else; everybody may become oneself.
      const uid = process.getuid?.() === 0 ? 65534 : process.getuid?.() ?? 0
      const gid = process.getuid?.() === 0 ? 65534 : process.getgid?.() ?? 0
      yield* judged(() =>
        Effect.gen(function*() {
          const command = asUser(uid, gid).pipe(Command.workingDirectory(join(folder)))
          assert.strictEqual(yield* output(command), `${uid}\n`)
        })
      )
    }))
})
