/** Where an agent's program is. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import type { Executable } from "../../AgentDriver.js"
import { AgentNotInstalled, AgentSpawnError } from "../../AgentError.js"
import type * as ProcessTree from "../../ProcessTree.js"

interface Options {
  readonly agent: string
  readonly executable: Executable
  readonly program: string | undefined
  readonly host: ProcessTree.Host
  readonly searchPath: string
  readonly cwd: string
}

type Found = "executable" | "not-executable" | "missing"

const inspect = (fs: FileSystem.FileSystem, host: ProcessTree.Host, file: string): Effect.Effect<Found> =>
  fs.stat(file).pipe(
    Effect.map((info): Found => {
      if (info.type !== "File") return "missing"
      return host.platform === "win32" || (info.mode & 0o111) !== 0 ? "executable" : "not-executable"
    }),
    Effect.orElseSucceed((): Found => "missing")
  )

export const locate = Effect.fnUntraced(function*(options: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { agent, executable, host } = options
  const windows = host.platform === "win32"

  const home = host.environment[windows ? "USERPROFILE" : "HOME"] ?? ""
  const directories = [
    ...options.searchPath.split(windows ? ";" : ":").filter((entry) => entry.length > 0),
    // Without a home, `~/bin` is nowhere, and not `/bin`.
    ...executable.directories.flatMap((entry) =>
      entry.startsWith("~") ? home === "" ? [] : [`${home}${entry.slice(1)}`] : [entry]
    )
  ]
  const suffixes = windows ? [".exe", ".cmd", ""] : [""]
  const places = options.program !== undefined
    ? [path.resolve(host.cwd, options.program)]
    : directories.flatMap((directory) =>
      executable.names.flatMap((name) =>
        suffixes.map((suffix) => path.resolve(host.cwd, directory, `${name}${suffix}`))
      )
    )

  let refused: string | undefined
  for (const place of places) {
    const found = yield* inspect(fs, host, place)
    if (found === "not-executable") refused ??= place
    if (found === "missing") continue
    const real = yield* Effect.orElseSucceed(fs.realPath(place), () => place)
    for (const native of executable.native(real, host)) {
      if ((yield* inspect(fs, host, native)) === "executable") return native
    }
    if (found === "executable") return place
  }
  if (refused !== undefined) {
    return yield* new AgentSpawnError({
      agent,
      program: refused,
      cwd: options.cwd,
      reason: "not-executable",
      detail: "the file is not executable"
    })
  }
  return yield* new AgentNotInstalled({
    agent,
    program: options.program ?? executable.names.join(" or "),
    looked: options.program === undefined ? [...new Set(directories)] : places,
    hint: executable.installHint
  })
})
