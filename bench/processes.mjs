/** Who lives, as the process table shows it from outside (Linux). Zombies are dead. */
import { readdirSync, readFileSync } from "node:fs"

const read = (pid, name) => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1")
  } catch {
    return "" // ended meanwhile
  }
}

const fields = (pid) => {
  const stat = read(pid, "stat")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

const pids = () => readdirSync("/proc").map(Number).filter((pid) => pid > 1 && pid !== process.pid)

/** Those in whose arguments a mark stands. */
export const alive = (mark) =>
  pids().filter((pid) => read(pid, "cmdline").includes(mark)).map((pid) => ({ pid, startTime: fields(pid)[19] }))

/** Those in a group. */
export const inGroup = (group) =>
  pids().filter((pid) => {
    const [state, , of] = fields(pid)
    return Number(of) === group && state !== "Z" && state !== "X"
  })

/** Kills those that are still the same. */
export const kill = (processes) => {
  for (const { pid, startTime } of processes) {
    if (startTime === undefined || fields(pid)[19] !== startTime) continue
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // ended meanwhile
    }
  }
}

/** The children of this process that live, with what they were started as. */
export const children = () =>
  pids().flatMap((pid) => {
    const [state, parent] = fields(pid)
    return Number(parent) === process.pid && state !== "Z" ? [{ pid, command: read(pid, "cmdline") }] : []
  })

/** Bytes that a process has in memory of its own. */
export const memory = (pid) => Number(/RssAnon:\s*(\d+)/.exec(read(pid, "status"))?.[1] ?? 0) * 1024
