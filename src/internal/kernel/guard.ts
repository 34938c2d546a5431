/**
 * The host's side of the guard: one process for all trees of a host, told before the first of them is started what to
 * look for, and from then on only listening to a pipe that nobody but the host holds.
 */
import { globalValue } from "effect/GlobalValue"
import * as ChildProcess from "node:child_process"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import * as Ledger from "./ledger.js"
import { directoryOf } from "./detached.js"
import { onLines, ready } from "./lines.js"
import * as mark from "./mark.js"
import type { ProcessTable, Row } from "./processTable.js"
import type { Asked } from "./sampler.js"
import * as sampling from "./sampling.js"

/** What the guard has to know: all that the host ever starts as a tree carries this mark, or a part of it. */
export interface Watch {
  readonly id: string
  readonly rlimit: Ledger.Ledger["rlimit"]
  /** Nothing of its trees is older. */
  readonly host: Row
  readonly ledger: string | undefined
  /** The directories of its cgroups and of its temporary files, there or not. */
  readonly cgroup: string | undefined
  readonly scratch: string | undefined
  /** The directory of what hosts have handed over. */
  readonly detached: string | undefined
}

export interface Guard {
  readonly pid: () => number | undefined
  /** What a report should tell of the guard. */
  readonly notes: () => ReadonlyArray<string>
}

export interface Options {
  readonly id: string
  readonly rlimit: Ledger.Ledger["rlimit"]
  readonly host: Row
  readonly table: ProcessTable
  readonly cgroup: string | undefined
  readonly scratch: string
  /** The directory of the ledgers. */
  readonly directory: string | undefined
}

/** A guard that dies is replaced, but not for ever: something here does not want it. */
const startsAtMost = 20

/** What it reads is soon garbage, for which V8 would rather take memory than time. */
const smallHeap = "--max-semi-space-size=1"

const name = "guardMain.js"

/** The sources are run by tools that know TypeScript; the guard has a node of its own, which runs what was built. */
const findProgram = (): string | undefined =>
  [`./${name}`, `../../../dist/internal/kernel/${name}`]
    .map((file) => fileURLToPath(new URL(file, import.meta.url)))
    .find((file) => fs.existsSync(file))

const make = ({ cgroup, directory, host, id, rlimit, scratch, table }: Options): Guard => {
  const program = findProgram()
  const ledger = directory === undefined ? undefined : Ledger.fileOf(directory, id)
  const detached = directory === undefined ? undefined : directoryOf(directory)
  const watch: Watch = { id, rlimit, host, ledger, cgroup, scratch, detached }
  const looks = sampling.get(host)
  let child: ChildProcess.ChildProcess | undefined
  let starts = 0
  let deaths = 0
  let failure = program === undefined ? "its program was not found" : ""

  const keepLedger = (): void => {
    if (ledger === undefined) return
    const guard = child?.pid === undefined ? undefined : table.row(child.pid)
    Ledger.write(ledger, {
      version: 1,
      ...Ledger.place(),
      host: Ledger.identityOf(host),
      guard: guard === undefined ? undefined : Ledger.identityOf(guard),
      id,
      rlimit,
      cgroup,
      scratch
    })
  }

  const launch = (): void => {
    if (program === undefined || starts >= startsAtMost) return
    starts++
    const around = process.env[mark.variable]
    const started = ChildProcess.spawn(process.execPath, [smallHeap, program, JSON.stringify(watch)], {
      // The trees around the host take its guard along; the mark of the host's own trees it must not carry.
      env: { ELECTRON_RUN_AS_NODE: "1", ...(around === undefined ? {} : { [mark.variable]: around }) },
      cwd: "/",
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
      windowsHide: true
    })
    const died = (why: string): void => {
      if (child !== started) return
      child = undefined
      looks.by(undefined)
      deaths++
      failure = why
      launch()
      keepLedger()
    }
    started.once("error", (error) => died(error.message))
    started.once("exit", (code, signal) => died(signal === null ? `with exit code ${code}` : `of ${signal}`))
    started.stdin.on("error", () => {})
    started.stdout.on("error", () => {})
    // Nothing of it keeps the host alive.
    started.unref()
    for (const pipe of [started.stdin, started.stdout]) {
      if ("unref" in pipe && typeof pipe.unref === "function") pipe.unref()
    }
    child = started
    onLines(started.stdout, (line) => {
      if (line !== ready) looks.hear(JSON.parse(line))
      else if (child === started) looks.by((asked: Asked) => void started.stdin.write(`${JSON.stringify(asked)}\n`))
    })
  }

  launch()
  keepLedger()

  return {
    pid: () => child?.pid,
    notes: () =>
      child?.pid !== undefined
        ? deaths === 0 ? [] : [`the guard of this host died (times: ${deaths}, at last ${failure}) and was replaced`]
        : [`no guard (${failure}): had the host been killed, the tree would have stayed until the next host sweeps`]
  }
}

const store = globalValue(Symbol.for("effect-agents/guard"), (): { guard: Guard | undefined } => ({ guard: undefined }))

/** The guard of this thread, started by whoever asks first. */
export const get = (options: Options): Guard => store.guard ??= make(options)
