/**
 * Trees behind a boundary of the kernel: who hides on purpose ends all the same.
 */
import * as Command from "@effect/platform/Command"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Containment from "effect-agents/Containment"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as ProcessTree from "effect-agents/ProcessTree"
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { spawnSync } from "node:child_process"
import {
  accessSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as cgroup from "../../src/internal/kernel/cgroup.js"
import * as identity from "../../src/internal/kernel/identity.js"
import * as ledger from "../../src/internal/kernel/ledger.js"
import * as Host from "../utils/Host.js"
import { aliveWith, expectGone, isAlive, makeMark, type Seen, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import type { Input } from "./hostProgram.js"
import { adversary, brief, expectEmpty, locksLimit, seconds, sh, text } from "./support.js"

// A state directory of this file's own: other tests are hosts too, and would sweep what is left behind here on purpose.
const state = mkdtempSync(join(tmpdir(), "effect-agents-seal-"))
process.env.XDG_STATE_HOME = state
afterAll(() => rmSync(state, { recursive: true, force: true }))
// Hosts of another user find their tools in it, and the adversary.
for (const folder of [state, dirname(adversary.program)]) chmodSync(folder, 0o755)

const PATH = process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin"

const fileOf = (tool: string): string | undefined =>
  PATH.split(":").map((directory) => join(directory, tool)).find((file) => existsSync(file))

/** A search path on which nothing is but these tools. */
const only = (...tools: ReadonlyArray<string>): string => {
  const directory = mkdtempSync(join(state, "path-"))
  chmodSync(directory, 0o755)
  for (const tool of tools) symlinkSync(fileOf(tool) ?? "/nowhere", join(directory, tool))
  return directory
}

interface Way {
  readonly name: string
  readonly seal: "namespace" | "cgroup"
  /** Where the host looks for its tools. */
  readonly path: string
  /** Why it cannot be had here, asked of the machine and not of the library. */
  readonly missing: string | undefined
}

const whyNot = (program: string, ...args: ReadonlyArray<string>): string | undefined => {
  const done = spawnSync(program, args, { encoding: "utf8" })
  return done.status === 0 ? undefined : done.error?.message ?? done.stderr
}

const isRoot = process.getuid?.() === 0
const cgroups = cgroup.directoryOf("0".repeat(24))

const whyNoCgroup = (): string | undefined => {
  if (cgroups === undefined) return "no cgroups of version 2"
  try {
    mkdirSync(cgroups)
    accessSync(join(cgroups, "cgroup.kill"))
    rmdirSync(cgroups)
    return undefined
  } catch (error) {
    return String(error)
  }
}

const ways: ReadonlyArray<Way> = [
  {
    name: "bwrap",
    seal: "namespace",
    path: only("bwrap", "setsid"),
    missing: whyNot("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true")
  },
  {
    name: "unshare",
    seal: "namespace",
    path: only("unshare", "setsid"),
    missing: whyNot("unshare", ...(isRoot ? [] : ["-c"]), "-p", "-f", "--mount-proc", "true")
  },
  { name: "cgroup", seal: "cgroup", path: only(), missing: whyNoCgroup() }
]
const bwrapMissing = ways[0]?.missing

const searching = (path: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      process.env.PATH = path
    }),
    () =>
      Effect.sync(() => {
        process.env.PATH = PATH
      })
  )

const start = (way: Way, command: Command.Command, teardown: Teardown.Teardown = brief) =>
  Effect.zipRight(
    searching(way.path),
    ProcessTree.start(Command.env(command, { PATH }), { seal: way.seal, teardown })
  )

const said = (way: Way, command: Command.Command) =>
  Effect.scoped(Effect.flatMap(start(way, command), (tree) => Effect.zip(text(tree.stdout), tree.exit)))

const out = (way: Way, script: string) => Effect.map(said(way, sh(script)), ([output]) => output.trim())

/** A daemon without environment and without the limit that would mark it. The shell goes on once it is that. */
const ghost = `"$1" - "bare daemon lower" "$2" | read ready`

const ghostArgs = (mark: string) => [adversary.program, seconds(mark, 1)]

const ghosts = (mark: string): Effect.Effect<ReadonlyArray<Seen>> =>
  Effect.map(aliveWith(mark), (seen) => seen.filter(({ command }) => command.startsWith(`${adversary.program} - `)))

const theGhost = (mark: string): Effect.Effect<Seen> =>
  Effect.flatMap(ghosts(mark), ([seen, ...others]) => {
    if (seen === undefined || others.length > 0) return Effect.dieMessage(`${others.length} ghosts too many, or none`)
    assert.strictEqual(locksLimit(seen.pid), "0", "it has taken off its mark")
    assert.strictEqual(readFileSync(`/proc/${seen.pid}/environ`, "latin1"), "")
    return Effect.succeed(seen)
  })

const withGhost = (mark: string) => sh(`${ghost}; sleep $3; read forever`, ...ghostArgs(mark), seconds(mark, 2))

const host = (mark: string, way: Way | undefined, options: { readonly user?: number } = {}, more?: Partial<Input>) =>
  Host.start(
    new URL("./hostProgram.ts", import.meta.url),
    {
      mode: "wait",
      script: `${ghost}; sleep $3; read forever`,
      args: [...ghostArgs(mark), seconds(mark, 2)],
      sleepers: [mark, 1],
      seal: way?.seal,
      path: way?.path,
      ...more
    } satisfies Input,
    options
  )

const gone = (mark: string) =>
  waitUntil("the end of all", Effect.map(aliveWith(mark), (left) => left.length === 0)).pipe(
    Effect.zipRight(expectGone(mark))
  )

/** Where a host has the cgroups of its trees, by its own word. */
const cgroupOf = (pid: number): string => {
  const directory = ledger.directory(process.env) ?? ""
  const written = readdirSync(directory).map((name) => ledger.parse(readFileSync(join(directory, name), "utf8")))
  return written.find((each) => each?.host.pid === pid)?.cgroup ?? "/nowhere"
}

const live = Effect.provide(NodeProcessTree.layer)

for (const way of ways) {
  describe(`a tree sealed by ${way.name}`, () => {
    if (way.missing !== undefined) {
      it(`cannot be had here: ${way.missing.trim()}`, () => assert.isString(way.missing))
      return
    }

    const ends = (
      how: string,
      end: (tree: ProcessTree.ProcessTree) => Effect.Effect<void, never, Scope.Scope>
    ) =>
      it.scopedLive(`takes along who hides on purpose when ${how}`, () =>
        Effect.gen(function*() {
          const mark = yield* makeMark
          const work = Effect.scoped(Effect.gen(function*() {
            const tree = yield* start(way, withGhost(mark))
            yield* waitForSleepers(mark, 1)
            const hidden = yield* theGhost(mark)
            yield* end(tree)
            // With `unshare` nobody outlives the program.
            const already = way.name === "unshare" && !(yield* tree.isRunning)
            return { already, hidden, report: yield* tree.teardown }
          }))
          const { already, hidden, report } = yield* work
          expectEmpty(report)
          assert.include(report.layers, way.seal)
          const known = report.killed.find(({ pid }) => pid === hidden.pid)
          assert.strictEqual(known?.by ?? (already ? way.seal : "unknown"), way.seal)
          yield* expectGone(mark)
        }).pipe(live))

    if (adversary.missing === undefined) {
      ends("it is torn down", () => Effect.void)

      ends("its leader was killed", (tree) => Effect.zipRight(tree.signal("SIGKILL"), Effect.asVoid(tree.exit)))

      ends(
        "what was started is killed by somebody else",
        (tree) => Effect.zipRight(Effect.sync(() => process.kill(tree.pid, "SIGKILL")), Effect.asVoid(tree.exit))
      )

      it.scopedLive("takes along who hides on purpose when it is interrupted", () =>
        Effect.gen(function*() {
          const mark = yield* makeMark
          const work = yield* Effect.fork(Effect.scoped(Effect.zipRight(start(way, withGhost(mark)), Effect.never)))
          yield* waitForSleepers(mark, 1)
          yield* theGhost(mark)
          yield* Fiber.interrupt(work)
          yield* expectGone(mark)
        }).pipe(live))

      it.scopedLive("takes along who hides on purpose when the host is killed, and nothing is left of it", () =>
        Effect.gen(function*() {
          const mark = yield* makeMark
          const started = yield* host(mark, way)
          yield* started.says("ready")
          yield* theGhost(mark)
          const directory = cgroupOf(started.pid)
          assert.strictEqual(existsSync(directory), way.seal === "cgroup")
          yield* started.signal("SIGKILL")
          yield* gone(mark)
          yield* waitUntil("its cgroup is gone", Effect.sync(() => !existsSync(directory)))
        }))

      if (isRoot && way.seal === "namespace") {
        it.scopedLive("is there for a user without rights, who stays that one", () =>
          Effect.gen(function*() {
            const mark = yield* makeMark
            const started = yield* host(mark, way, { user: 12345 }, {
              script: `test "$(id -u)" = 12345 && ${ghost}; sleep $3; read forever`
            })
            yield* started.says("ready")
            yield* theGhost(mark)
            yield* started.signal("SIGKILL")
            yield* gone(mark)
          }))
      }
    } else it(`with who hides on purpose: ${adversary.missing}`, () => assert.isString(adversary.missing))

    it.scopedLive("is asked to end: the program hears it, tidies up and says how it ended", () =>
      Effect.gen(function*() {
        const file = join(yield* TempDir.make, "tidied")
        const policy = Teardown.make([{ signal: "SIGTERM", to: "leader", wait: "10 seconds" }])
        const report = yield* Effect.scoped(Effect.gen(function*() {
          const script = `trap 'echo done > "$1"; exit 7' TERM; echo ready; while :; do sleep 0.01; done`
          const tree = yield* start(way, sh(script, file), policy)
          yield* Stream.runHead(tree.stdout)
          const report = yield* tree.teardown
          assert.deepStrictEqual(yield* tree.exit, { code: 7, signal: null })
          return report
        }))
        expectEmpty(report)
        assert.strictEqual(readFileSync(file, "utf8"), "done\n")
        assert.deepStrictEqual(report.steps.map(({ signal }) => signal), ["SIGTERM"])
        assert.isBelow(report.durationMs, 5000)
      }).pipe(live))

    it.scopedLive("is asked to end: so is who has left the group, and nobody is ended for that", () =>
      Effect.gen(function*() {
        const folder = yield* TempDir.make
        const policy = Teardown.make([{ signal: "SIGTERM", wait: "10 seconds" }])
        const tidy =
          `trap 'sleep 0.05; echo done > "$0/$1"; exit' TERM; echo ready > "$0/ready-$1"; while :; do sleep 0.01; done`
        const report = yield* Effect.scoped(Effect.gen(function*() {
          // The program ends last: with `unshare` it takes the others along.
          const script = `for n in 1 2; do setsid sh -c "$2" "$1" $n & done
            trap 'trap "" TERM; until [ -e "$1/1" ] && [ -e "$1/2" ]; do sleep 0.01; done; exit 3' TERM
            until [ -e "$1/ready-1" ] && [ -e "$1/ready-2" ]; do sleep 0.01; done; echo ready
            while :; do sleep 0.01; done`
          const tree = yield* start(way, sh(script, folder, tidy), policy)
          yield* Stream.runHead(tree.stdout)
          const report = yield* tree.teardown
          assert.deepStrictEqual(yield* tree.exit, { code: 3, signal: null })
          return report
        }))
        expectEmpty(report)
        assert.deepStrictEqual(report.steps.map(({ alive, signal }) => [signal, alive]), [["SIGTERM", 0]])
        assert.isBelow(report.durationMs, 5000)
      }).pipe(live))

    it.scopedLive("is led by the program, which hears signals", () =>
      Effect.gen(function*() {
        const tree = yield* start(way, sh("trap 'exit 4' INT; echo ready; while :; do sleep 0.01; done"))
        yield* Stream.runHead(tree.stdout)
        const [leader] = yield* tree.members
        assert.strictEqual(leader?.by, "leader")
        assert.strictEqual(leader?.command, "sh")
        assert.deepStrictEqual([leader?.group, leader?.session], [leader?.pid, leader?.pid])
        yield* tree.signal("SIGINT")
        assert.deepStrictEqual(yield* tree.exit, { code: 4, signal: null })
      }).pipe(live))

    it.scopedLive("hears a signal that comes before the program is there", () =>
      Effect.gen(function*() {
        for (let round = 0; round < 10; round++) {
          yield* Effect.scoped(Effect.gen(function*() {
            const tree = yield* start(way, Command.make("sleep", "100"))
            yield* tree.signal("SIGTERM", round % 2 === 0 ? "leader" : "tree")
            yield* tree.exit
          }))
        }
      }).pipe(live))

    it.scopedLive("has its input, its output and its exit code", () =>
      Effect.gen(function*() {
        const fed = sh("read line; echo \"out $line\"; exit 5").pipe(Command.feed("hello\n"))
        assert.deepStrictEqual(yield* said(way, fed), ["out hello\n", { code: 5, signal: null }])
        const [, exit] = yield* said(way, sh("kill -KILL $$"))
        assert.deepStrictEqual(
          exit,
          way.seal === "namespace" ? { code: 137, signal: null } : { code: null, signal: "SIGKILL" }
        )
      }).pipe(live))

    it.scopedLive("has its environment whole, also what a shell would drop", () =>
      Effect.gen(function*() {
        const environment = { "not.a name": "kept", PS4: "own", PATH }
        const [printed] = yield* said(
          way,
          Command.make("env").pipe(Command.env({ ...environment, PWD: undefined }))
        )
        for (const [name, value] of Object.entries(environment)) assert.include(printed, `${name}=${value}\n`)
      }).pipe(live))

    it.scopedLive("leaves the signals of the program as they are, and `kill 0` in it", () =>
      Effect.gen(function*() {
        assert.match(yield* out(way, "grep -E '^Sig(Blk|Ign)' /proc/self/status"), /^SigBlk:\s0+\nSigIgn:\s0+$/)
        const [printed, exit] = yield* said(way, sh("trap 'echo heard; exit 6' TERM; kill 0; sleep 1"))
        assert.deepStrictEqual([printed, exit], ["heard\n", { code: 6, signal: null }])
      }).pipe(live))

    it.scopedLive("works: its user, its files, ps, git and a sandbox of its own", () =>
      Effect.gen(function*() {
        const folder = yield* TempDir.make
        assert.strictEqual(yield* out(way, "id -u"), String(process.getuid?.()))
        assert.include(yield* out(way, "ps -o comm= -p $$"), "sh")
        const script = "cd \"$1\" && git init -q . && echo x > file && git add file && "
          + "git -c user.name=n -c user.email=e@x commit -qm first && git log --format=%s"
        assert.deepStrictEqual(yield* said(way, sh(script, folder)), ["first\n", { code: 0, signal: null }])
        assert.strictEqual(readFileSync(join(folder, "file"), "utf8"), "x\n")
        if (bwrapMissing !== undefined) yield* Effect.logInfo(`no sandbox to try: ${bwrapMissing}`)
        else {
          const inner = "bwrap --ro-bind / / --unshare-user --unshare-pid --proc /proc --dev /dev sh -c 'echo $$'"
          assert.strictEqual(yield* out(way, inner), "2")
        }
      }).pipe(live))

    it.scopedLive("may hold a host that seals its own", () =>
      Effect.gen(function*() {
        const mark = yield* makeMark
        const input: Input = {
          mode: "report",
          script: "echo ready; sleep $1",
          args: [seconds(mark)],
          seal: way.seal,
          path: way.path
        }
        const file = join(yield* TempDir.make, "input.json")
        writeFileSync(file, JSON.stringify(input))
        const program = fileURLToPath(new URL("./hostProgram.ts", import.meta.url))
        const root = fileURLToPath(new URL("../..", import.meta.url))
        const command = Command.make(process.execPath, "--import", "tsx", program, file).pipe(
          Command.workingDirectory(root)
        )
        const [printed, exit] = yield* said(way, command)
        assert.deepStrictEqual(exit, { code: 0, signal: null }, printed)
        const line = /^report (.*)$/m.exec(printed)?.[1] ?? "{}"
        const report: Teardown.TeardownReport = JSON.parse(line)
        assert.strictEqual(report.verified, "empty")
        assert.include(report.layers, way.seal)
        yield* expectGone(mark)
      }).pipe(live))

    if (way.seal === "cgroup") {
      it.scopedLive("leaves no cgroup, also of those that it made itself", () =>
        Effect.gen(function*() {
          const own = cgroup.directoryOf(identity.host) ?? ""
          const tree = yield* start(way, sh("echo ready; read forever"))
          yield* Stream.runHead(tree.stdout)
          const [name = ""] = readdirSync(own).filter((entry) => entry.startsWith(identity.host))
          mkdirSync(join(own, name, "a", "b"), { recursive: true })
          expectEmpty(yield* tree.teardown)
          yield* waitUntil("it is gone", Effect.sync(() => !existsSync(own)))
        }).pipe(live))
    }
  })
}

describe("a host that is killed with its guard", () => {
  for (const way of ways) {
    if (way.missing !== undefined || adversary.missing !== undefined) continue
    it.scopedLive(`leaves its trees, sealed by ${way.name}, to the next one`, () =>
      Effect.gen(function*() {
        const mark = yield* makeMark
        const started = yield* host(mark, way)
        yield* started.says("ready")
        yield* theGhost(mark)
        const directory = cgroupOf(started.pid)
        assert.strictEqual(existsSync(directory), way.seal === "cgroup")
        const [guard] = (yield* aliveWith("guardMain.js")).filter(({ parent }) => parent === started.pid)
        if (guard === undefined) return assert.fail("no guard")
        process.kill(guard.pid, "SIGSTOP")
        for (const pid of [started.pid, guard.pid]) process.kill(pid, "SIGKILL")
        yield* started.exit
        yield* waitUntil("the end of the guard", Effect.negate(isAlive(guard)))
        yield* theGhost(mark)
        const reports = yield* Containment.sweepStale
        const report = reports.find(({ pid }) => pid === started.pid)
        assert.strictEqual(report?.verified, "empty")
        yield* expectGone(mark)
        yield* waitUntil("its cgroup is gone", Effect.sync(() => !existsSync(directory)))
      }).pipe(Effect.provide(NodeProcessTree.layerWith({ sweepStale: false }))))
  }
})

describe("a seal", () => {
  const unsealed: Way = { name: "none", seal: "namespace", path: only(), missing: undefined }

  const broken = (tools: Readonly<Record<string, string>>): string => {
    const directory = only("setsid")
    for (const [tool, script] of Object.entries(tools)) {
      writeFileSync(join(directory, tool), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    }
    return directory
  }

  const refusal = (path: string) =>
    Effect.scoped(start({ ...unsealed, path }, Command.make("touch", join(state, "started")))).pipe(
      Effect.flip,
      Effect.tap((error) =>
        Effect.sync(() => {
          assert.strictEqual(error._tag, "ContainmentUnavailable", error.message)
          assert.isFalse(existsSync(join(state, "started")), "nothing is started")
        })
      ),
      Effect.map((error) => error._tag === "ContainmentUnavailable" ? [error.layer, error.why] : [])
    )

  it.scopedLive("that this machine does not have is refused, with what was tried", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* refusal(only()), ["namespace", "bwrap: not installed; unshare: not installed"])
      const failing = { bwrap: "echo 'bwrap: no rights' >&2; exit 1", unshare: "exit 3" }
      assert.deepStrictEqual(yield* refusal(broken(failing)), ["namespace", "bwrap: no rights; unshare: ended with 3"])
    }).pipe(live))

  it.scopedLive("that does not seal, or does not answer, is none", () =>
    Effect.gen(function*() {
      const open = { bwrap: "while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"", unshare: "exec sleep 100" }
      const [, why] = yield* refusal(broken(open))
      assert.strictEqual(why, "bwrap: what it starts is not sealed; unshare: did not answer within 5000 ms")
    }).pipe(live))

  it.scopedLive("may be whatever there is, which the report tells", () =>
    Effect.gen(function*() {
      const layersBy = (path: string) =>
        Effect.scoped(Effect.gen(function*() {
          yield* searching(path)
          const tree = yield* ProcessTree.start(Command.make("/bin/true"), { seal: "auto" })
          return (yield* tree.teardown).layers.filter((layer) => layer === "namespace" || layer === "cgroup")
        }))
      const missing = ways.map((way) => way.missing)
      const [bwrap, unshare] = ways
      const without = missing[2] === undefined ? ["cgroup"] : []
      assert.deepStrictEqual(yield* layersBy(only()), without)
      assert.deepStrictEqual(yield* layersBy(bwrap?.path ?? ""), missing[0] === undefined ? ["namespace"] : without)
      assert.deepStrictEqual(yield* layersBy(unshare?.path ?? ""), missing[1] === undefined ? ["namespace"] : without)
    }).pipe(live))

  it.scopedLive("is found out by a probe, which says what was tried", () =>
    Effect.gen(function*() {
      for (const way of ways) {
        yield* searching(way.path)
        const { layers } = yield* Containment.probe
        const found = layers.find(({ layer }) => layer === way.seal)
        assert.strictEqual(found?.available, way.missing === undefined, found?.why)
        assert.strictEqual(found?.why === "", way.missing === undefined)
      }
      yield* searching(only())
      const { layers } = yield* Containment.probe
      const without = layers.find(({ layer }) => layer === "namespace")
      assert.strictEqual(without?.why, "bwrap: not installed; unshare: not installed")
    }).pipe(live))

  it.scopedLive("can be the default of a layer, and a tree can do without", () =>
    Effect.gen(function*() {
      yield* searching(only())
      const refused = yield* Effect.flip(Effect.scoped(ProcessTree.start(Command.make("/bin/true"))))
      assert.strictEqual(refused._tag, "ContainmentUnavailable")
      const exit = yield* Effect.scoped(
        Effect.flatMap(ProcessTree.start(Command.make("/bin/true"), { seal: "none" }), (tree) => tree.exit)
      )
      assert.strictEqual(exit.code, 0)
    }).pipe(Effect.provide(NodeProcessTree.layerWith({ seal: "namespace" }))))

  if (adversary.missing === undefined) {
    it.scopedLive("is what it takes: without one, who hides on purpose goes on, and is not named", () =>
      Effect.gen(function*() {
        const mark = yield* makeMark
        const { hidden, report } = yield* Effect.scoped(Effect.gen(function*() {
          const tree = yield* ProcessTree.start(withGhost(mark), { teardown: brief })
          yield* waitForSleepers(mark, 1)
          return { hidden: yield* theGhost(mark), report: yield* tree.teardown }
        }))
        assert.deepStrictEqual(report.layers.filter((layer) => layer === "namespace" || layer === "cgroup"), [])
        assert.deepStrictEqual(report.survivors, [])
        assert.deepStrictEqual((yield* aliveWith(mark)).map(({ pid }) => pid), [hidden.pid])
      }).pipe(live))
  }
})

describe("the cgroup of a host", () => {
  const mounts = (root: string, point: string) =>
    `23 1 0:5 / /proc rw - proc proc rw\n38 31 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
41 31 0:38 ${root} ${point} rw,relatime shared:9 - cgroup2 cgroup2 rw\n`

  it("is found where the second version is mounted", () => {
    const place = (root: string, own: string) => cgroup.placeOf(mounts(root, "/sys/fs/cgroup/unified"), own)
    assert.strictEqual(place("/", "8:pids:/other\n0::/\n"), "/sys/fs/cgroup/unified")
    assert.strictEqual(place("/", "0::/user.slice/a b"), "/sys/fs/cgroup/unified/user.slice/a b")
    assert.strictEqual(place("/box", "0::/box/inner"), "/sys/fs/cgroup/unified/inner")
    assert.strictEqual(place("/box", "0::/box"), "/sys/fs/cgroup/unified")
    assert.strictEqual(cgroup.placeOf(mounts("/", "/mnt/a\\040b"), "0::/x"), "/mnt/a b/x")
  })

  it("is nowhere when it is outside of what is mounted, or there is none", () => {
    assert.isUndefined(cgroup.placeOf(mounts("/box", "/x"), "0::/boxes"))
    assert.isUndefined(cgroup.placeOf(mounts("/", "/x"), "0::/../other"))
    assert.isUndefined(cgroup.placeOf(mounts("/", "/x"), "8:pids:/other"))
    assert.isUndefined(cgroup.placeOf("23 1 0:5 / /proc rw - proc proc rw", "0::/"))
  })

  it("that cannot be joined keeps the program from being started", () => {
    const { status, stderr, stdout } = spawnSync("/bin/sh", [
      "-c",
      `${cgroup.joining} exec "$@"`,
      "sh",
      "/nowhere",
      "echo",
      "started"
    ], { encoding: "utf8" })
    assert.strictEqual(status, 125)
    assert.strictEqual(stdout, "")
    assert.include(stderr, "/nowhere/cgroup.procs")
  })
})
