/**
 * Runs git as a contained tree: what it leaves in the background ends with it.
 */
import * as Command from "@effect/platform/Command"
import type { PlatformError } from "@effect/platform/Error"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as ProcessTree from "../../ProcessTree.js"
import { onNativeTime } from "../nativeClock.js"

export interface Done {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** By these a hook, or an editor, ties git to the repository that it is at work in. */
const local = new Set([
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_COMMON_DIR",
  "GIT_DIR",
  "GIT_INDEX_FILE",
  "GIT_NAMESPACE",
  "GIT_OBJECT_DIRECTORY",
  "GIT_PREFIX",
  "GIT_WORK_TREE"
])

const settings = ["-c", "core.fsmonitor=false", "-c", "gc.auto=0"]

/**
 * Bounded by the end of the tree, not by an interruption: one that comes while a finalizer runs reaches what the finalizer
 * has forked, if that can be interrupted.
 */
const limit = (tree: ProcessTree.ProcessTree, after: Duration.DurationInput) =>
  Effect.acquireRelease(
    Effect.forkDaemon(Effect.interruptible(onNativeTime(Effect.delay(tree.teardown, after)))),
    Fiber.interruptFork
  )

const once = Effect.fnUntraced(function*(cwd: string, args: ReadonlyArray<string>, atMost?: Duration.DurationInput) {
  const spawner = yield* ProcessTree.Spawner
  const { environment } = yield* spawner.host
  const variables = Object.fromEntries(Object.entries(environment).filter(([name]) => !local.has(name)))
  const command = Command.make("git", ...settings, ...args).pipe(
    Command.workingDirectory(cwd),
    Command.env({ ...variables, LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" }, { extendEnv: false })
  )
  // Only what is asked for by name can be unavailable.
  const tree = yield* Effect.catchTag(spawner.start(command, { stdin: "ignore" }), "ContainmentUnavailable", Effect.die)
  if (atMost !== undefined) yield* limit(tree, atMost)
  const text = (output: ProcessTree.ProcessTree["stdout"]) => output.pipe(Stream.decodeText(), Stream.mkString)
  const [stdout, stderr] = yield* Effect.all([text(tree.stdout), text(tree.stderr)], { concurrency: 2 })
  const { code } = yield* tree.exit
  const done: Done = { code: code ?? 128, stdout, stderr }
  return done
}, Effect.scoped)

const contended = /\.lock': File exists|could not lock|cannot lock ref|unable to lock/i

export const isContended = ({ code, stderr }: Done): boolean => code !== 0 && contended.test(stderr)

const patiently = Schedule.recurWhile(isContended).pipe(
  Schedule.addDelay(() => "50 millis"),
  Schedule.jittered,
  Schedule.zipLeft(Schedule.recurs(100))
)

/** Tries again, for some seconds, while another git holds a lock of the repository. */
export const git = (
  cwd: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<Done, PlatformError, ProcessTree.Spawner> => Effect.repeat(once(cwd, args), patiently)

/** The same for what has a quick answer: after a minute there is none. */
export const ask = (
  cwd: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<Done, PlatformError, ProcessTree.Spawner> => Effect.repeat(once(cwd, args, "1 minute"), patiently)
