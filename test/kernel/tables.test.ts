/**
 * Recorded process tables, and what is made of them.
 */
import * as Command from "@effect/platform/Command"
import { assert, describe, it } from "@effect/vitest"
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import { kill, makeAccount } from "../../src/internal/kernel/kill.js"
import { linux, parsePs, parseStat, posix } from "../../src/internal/kernel/processTable.js"
import type { ProcessTable, Row } from "../../src/internal/kernel/processTable.js"
import * as posixPlatform from "../../src/internal/kernel/posix.js"
import * as tracker from "../../src/internal/kernel/tracker.js"
import * as trees from "../../src/internal/kernel/tree.js"
import * as windows from "../../src/internal/kernel/windows.js"
import { aliveWith, makeMark, waitForSleepers, waitUntil } from "../utils/Processes.js"
import { brief, seconds, sh } from "./support.js"

const stat = (name: string, state: string, threads = 1) =>
  `4242 (${name}) ${state} 1 4240 4200 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 ${threads} 0 987654 1000000 200 18446744073709551615\n`

describe("a line of /proc", () => {
  const names = ["sleep", "two words", "(sd-pam)", "a) Z 1 (b", "((((", "))))", "line\nbreak", "", "ünï©ode"]
  for (const name of names) {
    it(`is read whatever the name is: ${JSON.stringify(name)}`, () => {
      assert.deepStrictEqual(parseStat(4242, stat(name, "S")), {
        pid: 4242,
        parent: 1,
        group: 4240,
        session: 4200,
        startTime: 987654,
        state: "S",
        command: name,
        dead: false,
        ticks: 3,
        childTicks: 0,
        pages: 200
      })
    })
  }

  it("tells who is dead: a zombie is, unless other threads of it live", () => {
    const dead = ["R", "S", "D", "T", "t", "I", "Z", "X"].filter((state) => parseStat(1, stat("a", state))?.dead)
    assert.deepStrictEqual(dead, ["Z", "X"])
    assert.isFalse(parseStat(1, stat("a", "Z", 3))?.dead)
  })

  it("that is cut or empty is nobody", () => {
    for (const text of ["", "4242", "4242 (sleep", "4242 (sleep) S 1 2 3"]) assert.isUndefined(parseStat(4242, text))
  })

  it.live("of this very machine: the own process, its parent, and nobody for a pid that is free", () =>
    Effect.sync(() => {
      const table = linux()
      const own = table.row(process.pid)
      assert.strictEqual(own?.parent, process.ppid)
      assert.isTrue(own !== undefined && table.lives(own))
      assert.isFalse(
        own === undefined || table.lives({ ...own, startTime: own.startTime + 1 }),
        "another of its number"
      )
      const pids = [...table.rows(() => false) ?? []].map(({ pid }) => pid)
      // Others of this machine come and go: those that came meanwhile are at the end.
      const here = [1, process.ppid, process.pid]
      assert.deepStrictEqual(pids.filter((pid) => here.includes(pid)), here.sort((a, b) => b - a), "newest first")
      assert.isTrue(table.complete())
    }))
})

// As macOS and FreeBSD print it.
const macos = `    1     0     1 Ss   Mon Oct  5 08:00:01 2026     /sbin/launchd
  501     1   501 S    Mon Oct  5 09:10:11 2026     /Applications/Some App.app/Contents/MacOS/Some App
  777   501   777 S+   Mon Oct  5 09:10:12 2026     -zsh
  780   777   780 R+   Tue Oct 13 19:10:13 2026     node
  781   780   780 Z    Tue Oct 13 19:10:14 2026     <defunct>
  782   780   780 T    Tue Oct 13 19:10:15 2026     /bin/sh
  783   780   780 U    Tue Oct 13 19:10:15 2026     (find)
not a line of the table
`

describe("the output of ps", () => {
  it("is read: paths with spaces, states with flags, the dead", () => {
    const rows = parsePs(macos)
    assert.deepStrictEqual(rows.map(({ command }) => command), [
      "launchd",
      "Some App",
      "-zsh",
      "node",
      "<defunct>",
      "sh",
      "(find)"
    ])
    assert.deepStrictEqual(rows.map(({ state }) => state).join(""), "SSSRZTU")
    assert.deepStrictEqual(rows.filter(({ dead }) => dead).map(({ pid }) => pid), [781])
    assert.deepStrictEqual(rows[3], {
      pid: 780,
      parent: 777,
      group: 780,
      session: 780,
      startTime: Date.UTC(2026, 9, 13, 19, 10, 13),
      state: "R",
      command: "node",
      dead: false,
      ticks: 0,
      childTicks: 0,
      pages: 0
    })
  })

  it("is asked for once a look, and the environments only when somebody is unknown", () => {
    const asked: Array<string> = []
    const table = posix((args) => {
      asked.push(args.join(" "))
      return args.includes("-E") ? "  780 node EFFECT_AGENTS_TREE=abc123 HOME=/\n  782 /bin/sh -c x\n" : macos
    })
    const rows = [...table.rows((pid) => pid === 1) ?? []]
    assert.deepStrictEqual(rows.map(({ pid }) => pid), [783, 782, 781, 780, 777, 501])
    assert.strictEqual(asked.length, 1)
    const evidence = rows.map((row) => table.markOf(row, { id: "abc123", rlimit: undefined }))
    assert.deepStrictEqual(evidence.map(({ by }) => by), [
      undefined,
      undefined,
      undefined,
      "environment",
      undefined,
      undefined
    ])
    assert.isTrue(evidence.every(({ certain }) => !certain), "what is not shown may yet be there")
    assert.strictEqual(asked.length, 2)
  })

  it("that fails is no table", () => {
    assert.isUndefined(posix(() => undefined).rows(() => false))
    assert.isUndefined(posix(() => undefined).row(1))
  })
})

const row = (pid: number, fields: Partial<Row> = {}): Row => ({
  pid,
  parent: 1,
  group: pid,
  session: pid,
  startTime: 1000,
  state: "S",
  command: "test",
  dead: false,
  ticks: 0,
  childTicks: 0,
  pages: 0,
  ...fields
})

/** No pid of these is anybody's: a signal would say so. */
const far = 1_000_000_000

describe("a tracker", () => {
  const leader = row(far)
  const host = row(far - 1, { startTime: 1 })

  const track = (rlimit: boolean) => {
    let rows: ReadonlyArray<Row> | undefined = [leader, host]
    let complete = true
    let still = true
    let at = 1000
    const inodes = new Map<number, number>()
    const noted = new Map<number, number>()
    let read: ReadonlyArray<number> = []
    function* each(all: ReadonlyArray<Row>, skip: (pid: number) => boolean) {
      read = []
      for (const one of [...all].sort((a, b) => b.pid - a.pid)) {
        if (skip(one.pid)) continue
        read = [...read, one.pid]
        yield one
      }
    }
    const table: ProcessTable = {
      rows: (skip) => rows === undefined ? undefined : each(rows, skip),
      settled: () => true,
      still: () => still,
      complete: () => complete,
      row: (pid) => rows?.find((each) => each.pid === pid),
      lives: (each) => rows?.some((other) => other.pid === each.pid && other.startTime === each.startTime) === true,
      markOf: ({ command }) => ({
        by: command === "marked" ? "rlimit" : undefined,
        certain: command !== "hidden",
        sibling: command === "sibling"
      }),
      numbersOf: () => [],
      inodeOf: (pid) => inodes.get(pid),
      remember: (_, inode) => noted.set(inode, at),
      wasThere: (_, inode, before) => (noted.get(inode) ?? before) < before,
      pidReuseMs: 0
    }
    const value = rlimit ? { value: "7", from: 7n, to: 7n } : undefined
    const tracked = tracker.make({ table, leader, host, mark: { id: "x", rlimit: value }, before: 1000, now: () => at })
    return {
      tracked,
      inodes,
      noted,
      /** Whose rows the last look has read. */
      read: () => read,
      pids: () => tracked.look().map(({ row: { pid } }) => pid).sort(),
      set: (
        next: ReadonlyArray<Row> | undefined,
        options?: { readonly complete?: boolean; readonly still?: boolean; readonly after?: number }
      ) => {
        rows = next
        complete = options?.complete ?? true
        still = options?.still ?? true
        at += options?.after ?? 1
      }
    }
  }

  it("follows parents in any order, groups and sessions, and nobody who was there before the leader", () => {
    const { pids, set } = track(true)
    set([
      leader,
      host,
      row(far + 1, { parent: far + 2 }),
      row(far + 2, { parent: far + 3 }),
      row(far + 3, { parent: far }),
      row(far + 4, { group: far + 3 }),
      row(far + 5, { session: far }),
      row(far + 6, { parent: far - 1 }),
      row(far + 7, { parent: far, startTime: 999 }),
      row(far + 8, { parent: far, dead: true, state: "Z" })
    ])
    assert.deepStrictEqual(pids(), [far, far + 1, far + 2, far + 3, far + 4, far + 5])
  })

  for (const rlimit of [true, false]) {
    it(`does not take a later process with the leader's number for one of its own (mark: ${rlimit})`, () => {
      const { pids, set, tracked } = track(rlimit)
      assert.deepStrictEqual(pids(), [far])
      set([host])
      tracked.leaderEnded()
      const reused = row(far, { startTime: 5000 })
      set([host, reused, row(far + 1, { parent: far, group: far, session: far, startTime: 5001 })], { after: 60_000 })
      assert.deepStrictEqual(pids(), [])
    })

    it(`keeps the group of a leader that has ended while somebody is in it (mark: ${rlimit})`, () => {
      const { pids, set, tracked } = track(rlimit)
      const child = row(far + 1, { group: far, session: far })
      set([host, leader, child])
      assert.deepStrictEqual(pids(), [far, far + 1])
      set([host, child])
      tracked.leaderEnded()
      set([host, child, row(far + 2, { group: far, session: far, startTime: 6000 })], { after: 60_000 })
      assert.deepStrictEqual(pids(), [far + 1, far + 2])
    })
  }

  it("sees the group of a leader that ended before anybody looked, while its number is fresh", () => {
    const { pids, set, tracked } = track(false)
    set([host, row(far + 1, { group: far, session: far })])
    tracked.leaderEnded()
    set([host, row(far + 1, { group: far, session: far })], { after: 60_000 })
    assert.deepStrictEqual(pids(), [far + 1])
  })

  it("is blind when the table cannot be read, or not all of it", () => {
    const { pids, set, tracked } = track(true)
    assert.deepStrictEqual(pids(), [far])
    assert.isFalse(tracked.blind())
    set(undefined)
    assert.deepStrictEqual(pids(), [far], "who was there may still be")
    assert.isTrue(tracked.blind())
    set([host], { complete: false })
    assert.deepStrictEqual(pids(), [])
    assert.isTrue(tracked.blind())
    set([host])
    assert.deepStrictEqual(pids(), [])
    assert.isFalse(tracked.blind())
  })

  it("does not read those again whose inodes say that they are still strangers, and knows who came in their place", () => {
    const { inodes, noted, pids, read, set } = track(true)
    const older = (pid: number) => row(pid, { startTime: 1 })
    const others = [older(far + 1), older(far + 2), older(far + 3)]
    for (const number of [1, 2, 3]) inodes.set(far + number, number)
    // One was noted before the tree was started, one when it had been.
    noted.set(2, 999).set(3, 1000)
    set([leader, host, ...others])
    assert.deepStrictEqual(pids(), [far])
    assert.deepStrictEqual(read(), [far + 3, far + 1, far])
    set([leader, host, ...others])
    assert.deepStrictEqual(pids(), [far])
    assert.deepStrictEqual(read(), [far])
    // Each is somebody else now: of the tree.
    const ours = others.map(({ pid }) => row(pid, { command: "marked" }))
    for (const { pid } of ours) inodes.set(pid, pid)
    set([leader, host, ...ours])
    assert.deepStrictEqual(pids(), [far, far + 1, far + 2, far + 3])
  })

  it("does not read those again whose marks are of another tree", () => {
    const { inodes, pids, read, set } = track(true)
    const sibling = row(far + 1, { command: "sibling" })
    inodes.set(far + 1, 1)
    set([leader, host, sibling])
    assert.deepStrictEqual(pids(), [far])
    assert.deepStrictEqual(read(), [far + 1, far])
    assert.deepStrictEqual(pids(), [far])
    assert.deepStrictEqual(read(), [far])
    inodes.set(far + 1, 2)
    set([leader, host, row(far + 1, { command: "marked", startTime: 2000 })])
    assert.deepStrictEqual(pids(), [far, far + 1])
  })

  it("is sure of a look only if the machine stood still and nobody hides his marks", () => {
    const { pids, set, tracked } = track(true)
    const still = (...options: Parameters<typeof set>): boolean => {
      set(...options)
      pids()
      return tracked.still()
    }
    const other = row(far + 1)
    assert.isTrue(still([leader, host, other]))
    assert.isFalse(still([leader, host, other], { still: false }))
    assert.isFalse(still([leader, host, other], { complete: false }))
    assert.isFalse(still([leader, host, other, row(far + 2, { command: "hidden" })]))
    assert.isFalse(still(undefined))
    assert.isTrue(still([leader, host, other]))
  })

  it("signals nobody who has become somebody else, nor the host, nor the first process", () => {
    const { set, tracked } = track(true)
    const signal = (each: Row) => tracked.signal({ row: each, by: "parent", seal: false }, "SIGKILL")
    set([leader, host])
    assert.strictEqual(signal({ ...leader, startTime: 1 }), "gone")
    assert.strictEqual(signal(host), "gone")
    for (const pid of [1, 0, -1]) {
      set([row(pid)])
      assert.strictEqual(signal(row(pid)), "gone")
      assert.isFalse(tracked.signalGroup({ row: row(far, { group: pid }), by: "parent", seal: false }, "SIGKILL"))
    }
    assert.isFalse(tracked.signalGroup({ row: row(far, { group: host.group }), by: "parent", seal: false }, "SIGKILL"))
    assert.isFalse(
      tracked.signalGroup({ row: row(far, { session: host.session }), by: "parent", seal: false }, "SIGKILL")
    )
  })
})

const settings = (platform: trees.Settings["platform"]): trees.Settings => ({
  platform,
  teardown: Teardown.graceful("300 millis"),
  seal: "none",
  limits: undefined,
  usage: undefined,
  onReport: () => Effect.void
})

describe("a system without /proc", () => {
  it.scopedLive("ends groups and living parents, and claims nothing of the rest", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const sleepers = (number: number) =>
        Effect.map(aliveWith(seconds(mark, number)), (all) => all.filter(({ command }) => command.startsWith("sleep")))
      const script = "sleep $1 & setsid sh -c 'sleep $0; :' $1 & (setsid sh -c 'sleep $0 & exit' $2 &); wait"
      const platform = settings(posixPlatform.make(false, { guard: false }))
      const report = yield* Effect.scoped(Effect.gen(function*() {
        const tree = yield* trees.start(platform, sh(script, seconds(mark, 1), seconds(mark, 2)))
        yield* waitForSleepers(mark, 3)
        yield* waitUntil(
          "the daemon has no parent in the tree",
          Effect.zipWith(
            sleepers(2),
            tree.members,
            ([daemon], members) => daemon !== undefined && members.every(({ pid }) => pid !== daemon.parent)
          )
        )
        assert.strictEqual((yield* tree.members)[0]?.pid, tree.pid)
        return yield* tree.teardown
      }))
      assert.strictEqual(report.verified, "not-visible")
      assert.deepStrictEqual(report.layers, ["group", "environment"])
      assert.deepStrictEqual(report.survivors, [])
      assert.deepStrictEqual(yield* sleepers(1), [])
      assert.strictEqual((yield* sleepers(2)).length, 1, "the ps of this system shows no environments")
    }))
})

describe("Windows", () => {
  it("has its taskkill where the system is, never where one happens to be", () => {
    assert.strictEqual(windows.taskkill("D:\\Win"), "D:\\Win\\System32\\taskkill.exe")
    assert.strictEqual(windows.taskkill(undefined), "C:\\Windows\\System32\\taskkill.exe")
    assert.deepStrictEqual(windows.taskkillArguments(42), ["/pid", "42", "/T", "/F"])
  })

  // Everything but taskkill and detaching is the same: played here with a leader that one signal ends.
  const played = Effect.sync(() => {
    const ran: Array<readonly [string, ReadonlyArray<string>]> = []
    const platform = windows.make((program, args) => {
      ran.push([program, args])
      process.kill(Number(args[1]), "SIGKILL")
    })
    return { ran, settings: settings({ ...platform, resolve: posixPlatform.make(false, { guard: false }).resolve }) }
  })

  it.scopedLive("asks taskkill for the end of the tree, once, and says that it cannot see it", () =>
    Effect.gen(function*() {
      const mark = yield* makeMark
      const { ran, settings } = yield* played
      const [tree, report] = yield* Effect.scoped(Effect.gen(function*() {
        const tree = yield* trees.start(settings, Command.make("sleep", seconds(mark)))
        yield* tree.signal("SIGTERM", "tree")
        return [tree, yield* tree.teardown] as const
      }))
      assert.deepStrictEqual(ran.map(([, args]) => args), [windows.taskkillArguments(tree.pid)])
      assert.deepStrictEqual(yield* tree.exit, { code: null, signal: "SIGKILL" })
      assert.strictEqual(report.verified, "not-visible")
      assert.deepStrictEqual(report.layers, ["taskkill"])
    }))

  it.scopedLive("asks for nothing once the leader has gone, whose number may be another's", () =>
    Effect.gen(function*() {
      const { ran, settings } = yield* played
      yield* Effect.scoped(
        Effect.flatMap(trees.start(settings, Command.make("true"), { teardown: brief }), (tree) => tree.exit)
      )
      assert.deepStrictEqual(ran, [])
    }))

  it("gives a line to its shell as it is", () => {
    assert.deepStrictEqual(windows.make(() => {}).shellArguments("echo \"a b\""), [
      "/d",
      "/s",
      "/c",
      "\"echo \"a b\"\""
    ])
  })
})

describe("the end of a sweep", () => {
  /** How many looks it takes at a table where nobody is found, and which of them count. */
  const looks = (
    settled: (look: number) => boolean,
    { deadline = Number.POSITIVE_INFINITY, still = Number.POSITIVE_INFINITY } = {}
  ): number => {
    let count = 0
    const tracked: tracker.Tracker = {
      leader: () => ({ row: row(2), by: "leader", seal: false }),
      look: () => {
        count++
        return []
      },
      anyKnownAlive: () => false,
      leaderAlive: () => false,
      leaderEnded: () => {},
      signal: () => "gone",
      signalGroup: () => false,
      pending: () => false,
      killSealed: () => false,
      looks: () => count,
      blind: () => false,
      settled: () => settled(count),
      still: () => settled(count) && count >= still
    }
    const killing = kill(makeAccount(), tracked, tracked.look(), () => count >= deadline)
    while (killing.next().done !== true);
    return count
  }

  it("is six looks at a table that stood still", () => {
    assert.strictEqual(looks(() => true), 6)
    assert.strictEqual(looks((look) => look > 10), 16)
    assert.strictEqual(looks((look) => look % 2 === 0), 12)
  })

  it("is one look that can have missed nobody", () => {
    assert.strictEqual(looks(() => true, { still: 1 }), 1)
    assert.strictEqual(looks(() => true, { still: 3 }), 3)
    assert.strictEqual(looks((look) => look > 10, { still: 5 }), 11)
  })

  it("comes at the deadline, whatever moves", () => assert.strictEqual(looks(() => false, { deadline: 40 }), 40))

  it("does not come for a host that stood still until the deadline, before it has looked", () => {
    assert.strictEqual(looks(() => false, { deadline: 0 }), 26)
    assert.strictEqual(looks((look) => look > 10, { deadline: 0 }), 16)
  })
})
