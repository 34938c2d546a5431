/**
 * From the interrupt to the death of everybody, by role, as seen from outside: each role holds a fifo, whose end is
 * read in another process than the one that interrupts.
 */
import { spawn, spawnSync } from "node:child_process"
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { program } from "./feed.mjs"
import { cpu, now, sleep } from "./measure.mjs"
import { load } from "./ours.mjs"
import * as processes from "./processes.mjs"

/** How long whoever has a grace gives it, how long anybody is waited for, and how long one arm is repeated. */
const grace = 1000
const windowOf = ({ stubborn }) => stubborn ? 5000 : 3000
const patience = 1000

export const title = "teardown"
export const baseline = "kill(-pgid)"
export const metrics = { returned: "ms", leader: "ms", group: "ms", sessions: "ms", survivors: "count", cpu: "ms" }
export const rounds = 3

const tree = (name, group, sessions, stubborn = 0) => ({ name, group, sessions, stubborn })
const group = (count, note = "") =>
  tree(`${count.toLocaleString("en")} in the group of a polite leader${note}`, count, 0)

export const cases = (quick) => [
  ...(quick ? [2] : [1, 2, 10, 100, 1000]).map((count) => group(count)),
  ...(quick ? [10] : [10, 1000]).map((count) =>
    tree(`${count.toLocaleString("en")} in sessions of their own, a polite leader`, 0, count)
  ),
  ...(quick ? [] : [tree("5 in the group and 5 in sessions of their own, a stubborn leader", 5, 5, 1)])
]

let compiled

/** The tree that the leader grows, in a directory of the run. */
export const compile = (directory) => {
  const file = join(directory, "tree")
  compiled ??= spawnSync("cc", ["-O1", "-o", file, new URL("tree.c", import.meta.url).pathname])
  return compiled.status === 0 ? file : undefined
}

/** Why an arm is not for a case. */
export const unfit = (_, { directory }) =>
  process.platform !== "linux"
    ? "reads /proc"
    : compile(directory) === undefined && "needs a C compiler"

/** A fifo of a role: when it was said to by so many, and when the last of them was dead. */
const watch = (directory, role, count) => {
  const path = join(directory, role)
  spawnSync("mkfifo", [path])
  const reader = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false })
  const writer = openSync(path, constants.O_WRONLY)
  let there = 0
  const ready = new Promise((resolve) => {
    reader.on("data", ({ length }) => (there += length) >= count && resolve(closeSync(writer)))
  })
  const dead = new Promise((resolve) => reader.once("end", () => resolve(now())))
  return { role, ready, dead, close: () => reader.destroy() }
}

/** Several times in one process: the first time, in which it loads and learns, counts only when it is the only one. */
export const observe = async (host, given) => {
  const { group, sessions, stubborn } = given
  const window = windowOf(given)
  const results = []
  await host.next()
  for (const end = now() + patience; results.length < 6 && (results.length === 0 || now() < end);) {
    const directory = mkdtempSync(join(given.directory, "tree-"))
    const words = [compile(given.directory), directory, directory, group, sessions, stubborn, "-"]
    program(given.directory, "leader", `exec ${words.join(" ")}`)
    const roles = [["leader", 1], ["group", group], ["sessions", sessions]].flatMap(([role, count]) =>
      count > 0 ? [watch(directory, role, count)] : []
    )
    host.send("start")
    await host.next(20_000, Promise.all(roles.map(({ ready }) => ready)))
    host.send("end")
    const late = { began: now(), ended: Infinity, cpu: NaN }
    const { began, cpu, ended } = await host.next(60_000, sleep(window + 1000).then(() => late))
    // What a peer does after it has returned is waited for, too.
    const deadline = Math.min(began + window, ended + (stubborn ? window : 300))
    const alive = sleep(Math.max(0, deadline - now())).then(() => undefined)
    const result = { returned: ended - began, cpu, notes: [] }
    if (!(result.returned <= window)) {
      result.returned = NaN
      result.notes.push(`has not returned after ${window / 1000} s`)
    }
    for (const { close, dead, role } of roles) {
      result[role] = (await Promise.race([dead, alive]) ?? NaN) - began
      close()
    }
    const left = processes.alive(directory)
    result.survivors = left.length
    if (left.length > 0) result.notes.push("leaves survivors")
    for (let some = left; some.length > 0; some = processes.alive(directory)) processes.kill(some)
    rmSync(directory, { recursive: true })
    results.push(result)
    if (ended === Infinity) break
    host.send("next")
  }
  return results.length > 1 ? results.slice(1) : results
}

const said = () => new Promise((resolve) => process.once("message", resolve))

/** What is prepared gets the program of a leader, starts it, and gives how to end it. */
const arm = (prepare) => async ({ directory }) => {
  const begin = await prepare()
  const serve = async () => {
    for (;;) {
      await said()
      const told = said()
      const end = await begin(join(directory, "leader"))
      await told
      const used = cpu()
      const began = now()
      const own = await end()
      const next = said()
      process.send({ result: own?.began ? own : { began, ended: now(), cpu: cpu() - used } })
      await next
    }
  }
  void serve()
  return "ready"
}

const gone = (child) => new Promise((resolve) => child.once("exit", resolve))

const detached = async () => async (program) => {
  const child = spawn(program, { detached: true, stdio: "ignore" })
  return async () => {
    const exit = gone(child)
    process.kill(-child.pid, "SIGTERM")
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), grace)
    await exit
    clearTimeout(timer)
  }
}

/** The floor of one that knows that the group is empty: a look at the process table before, and looks after. */
const verified = async () => async (program) => {
  const child = spawn(program, { detached: true, stdio: "ignore" })
  return async () => {
    const exit = gone(child)
    if (processes.inGroup(child.pid).length > 0) process.kill(-child.pid, "SIGKILL")
    await exit
    while (processes.inGroup(child.pid).length > 0) await sleep(1)
  }
}

/** The floor: nobody is looked for, and the kernel does the rest. */
const known = async () => async (program) => {
  const child = spawn(program, { detached: true, stdio: "ignore" })
  return async () => {
    const exit = gone(child)
    const some = processes.alive(program.replace(/leader$/, "tree-"))
    const began = now()
    for (const { pid } of some) process.kill(pid, "SIGKILL")
    await exit
    return { began, ended: now() }
  }
}

const ours = (options) => async () => {
  const { Command, Effect, Exit, Layer, ProcessTree, Scope, Teardown, layer } = await load("Codex", options)
  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(layer({}), scope))
  return async (program) => {
    const scope = Effect.runSync(Scope.make())
    await ProcessTree.start(Command.make(program), {
      teardown: Teardown.graceful(`${grace} millis`),
      stdin: "ignore"
    }).pipe(Scope.extend(scope), Effect.provide(context), Effect.runPromise)
    return () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** A run of an agent, interrupted: as its own policy does, this one turns to the leader first. */
const run = async () => {
  const { Agent, Effect, Fiber, Stream, Teardown, layer, request } = await load("Codex")
  const teardown = Teardown.make(
    ["leader", "tree"].map((to) => ({ signal: "SIGTERM", to, wait: `${grace / 2} millis` }))
  )
  return async (program) => {
    const fiber = Agent.stream(request).pipe(
      Stream.runDrain,
      Effect.provide(layer({ program, teardown })),
      Effect.runFork
    )
    return () => Effect.runPromise(Fiber.interrupt(fiber))
  }
}

const command = async () => {
  const [Command, NodeContext, Effect, Exit, Scope] = await Promise.all([
    import("@effect/platform/Command"),
    import("@effect/platform-node/NodeContext"),
    ...["Effect", "Exit", "Scope"].map((name) => import(`effect/${name}`))
  ])
  return async (program) => {
    const scope = Effect.runSync(Scope.make())
    await Command.start(Command.make(program)).pipe(
      Scope.extend(scope),
      Effect.provide(NodeContext.layer),
      Effect.runPromise
    )
    return () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const peer = (name) => async () => (await import("./peers/ends.mjs"))[name](grace)

export const arms = Object.fromEntries(
  Object.entries({
    [baseline]: detached,
    "kill(-pgid) between two looks": verified,
    "every process, known beforehand": known,
    ours: ours({}),
    "ours: sealed": ours({ seal: "namespace" }),
    "ours: a run of Codex": run,
    "tree-kill": peer("treeKill"),
    "execa 9": peer("execa"),
    "execa 10": peer("execa10"),
    "Command of Effect 3": command,
    "ChildProcess of Effect 4": peer("effect4"),
    "codex-sdk": peer("codex"),
    "claude-agent-sdk": peer("claude"),
    acpx: peer("acpx"),
    "agent-abstraction": peer("crate")
  }).map(([name, prepare]) => [name, arm(prepare)])
)
