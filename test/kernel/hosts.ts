/**
 * The programs of `hostProgram.ts`, started in the ways that a host can be.
 */
import * as Command from "@effect/platform/Command"
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Host from "../utils/Host.js"
import * as TempDir from "../utils/TempDir.js"
import type { Input } from "./hostProgram.js"

const program = new URL("./hostProgram.ts", import.meta.url)

export const host = (input: Input) => Host.start(program, input)

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** A command line that runs the program with an input, for hosts that are started in another way. */
export const commandLine = (input: Input) =>
  Effect.map(TempDir.make, (folder) => {
    const file = join(folder, "input.json")
    writeFileSync(file, JSON.stringify(input))
    chmodSync(folder, 0o755)
    return [process.execPath, "--import", "tsx", fileURLToPath(program), file] as const
  })

export const reportsOf = (output: string): ReadonlyArray<Teardown.TeardownReport> =>
  [...output.matchAll(/^report (.*)$/gm)].map(([, json]) =>
    Schema.decodeUnknownSync(Teardown.TeardownReport)(JSON.parse(json ?? ""))
  )

export const isRoot = process.getuid?.() === 0

const namespace = ["--pid", "--fork", "--kill-child", "--mount-proc"]
const unshare = isRoot ? namespace : ["--user", "--map-root-user", ...namespace]

/** Why there are no pid namespaces here, or nothing. */
export const missingNamespace: string | undefined = spawnSync("unshare", [...unshare, "true"]).status === 0
  ? undefined
  : "no pid namespaces here"

/** A command line in a pid namespace of its own, as its first process: all in it die with that, whatever happens. */
export const asFirst = (line: ReadonlyArray<string>): Command.Command =>
  Command.make("unshare", ...unshare, ...line).pipe(Command.workingDirectory(root))

/** The same, with a shell as the first process: it buries the dead, Node would not. */
export const inNamespace = (line: ReadonlyArray<string>): Command.Command =>
  asFirst(["sh", "-c", "\"$@\"; exit $?", "sh", ...line])
