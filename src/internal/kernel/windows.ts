import * as Either from "effect/Either"
import * as ChildProcess from "node:child_process"
import * as path from "node:path"
import * as ProcessTree from "../../ProcessTree.js"
import * as Teardown from "../../Teardown.js"
import * as identity from "./identity.js"
import type { Platform, Reaper } from "./platform.js"
import * as scratch from "./scratch.js"
import type { Sweep } from "./sweep.js"

/** By absolute path: a search would find whatever lies in the working directory. */
export const taskkill = (systemRoot: string | undefined): string =>
  path.win32.join(systemRoot ?? "C:\\Windows", "System32", "taskkill.exe")

export const taskkillArguments = (pid: number): ReadonlyArray<string> => ["/pid", String(pid), "/T", "/F"]

export const make = (
  run: (program: string, args: ReadonlyArray<string>) => void = (program, args) => {
    ChildProcess.spawnSync(program, args, { stdio: "ignore", windowsHide: true, timeout: 10_000 })
  }
): Platform => ({
  scratch: () => scratch.make(identity.host),
  sweepStale: () => [],
  handedOver: () => [],
  probe: () => ({
    findings: [{ layer: "taskkill", available: true, why: "" }],
    warnings: ["processes cannot be seen on this system: nothing is claimed about what is left"]
  }),
  detached: false,
  measures: false,
  shell: process.env["ComSpec"] ?? "C:\\Windows\\System32\\cmd.exe",
  shellArguments: (line) => ["/d", "/s", "/c", `"${line}"`],
  resolve: (program) => Either.right(program),
  start: (file, args, environment, seal) =>
    seal === "namespace" || seal === "cgroup"
      ? Either.left(new ProcessTree.ContainmentUnavailable({ layer: seal, why: "only Linux has it" }))
      : Either.right({ file, args, environment, watch: (pid) => watch(pid, file, run), discard: () => {} })
})

const watch = (
  pid: number,
  command: string,
  run: (program: string, args: ReadonlyArray<string>) => void
): Reaper => {
  let leaderGone = false
  const kill = () => run(taskkill(process.env["SystemRoot"]), taskkillArguments(pid))
  return {
    pid,
    members: () => [],
    leaderEnded: () => {
      leaderGone = true
    },
    signal: (signal) => {
      if (signal === "SIGKILL" && !leaderGone) kill()
    },
    detach: () => Either.left(new ProcessTree.DetachRefused({ reason: "platform", detail: "only Linux can do it" })),
    end: function*(options): Sweep {
      const began = performance.now()
      // Once the leader is gone its pid may be somebody else's, and taskkill goes by pid.
      if (!leaderGone) kill()
      return new Teardown.TeardownReport({
        pid,
        command: path.win32.basename(command),
        reason: options.reason,
        steps: [],
        killed: [],
        survivors: [],
        verified: "not-visible",
        layers: ["taskkill"],
        notes: [],
        looks: 0,
        outputHeld: options.outputHeld(),
        durationMs: performance.now() - began
      })
    }
  }
}
