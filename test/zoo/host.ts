/**
 * A host as a process of its own, of a user who may do nothing that others may not, born inside a group.
 */
import * as Teardown from "effect-agents/Teardown"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { build } from "esbuild"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { chmodSync, chownSync, copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Adversary from "../utils/Adversary.js"
import type { Group } from "./group.js"
import type { Order, Run } from "./hostProgram.js"

/** What hosts and adversaries are run from: a folder that everybody can read, wherever the repository is. */
export interface Place {
  readonly folder: string
  readonly adversaryMissing: string | undefined
  /** The user of the hosts, unless they are ours. */
  readonly user: number | undefined
}

const nobody = 65534

/** Says that it is there, and stays. */
const stay = "#!/bin/sh\necho $$ >> \"$1\"\nexec sleep 1800\n"

const repository = fileURLToPath(new URL("../..", import.meta.url))

const isRoot = process.getuid?.() === 0

/** What makes a process one of this user. */
export const as = (user: number | undefined): { readonly uid?: number; readonly gid?: number } =>
  user === undefined ? {} : { uid: user, gid: user }

/** Whether root can be somebody else: in a user namespace there may be nobody else. */
const userOf = (): number | undefined =>
  isRoot && spawnSync(process.execPath, ["-e", "0"], { ...as(nobody), cwd: "/" }).status === 0
    ? nobody
    : undefined

export const makePlace: Effect.Effect<Place, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), "effect-agents-zoo-"))
    chmodSync(folder, 0o755)
    await build({
      entryPoints: [
        fileURLToPath(new URL("./hostProgram.ts", import.meta.url)),
        join(repository, "dist/internal/kernel/guardMain.js")
      ],
      entryNames: "[name]",
      outdir: folder,
      bundle: true,
      platform: "node",
      format: "esm",
      // Without the paths of the tests: what is bundled is what was built.
      tsconfig: join(repository, "tsconfig.base.json"),
      logLevel: "error"
    })
    writeFileSync(join(folder, "package.json"), "{\"type\":\"module\"}")
    writeFileSync(join(folder, "stay"), stay, { mode: 0o755 })
    const { missing, program } = Adversary.compile(join(folder, "adversary"))
    if (missing === undefined) {
      copyFileSync(program, `${program}.other`)
      chmodSync(`${program}.other`, 0o4755)
    }
    return { folder, adversaryMissing: missing, user: userOf() }
  }),
  ({ folder }) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** A folder for one trial: home, state and ledger of its host. */
export const makeHome = (user: number | undefined): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const home = mkdtempSync(join(realpathSync(tmpdir()), "effect-agents-zoo-home-"))
      writeFileSync(join(home, "ledger"), "")
      for (const path of [home, join(home, "ledger")]) {
        if (user !== undefined) chownSync(path, user, user)
      }
      // One that becomes another user writes into it too.
      chmodSync(home, 0o755)
      chmodSync(join(home, "ledger"), 0o666)
      return home
    }),
    (home) => Effect.sync(() => rmSync(home, { recursive: true, force: true }))
  )

/** Starts something in the group, from its first moment on: a shell waits for its line until it was put there. */
const spawnIn = (
  group: Group,
  user: number | undefined,
  home: string,
  line: ReadonlyArray<string>
): Effect.Effect<ChildProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("/bin/sh", ["-c", "read -r go; exec \"$@\"", "gate", ...line], {
        cwd: home,
        detached: true,
        stdio: ["pipe", "pipe", "pipe"],
        env: { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: home, XDG_STATE_HOME: join(home, "state") },
        ...as(user)
      })
      child.stdin.on("error", () => {})
      if (child.pid !== undefined) group.join(child.pid)
      child.stdin.write("go\n")
      return child
    }),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  )

export interface Host {
  readonly pid: number
  readonly run: (run: Run) => void
  readonly order: (order: Order) => void
  readonly signal: (signal: NodeJS.Signals) => void
  /** Called with the reports the moment that they are said. */
  readonly onReports: (listener: (reports: ReadonlyArray<Teardown.TeardownReport>) => void) => void
  readonly hasEnded: () => boolean
  readonly printed: () => string
}

const decode = Schema.decodeUnknownSync(Schema.Array(Teardown.TeardownReport))

export const start = (
  place: Place,
  group: Group,
  user: number | undefined,
  home: string
): Effect.Effect<Host, never, Scope.Scope> =>
  Effect.map(spawnIn(group, user, home, [process.execPath, join(place.folder, "hostProgram.js")]), (child) => {
    let printed = ""
    let line = ""
    let listener: (reports: ReadonlyArray<Teardown.TeardownReport>) => void = () => {}
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      printed += text
    })
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (line + text).split("\n")
      line = lines.pop() ?? ""
      for (const each of lines) {
        printed += `${each}\n`
        if (each.startsWith("reports ")) listener(decode(JSON.parse(each.slice(8))))
      }
    })
    const write = (text: string): void => void child.stdin?.write(`${text}\n`)
    return {
      pid: child.pid ?? 0,
      run: (run) => write(JSON.stringify(run)),
      order: write,
      signal: (signal) => void child.kill(signal),
      onReports: (next) => {
        listener = next
      },
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      printed: () => printed
    }
  })

/** A server that runs each line that is written into its door. */
export const serve = (group: Group, user: number | undefined, home: string, door: string) =>
  spawnIn(group, user, home, [
    "sh",
    "-c",
    "mkfifo \"$0\"; while read -r line < \"$0\"; do setsid $line >/dev/null 2>&1 & done",
    door
  ])
