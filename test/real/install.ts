/**
 * The real CLIs at pinned versions, installed once into a cache folder outside the repository:
 * `<cache>/effect-agents/real-clis/<versions>`, where `<cache>` is EFFECT_AGENTS_CACHE, XDG_CACHE_HOME or ~/.cache.
 *
 * Install scripts are not run: the native binaries come as platform packages. Claude Code declares Node >= 22 for its
 * launcher; its binary needs no Node at all, so npm's warning on Node 20 is of no consequence.
 */
import * as Command from "@effect/platform/Command"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Os from "node:os"

const versions = {
  "@anthropic-ai/claude-code": "2.1.332",
  "@openai/codex": "0.171.0",
  "@github/copilot": "1.0.102"
} as const

interface Cli {
  /** What a user's PATH would lead to. */
  readonly launcher: string
  readonly native: string
}

export interface Installed {
  readonly claude: Cli
  readonly codex: Cli
  readonly copilot: Cli
  /** Copilot unpacks itself here at its first run; shared, so that it happens once. */
  readonly copilotCache: string
}

export class InstallError extends Data.TaggedError("InstallError")<{ readonly message: string }> {}

const key = Object.entries(versions).map(([name, version]) => `${name.split("/")[1]}-${version}`).join("+")

const triples: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin"
}

const isMusl = (): boolean => {
  const report: { readonly header?: { readonly glibcVersionRuntime?: string } } = process.report.getReport()
  return process.platform === "linux" && report.header?.glibcVersionRuntime === undefined
}

const layout = (path: Path.Path, root: string): Installed => {
  const platform = process.platform
  const machine = `${platform}-${process.arch}`
  const modules = path.join(root, "node_modules")
  const bin = (name: string) => path.join(modules, ".bin", name)
  return {
    claude: {
      launcher: bin("claude"),
      native: path.join(modules, `@anthropic-ai/claude-code-${machine}${isMusl() ? "-musl" : ""}`, "claude")
    },
    codex: {
      launcher: bin("codex"),
      native: path.join(modules, `@openai/codex-${machine}`, "vendor", triples[machine] ?? machine, "bin", "codex")
    },
    copilot: {
      launcher: bin("copilot"),
      native: path.join(
        modules,
        `@github/copilot-${isMusl() ? "linuxmusl" : platform}-${process.arch}`,
        "copilot"
      )
    },
    copilotCache: path.join(root, "copilot-cache")
  }
}

/** What is wrong with an installation, if anything. */
const problem = (root: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const { claude, codex, copilot } = layout(path, root)
    for (const file of [claude.native, codex.native, copilot.native]) {
      const ok = yield* fs.access(file, { ok: true, readable: true }).pipe(
        Effect.zipRight(fs.stat(file)),
        Effect.map((info) => (info.mode & 0o111) !== 0),
        Effect.orElseSucceed(() => false)
      )
      if (!ok) return Option.some(`no executable ${file}`)
    }
    for (const [name, version] of Object.entries(versions)) {
      const manifest = yield* fs.readFileString(path.join(root, "node_modules", name, "package.json")).pipe(
        Effect.orElseSucceed(() => "")
      )
      if (!manifest.includes(`"version": "${version}"`)) return Option.some(`${name} is not ${version}`)
    }
    return Option.none<string>()
  })

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * Holds `<folder>.lock` while `use` runs. Only spares double work: the install itself is safe without, because each
 * process installs into a folder of its own and moves it into place in one step. So a lock of a dead or very slow
 * owner is simply broken.
 */
const withLock = <A, E, R>(lock: string, use: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const take = fs.writeFileString(lock, String(process.pid), { flag: "wx" })
    const breakStale = Effect.gen(function*() {
      const owner = Number(yield* fs.readFileString(lock))
      const since = Option.match((yield* fs.stat(lock)).mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
      const age = Duration.millis((yield* Clock.currentTimeMillis) - since)
      if (!isAlive(owner) || Duration.greaterThan(age, "10 minutes")) yield* fs.remove(lock, { force: true })
    }).pipe(Effect.ignore)
    return yield* Effect.acquireUseRelease(
      take.pipe(
        Effect.tapError(() => breakStale),
        Effect.retry({ schedule: Schedule.spaced("250 millis"), times: 4 * 60 * 11 })
      ),
      () => use,
      () => Effect.ignore(fs.remove(lock, { force: true }))
    )
  })

const npmInstall = (
  folder: string
): Effect.Effect<void, InstallError, CommandExecutor.CommandExecutor> =>
  Effect.scoped(Effect.gen(function*() {
    const npm = yield* Command.start(
      // The prefix and the rest are said here because an outer `npm run` hands its own settings down.
      Command.make(
        "npm",
        "install",
        `--prefix=${folder}`,
        "--global=false",
        "--include=optional",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error"
      ).pipe(
        Command.workingDirectory(folder),
        Command.stdin(Stream.empty)
      )
    )
    const [code, stdout, stderr] = yield* Effect.all([
      npm.exitCode,
      npm.stdout.pipe(Stream.decodeText(), Stream.mkString),
      npm.stderr.pipe(Stream.decodeText(), Stream.mkString)
    ], { concurrency: "unbounded" })
    if (code !== 0) {
      return yield* new InstallError({
        message: `npm install of the real CLIs ended with ${code}:\n${stdout}${stderr}`
      })
    }
  })).pipe(
    Effect.timeoutFail({
      duration: "8 minutes",
      onTimeout: () => new InstallError({ message: "npm install of the real CLIs took more than 8 minutes" })
    }),
    Effect.catchTags({
      BadArgument: (error) => new InstallError({ message: `npm could not be run: ${error.message}` }),
      SystemError: (error) => new InstallError({ message: `npm could not be run: ${error.message}` })
    })
  )

/** Installs what is missing and returns where it is. Safe to call from several processes at once. */
export const install = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if (process.platform !== "linux" && process.platform !== "darwin") {
    return yield* new InstallError({ message: `the suite on the real CLIs does not run on ${process.platform}` })
  }
  const base = process.env.EFFECT_AGENTS_CACHE ?? process.env.XDG_CACHE_HOME ?? path.join(Os.homedir(), ".cache")
  const cache = path.join(base, "effect-agents", "real-clis")
  const root = path.join(cache, key)

  const installHere = Effect.scoped(Effect.gen(function*() {
    if (Option.isNone(yield* problem(root))) return
    const temporary = yield* fs.makeTempDirectoryScoped({ directory: cache, prefix: ".installing-" })
    const folder = path.join(temporary, "root")
    yield* fs.makeDirectory(folder)
    yield* fs.writeFileString(
      path.join(folder, "package.json"),
      JSON.stringify({ name: "real-clis", private: true, dependencies: versions })
    )
    yield* npmInstall(folder)
    yield* Effect.flatMap(
      problem(folder),
      Option.match({
        onNone: () => Effect.void,
        onSome: (what) => Effect.fail(new InstallError({ message: `the install of the real CLIs is broken: ${what}` }))
      })
    )
    yield* fs.remove(root, { recursive: true, force: true })
    // Somebody else may have been faster: then theirs is in place, and it is as good.
    yield* fs.rename(folder, root).pipe(
      Effect.catchAll((error) =>
        Effect.flatMap(problem(root), (what) => Option.isNone(what) ? Effect.void : Effect.fail(error))
      )
    )
  }))

  yield* fs.makeDirectory(cache, { recursive: true })
  if (Option.isSome(yield* problem(root))) yield* withLock(`${root}.lock`, installHere)
  return layout(path, root)
}).pipe(
  Effect.catchTags({
    BadArgument: (error) => new InstallError({ message: `the cache of the real CLIs: ${error.message}` }),
    SystemError: (error) => new InstallError({ message: `the cache of the real CLIs: ${error.message}` })
  })
)
