/**
 * Those who must not be harmed: they look like members of a run, and are none. They are born while one lives, by the same
 * command line, in the same directory, of the same user, some of another host, and carry marks that are nearly its own.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { type Seen, seenAt, waitUntil } from "../utils/Processes.js"
import * as Host from "./host.js"

/** The marks of a run, as its leader carries them. */
const marksOf = (pid: number) => {
  const environment = readFileSync(`/proc/${pid}/environ`, "latin1")
  const limits = readFileSync(`/proc/${pid}/limits`, "latin1")
  return {
    id: /EFFECT_AGENTS_TREE=(\w+)/.exec(environment)?.[1] ?? "",
    limit: BigInt(/^Max file locks\s+\S+\s+(\d+)/m.exec(limits)?.[1] ?? 0)
  }
}

/** The values that only the trees of its host have are these bits and any below. */
const bitsOfHost = 40n

const other = (digit: string): string => digit === "0" ? "1" : "0"

const nearly = (pid: number): ReadonlyArray<{ readonly id?: string; readonly limit?: bigint }> => {
  const { id, limit } = marksOf(pid)
  const first = (limit >> bitsOfHost) << bitsOfHost
  const canSet = limit > 0n &&
    /^Max file locks\s+unlimited\s+unlimited/m.test(readFileSync("/proc/self/limits", "latin1"))
  return [
    {},
    { id: other(id.charAt(0)) + id.slice(1) },
    { id: id.slice(0, 23) },
    { id: id.slice(1) },
    ...(!canSet ? [] : [{ limit: first - 1n }, { limit: first + (1n << bitsOfHost) }, { limit: 1n }])
  ]
}

const script = "if [ -n \"$1\" ]; then ulimit -w \"$1\" 2>/dev/null || ulimit -x \"$1\" || exit; fi; exec sleep 1800"

const born = (pids: ReadonlyArray<number>) =>
  waitUntil(
    "the look-alikes",
    Effect.sync(() => pids.every((pid) => seenAt(pid)?.command === "sleep 1800")),
    { deadline: "30 seconds" }
  ).pipe(Effect.map(() => pids.flatMap((pid) => seenAt(pid) ?? [])))

/** So many of them, beside the run of this leader. Each is killed at the end of the scope. */
export const make = (
  count: number,
  leader: number,
  user: number | undefined
): Effect.Effect<ReadonlyArray<Seen>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const marks = nearly(leader)
      return Array.from({ length: count }, (_, index) => {
        const { id, limit } = marks[index % marks.length] ?? {}
        return spawn("sh", ["-c", script, "sh", limit === undefined ? "" : String(limit)], {
          cwd: "/",
          // Sessions of their own, or all in one.
          detached: index % 2 === 0,
          stdio: "ignore",
          env: { PATH: process.env.PATH ?? "/usr/bin:/bin", ...(id === undefined ? {} : { EFFECT_AGENTS_TREE: id }) },
          ...Host.as(user)
        })
      })
    }),
    (children) => Effect.sync(() => children.forEach((child) => child.kill("SIGKILL")))
  ).pipe(Effect.flatMap((children) => born(children.map(({ pid }) => pid ?? 0))))

const lastPid = "/proc/sys/kernel/ns_last_pid"

/** Whether somebody can be given a number here. */
export const canChooseNumbers = (): boolean => {
  try {
    writeFileSync(lastPid, readFileSync(lastPid, "latin1"))
    return true
  } catch {
    return false
  }
}

/**
 * Somebody who is given the number of one who has gone, and with it the number of his group and session. It is free once
 * nobody is in those any more.
 */
export const withNumber = (pid: number, user: number | undefined): Effect.Effect<Seen, never, Scope.Scope> => {
  let child: ChildProcess | undefined
  const attempt = (): boolean => {
    writeFileSync(lastPid, String(pid - 1))
    child = spawn("sleep", ["1800"], { cwd: "/", detached: true, stdio: "ignore", ...Host.as(user) })
    if (child.pid !== pid) child.kill("SIGKILL")
    return child.pid === pid
  }
  return Effect.acquireRelease(
    waitUntil(`the number ${pid}`, Effect.sync(attempt)),
    () => Effect.sync(() => void child?.kill("SIGKILL"))
  ).pipe(
    Effect.zipRight(born([pid])),
    Effect.flatMap(([seen]) => seen === undefined ? Effect.dieMessage("it has ended") : Effect.succeed(seen))
  )
}

/** Those of them who live no more. */
export const harmed = (seen: ReadonlyArray<Seen>): ReadonlyArray<Seen> =>
  seen.filter(({ pid, startTime }) => {
    const current = seenAt(pid)
    return current === undefined || current.dead || current.startTime !== startTime
  })
