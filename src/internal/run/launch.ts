/**
 * From a request to a running process tree: plan, look for the program, write the files of the run, start.
 */
import * as Command from "@effect/platform/Command"
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import type * as AgentRequest from "../../AgentRequest.js"
import * as ProcessTree from "../../ProcessTree.js"
import * as environment from "./environment.js"
import { locate } from "./locate.js"

// The ids of conversations must be unique among all hosts: the seed of Effect's own Random has 32 bits.
const makeUuid = Effect.sync(() => globalThis.crypto.randomUUID())

/** What relative paths are relative to. Of a host whose directory was removed, only absolute ones mean anything. */
const baseOf = (host: ProcessTree.Host): string => host.cwd === "" ? "/" : host.cwd

const planning = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  request: AgentDriver.Request,
  host: ProcessTree.Host,
  { dialogue, limits }: Pick<AgentDriver.PlanContext, "dialogue" | "limits">
) {
  const path = yield* Path.Path
  const { session } = request
  if (session._tag !== "New" && session.agent !== undefined && session.agent !== driver.name) {
    return yield* new AgentError.AgentUnsupported({ agent: driver.name, what: `a session of ${session.agent}` })
  }
  if (dialogue !== undefined && driver.protocol.tell === undefined) {
    return yield* new AgentError.AgentUnsupported({
      agent: driver.name,
      what: dialogue.approvals ? "approvals by the caller" : "messages and interrupts while it runs"
    })
  }
  const context: AgentDriver.PlanContext = {
    uuid: yield* makeUuid,
    cwd: path.resolve(baseOf(host), request.cwd ?? "."),
    platform: host.platform,
    dialogue,
    limits
  }
  return { context, plan: yield* driver.plan(request, context) }
})

/** What would be started for a request, without starting anything. */
export const plan = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  request: AgentDriver.Request,
  limits: AgentDriver.PlanContext["limits"]
) {
  const host = yield* Effect.flatMap(ProcessTree.Spawner, (spawner) => spawner.host)
  const dialogue = request.interactive ? { approvals: false, keep: false } : undefined
  return (yield* planning(driver, request, host, { dialogue, limits })).plan
})

/** Which program of which agent, and where it is started. */
export interface Where {
  readonly agent: string
  readonly program: string
  readonly cwd: string
}

/** A directory of the run's own: its files, and the temporary files of all that it starts. */
export const makeDirectory = Effect.fnUntraced(function*(
  files: AgentDriver.Plan["files"],
  kept: Ref.Ref<boolean>,
  { agent, cwd, program }: Where
) {
  const { scratch } = yield* ProcessTree.Spawner
  const failed = (cause: PlatformError) =>
    new AgentError.AgentSpawnError({
      agent,
      program,
      cwd,
      reason: "files",
      detail: `the files of the run could not be written: ${cause.message}`,
      cause
    })
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // A short name: agents put their sockets there, and the path of a socket has 108 bytes at most.
  const directory = yield* Effect.acquireRelease(
    Effect.flatMap(scratch, (directory) => fs.makeTempDirectory({ directory, prefix: "" })).pipe(
      Effect.mapError(failed)
    ),
    (directory) =>
      fs.remove(directory, { recursive: true, force: true }).pipe(
        Effect.unlessEffect(Ref.get(kept)),
        Effect.ignoreLogged
      )
  )
  yield* Effect.forEach(
    files,
    (file) => fs.writeFileString(path.join(directory, file.name), file.content, { mode: 0o600 }),
    { discard: true }
  ).pipe(Effect.mapError(failed))
  return directory
})

const argument = (path: Path.Path, directory: string) => (arg: AgentDriver.Arg): string =>
  typeof arg === "string"
    ? arg
    : arg._tag === "Secret"
    ? arg.value
    : `${arg.prefix ?? ""}${path.join(directory, arg.name)}${arg.suffix ?? ""}`

const checkDirectory = Effect.fnUntraced(function*(agent: string, program: string, cwd: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(cwd).pipe(
    Effect.mapError((cause) =>
      new AgentError.AgentSpawnError({
        agent,
        program,
        cwd,
        reason: "cwd",
        detail: `the working directory "${cwd}" cannot be used (${
          cause._tag === "SystemError" ? cause.reason : cause._tag
        })`,
        cause
      })
    )
  )
  if (info.type !== "Directory") {
    return yield* new AgentError.AgentSpawnError({
      agent,
      program,
      cwd,
      reason: "cwd",
      detail: `the working directory "${cwd}" is not a directory`
    })
  }
})

/** The CLIs leave out without a word what they do not find, or tell it to the model alone. */
const checkAttachments = Effect.fnUntraced(function*(
  where: Where,
  attachments: AgentRequest.AgentRequest["attachments"]
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const unusable = (name: string, why: string, cause?: PlatformError) =>
    new AgentError.AgentSpawnError({
      ...where,
      reason: "files",
      detail: `the attachment "${name}" ${why}`,
      cause
    })
  yield* Effect.forEach(attachments, (attachment) => {
    const file = path.resolve(where.cwd, attachment.path)
    return fs.access(file, { readable: true }).pipe(
      Effect.zipRight(fs.stat(file)),
      Effect.mapError((cause) =>
        unusable(attachment.path, `cannot be read (${cause._tag === "SystemError" ? cause.reason : cause._tag})`, cause)
      ),
      Effect.filterOrFail(
        (info) => info.type === "File",
        () => unusable(attachment.path, "is not a file")
      )
    )
  }, { discard: true })
})

/** The kernel's limits: one string of the command line or of the environment, and all of them together. */
const stringLimit = 131072
const totalLimit = 2 * 1024 * 1024

/** What goes to the kernel, each string with the words for it: the strings themselves may be secret. */
const stringsOf = (args: ReadonlyArray<string>, variables: Readonly<Record<string, string>>) => [
  ...args.map((text, index) => ({ what: `argument ${index + 1} of the command line`, text })),
  ...Object.entries(variables).map(([name, value]) => ({
    what: `the variable ${name} of the environment`,
    text: `${name}=${value}`
  }))
]

const tooLarge = (
  agent: string,
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>>
): AgentError.AgentInputTooLarge => {
  const strings = stringsOf(args, variables).map(({ text, what }) => ({ what, size: Buffer.byteLength(text) + 1 }))
  const largest = strings.reduce((a, b) => b.size > a.size ? b : a, { what: "the command line", size: 0 })
  return largest.size > stringLimit
    ? new AgentError.AgentInputTooLarge({ agent, ...largest, limit: stringLimit })
    : new AgentError.AgentInputTooLarge({
      agent,
      what: "the command line and the environment together",
      size: strings.reduce((total, { size }) => total + size, 0),
      limit: totalLimit
    })
}

const spawnFailed = (
  { agent, cwd, program }: Where,
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>>
) =>
(
  cause: PlatformError | ProcessTree.ContainmentUnavailable
): AgentError.AgentSpawnError | AgentError.AgentInputTooLarge => {
  if (cause._tag === "ContainmentUnavailable") {
    return new AgentError.AgentSpawnError({ agent, program, cwd, reason: "containment", detail: cause.message, cause })
  }
  if (cause.description?.includes("E2BIG") === true) return tooLarge(agent, args, variables)
  const reason = cause._tag !== "SystemError"
    ? "other"
    : cause.method === "cwd"
    ? "cwd"
    : cause.reason === "PermissionDenied"
    ? "not-executable"
    : cause.reason === "Busy"
    ? "resources"
    : "other"
  return new AgentError.AgentSpawnError({ agent, program, cwd, reason, detail: cause.message, cause })
}

/** Which program of the agent's is started where, and what of the host it sees. */
export const place = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  given: string | undefined,
  asked: Pick<AgentRequest.AgentRequest, "env" | "envPolicy"> & { readonly cwd?: string | undefined }
) {
  const agent = driver.name
  const path = yield* Path.Path
  const host = yield* Effect.flatMap(ProcessTree.Spawner, (spawner) => spawner.host)
  const named = given ?? driver.executable.names.join(" or ")
  const cwd = path.resolve(baseOf(host), asked.cwd ?? ".")
  const searchPath = (variables: Readonly<Record<string, string>>) =>
    environment.lookup(variables, "PATH", host.platform)
  if (host.cwd === "" && !path.isAbsolute(asked.cwd ?? ".")) {
    return yield* new AgentError.AgentSpawnError({
      agent,
      program: named,
      cwd: asked.cwd ?? ".",
      reason: "cwd",
      detail: "the working directory of the host was removed"
    })
  }
  yield* checkDirectory(agent, named, cwd)
  const program = yield* locate({
    agent,
    executable: driver.executable,
    program: given,
    host: { ...host, cwd: baseOf(host) },
    searchPath: searchPath(asked.env) ?? searchPath(host.environment) ?? "",
    cwd
  })
  const inherited = environment.select({
    policy: asked.envPolicy,
    host: host.environment,
    platform: host.platform,
    needed: driver.environment,
    nesting: driver.nesting
  })
  return {
    where: { agent, cwd, program },
    /** All that it sees, with a directory for its temporary files. */
    variables: (directory: string, own: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
      ...inherited,
      ...(host.platform === "win32" ? { TEMP: directory, TMP: directory } : { TMPDIR: directory }),
      ...own,
      ...asked.env
    })
  }
})

/** Starts it with these arguments, and these variables and no others. */
export const start = Effect.fnUntraced(function*(
  where: Where,
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>>,
  input: Stream.Stream<Uint8Array, PlatformError> | undefined,
  options: ProcessTree.StartOptions
) {
  // Node would refuse it too, with a message that holds the whole string.
  const unfit = stringsOf(args, variables).find(({ text }) => text.includes("\0"))
  if (unfit !== undefined) {
    return yield* new AgentError.AgentSpawnError({
      ...where,
      reason: "other",
      detail: `${unfit.what} holds a NUL character`
    })
  }
  const command = Command.make(where.program, ...args).pipe(
    Command.workingDirectory(where.cwd),
    Command.env(variables, { extendEnv: false }),
    input === undefined ? identity : Command.stdin(input)
  )
  const spawner = yield* ProcessTree.Spawner
  return yield* Effect.mapError(spawner.start(command, options), spawnFailed(where, args, variables))
})

/** Starts what the driver plans for a request. */
export const launch = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  options: Pick<ProcessTree.StartOptions, "teardown" | "seal" | "usage"> & {
    readonly program: string | undefined
    readonly limits: ProcessTree.Limits & AgentDriver.PlanContext["limits"]
    readonly dialogue: AgentDriver.PlanContext["dialogue"]
  },
  request: AgentDriver.Request
) {
  const path = yield* Path.Path
  const host = yield* Effect.flatMap(ProcessTree.Spawner, (spawner) => spawner.host)
  const { context, plan } = yield* planning(driver, request, host, options)
  const { variables, where } = yield* place(driver, options.program, request)
  yield* checkAttachments(where, request.attachments)
  const kept = yield* Ref.make(false)
  const directory = yield* makeDirectory(plan.files, kept, where)
  const input = plan.stdin === undefined || plan.dialogue === true
    ? undefined
    : Stream.encodeText(Stream.make(plan.stdin))
  const tree = yield* start(where, plan.args.map(argument(path, directory)), variables(directory, plan.env), input, {
    teardown: options.teardown ?? driver.teardown,
    seal: options.seal,
    limits: options.limits,
    usage: options.usage,
    stdin: plan.stdin === undefined && plan.dialogue !== true ? "ignore" : undefined
  }).pipe(
    ProcessTree.onReport((report) => Ref.set(kept, report.verified === "detached"))
  )
  return { context, plan, tree }
})
