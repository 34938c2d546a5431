/**
 * Every way to leave a tree, each ended by a teardown and judged from outside.
 */
import * as Command from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { spawnSync } from "node:child_process"
import { aliveWith, waitForSleepers, waitUntil } from "../utils/Processes.js"
import { adversary, anyThreadAlive, brief, expectEmpty, judged, seconds, sh } from "./support.js"

const quiet = "</dev/null >/dev/null 2>&1"

// Once it is what it shall become: a shell that is stopped before that never becomes it.
const stop = "until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!; wait"

interface Kind {
  readonly name: string
  /** `$1` is the time to sleep; the leader lives on after it. */
  readonly script: string
  readonly count?: number
  readonly by: ReadonlyArray<Teardown.Evidence>
}

const kinds: ReadonlyArray<Kind> = [
  { name: "a child", script: "sleep $1", by: ["group"] },
  { name: "a grandchild", script: "sh -c 'sleep $0; :' $1", by: ["group"] },
  { name: "one in the background, its parent gone", script: `sh -c 'sleep $0 ${quiet} &' $1`, by: ["group"] },
  { name: "one that ignores SIGHUP", script: `sh -c 'nohup sleep $0 ${quiet} &' $1`, by: ["group"] },
  { name: "one in a session of its own", script: "setsid sleep $1", by: ["rlimit"] },
  { name: "one in a group of its own", script: "bash -c 'set -m; sleep $0 & wait' $1", by: ["session"] },
  { name: "one of a group whose shell has gone", script: `bash -c 'set -m; sleep $0 ${quiet} &' $1`, by: ["session"] },
  { name: "a daemon, forked twice", script: `(setsid sh -c 'sleep $0 ${quiet} &' $1 &)`, by: ["rlimit"] },
  { name: "one without environment", script: "env -i setsid sleep $1", by: ["rlimit"] },
  { name: "a daemon without environment", script: `(env -i setsid sh -c 'sleep $0 ${quiet} &' $1 &)`, by: ["rlimit"] },
  { name: "a deaf one", script: "sh -c 'trap \"\" TERM INT HUP; exec sleep $0' $1", by: ["group"] },
  { name: "a deaf daemon", script: "(setsid sh -c 'trap \"\" TERM INT HUP; exec sleep $0' $1 &)", by: ["rlimit"] },
  { name: "a stopped one", script: `sleep $1 & ${stop}`, by: ["group"] },
  {
    name: "a stopped one in a session of its own",
    script: `setsid sleep $1 & ${stop}`,
    by: ["rlimit"]
  },
  { name: "one that holds the output", script: "setsid sleep $1 &", by: ["rlimit"] },
  {
    name: "one with a lower soft limit",
    script: "env -i setsid sh -c 'ulimit -S -w 5 || ulimit -S -x 5; exec sleep $0' $1",
    by: ["rlimit"]
  },
  {
    name: "one that closed all it had open",
    script: "setsid sh -c 'exec 0<&- 1>&- 2>&-; exec sleep $0' $1",
    by: ["rlimit"]
  }
]

const ended = (report: Teardown.TeardownReport, command: string): ReadonlyArray<string> =>
  report.killed.filter((process) => process.command === command).map(({ by }) => by)

describe("a teardown ends", () => {
  for (const { by, name, script } of kinds) {
    it.scopedLive(name, () =>
      judged((mark) =>
        Effect.gen(function*() {
          const tree = yield* ProcessTree.start(sh(`${script}\nwait; read forever`, seconds(mark)), { teardown: brief })
          yield* waitForSleepers(mark, 1)
          const report = yield* tree.teardown
          expectEmpty(report)
          assert.deepStrictEqual(ended(report, "sleep"), by)
        })
      ))
  }

  it.scopedLive("a tree of three hundred, in every depth", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const script = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); sleep $1 & setsid sleep $1 & (sleep $1 &) done; wait"
        const tree = yield* ProcessTree.start(sh(script, seconds(mark)), { teardown: Teardown.immediate })
        yield* waitForSleepers(mark, 300)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.strictEqual(ended(report, "sleep").length, 300)
      })
    ))

  it.scopedLive("one in a user and pid namespace of its own", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const unshare = ["--user", "--map-root-user", "--pid", "--fork", "setsid", "sleep", seconds(mark)]
        const possible = spawnSync("unshare", [...unshare.slice(0, 4), "true"]).status === 0
        const command = possible ? Command.make("unshare", ...unshare) : Command.make("setsid", "sleep", seconds(mark))
        if (!possible) yield* Effect.logInfo("no user namespaces here: a new session takes their place")
        const tree = yield* ProcessTree.start(command, { teardown: brief })
        yield* waitForSleepers(mark, 1)
        expectEmpty(yield* tree.teardown)
      })
    ))

  if (adversary.missing !== undefined) {
    it("those that only a C program can be: no C compiler here", () => {
      assert.isString(adversary.missing)
    })
    return
  }

  /** Starts an adversary as a child of a shell and waits until it says its pid. */
  const adverse = (mark: string, words: string) =>
    Effect.gen(function*() {
      const tree = yield* ProcessTree.start(
        sh("\"$1\" - \"$2\" \"$3\" & wait; read forever", adversary.program, words, seconds(mark)),
        { teardown: brief }
      )
      const said = yield* tree.stdout.pipe(Stream.decodeText(), Stream.runHead)
      const pid = Number(/^ready (\d+)/.exec(said._tag === "Some" ? said.value : "")?.[1])
      assert.isAbove(pid, 1)
      return { tree, pid }
    })

  for (const words of ["daemon title", "daemon undumpable"]) {
    it.scopedLive(`one that hides its environment (${words})`, () =>
      judged((mark) =>
        Effect.gen(function*() {
          const { pid, tree } = yield* adverse(mark, words)
          const report = yield* tree.teardown
          expectEmpty(report)
          assert.strictEqual(report.killed.find((process) => process.pid === pid)?.by, "rlimit")
          assert.isFalse(anyThreadAlive(pid))
        })
      ))
  }

  it.scopedLive("one whose first thread has ended", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const { pid, tree } = yield* adverse(mark, "headless")
        assert.isTrue(anyThreadAlive(pid))
        assert.include((yield* tree.members).map((member) => member.pid), pid)
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.include(report.killed.map((process) => process.pid), pid)
        assert.isFalse(anyThreadAlive(pid))
      })
    ))

  it.scopedLive("the parent of zombies, which do not count", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const { pid, tree } = yield* adverse(mark, "zombies")
        assert.deepStrictEqual((yield* tree.members).map((member) => member.pid), [tree.pid, pid])
        const report = yield* tree.teardown
        expectEmpty(report)
        assert.deepStrictEqual(report.killed.map((process) => process.pid).sort(), [tree.pid, pid].sort())
        assert.isBelow(report.durationMs, 10_000)
      })
    ))

  it.scopedLive("a thread of many forks, while it forks", () =>
    judged((mark) =>
      Effect.gen(function*() {
        const script = "while :; do sleep 0.0$1 & setsid sleep 0.0$1 & sleep 0.00$1; done"
        const tree = yield* ProcessTree.start(sh(script, mark), { teardown: Teardown.immediate })
        yield* waitUntil("it forks", Effect.map(aliveWith(mark), (alive) => alive.length > 2))
        expectEmpty(yield* tree.teardown)
      })
    ))
})
