/** What an arm measures of itself. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"

/** Milliseconds of the processor that this process has used, its children left out. */
export const cpu = () => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

const peak = existsSync("/proc/self/clear_refs")
  ? () => Number(/VmHWM:\s*(\d+)/.exec(readFileSync("/proc/self/status", "latin1"))[1]) * 1024
  : () => process.resourceUsage().maxRSS * 1024

/** Tells by how many bytes the peak of memory has gone beyond what is taken now. */
export const growth = () => {
  globalThis.gc?.()
  const floor = process.memoryUsage.rss()
  if (existsSync("/proc/self/clear_refs")) writeFileSync("/proc/self/clear_refs", "5")
  return () => Math.max(0, peak() - floor)
}

/** Runs it and tells what it took: milliseconds of wall and of processor, and the growth of memory. */
export const measured = async (run) => {
  const grown = growth()
  const used = cpu()
  const began = performance.now()
  const result = await run()
  const wall = performance.now() - began
  return { wall, cpu: cpu() - used, memory: grown(), ...result }
}

/** Milliseconds on a clock that all processes of the machine share. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

export const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
