/**
 * The contract of an adapter: what it takes to drive one more agent CLI. A driver has no effects. It turns a request
 * into a plan (command line, environment, input), and reads the CLI's records, one at a time, into events. The run
 * loop, the same for all, owns the process, the framing, the endings and the teardown; a driver cannot get around it.
 *
 * @since 0.1.0
 */
import type * as Either from "effect/Either"
import type * as AgentError from "./AgentError.js"
import type * as AgentEvent from "./AgentEvent.js"
import type * as AgentOutcome from "./AgentOutcome.js"
import type * as AgentRequest from "./AgentRequest.js"
import type * as Approval from "./Approval.js"
import type * as Installation from "./Installation.js"
import type * as Session from "./Session.js"
import type * as Teardown from "./Teardown.js"

/**
 * One argument of a command line. A `Secret` is shown as `***` wherever a plan is shown; a `File` becomes the path of
 * the file of that name in `Plan.files`, with `prefix` before it and `suffix` behind it.
 *
 * @since 0.1.0
 * @category models
 */
export type Arg =
  | string
  | { readonly _tag: "Secret"; readonly value: string }
  | {
    readonly _tag: "File"
    readonly name: string
    readonly prefix?: string | undefined
    readonly suffix?: string | undefined
  }

/**
 * An argument that is shown as `***` by `redacted`. To the CLI it goes as it is, and the machine's process table shows
 * it as it is: keys belong into the environment.
 *
 * **Example**
 *
 * ```ts
 * import { AgentDriver } from "effect-agents"
 *
 * const args = ["--instructions", AgentDriver.secret("Answer in French")]
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const secret = (value: string): Arg => ({ _tag: "Secret", value })

/**
 * An argument that names a file of the run: the path of the file called `name` in `Plan.files`, between `prefix` and
 * `suffix` (default none).
 *
 * **Example**
 *
 * ```ts
 * import { AgentDriver } from "effect-agents"
 *
 * const plan: AgentDriver.Plan = {
 *   args: [AgentDriver.file("system.md", "--system-prompt-file=")],
 *   env: {},
 *   stdin: "Review the staged diff",
 *   files: [{ name: "system.md", content: "Answer in French" }]
 * }
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const file = (name: string, prefix?: string | undefined, suffix?: string | undefined): Arg => ({
  _tag: "File",
  name,
  prefix,
  suffix
})

/**
 * What to start: arguments (without the program), variables that the CLI needs beside those of the request, what it
 * reads on its standard input (`undefined`: nothing, the input is closed), and files that are written for it (mode
 * 0600) into a directory of the run which goes when the run does.
 *
 * `dialogue`: the input stays open, and all that the CLI reads comes from `Protocol.tell`, the prompt included; `stdin`
 * is then not used.
 *
 * @since 0.1.0
 * @category models
 */
export interface Plan {
  readonly args: ReadonlyArray<Arg>
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string | undefined
  readonly files: ReadonlyArray<{ readonly name: string; readonly content: string }>
  readonly dialogue?: boolean | undefined
}

/**
 * A request as a driver gets it: a named conversation has been looked up, and is a new one, one to continue or to branch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Request extends AgentRequest.AgentRequest {
  readonly session: Exclude<Session.Session, { readonly _tag: "Named" }>
}

/**
 * Whether a driver can take a request as it is: its conversation does not have to be looked up by name.
 *
 * **Example**
 *
 * ```ts
 * import { Either } from "effect"
 * import { AgentDriver, AgentRequest, Claude } from "effect-agents"
 *
 * // The command line of a request, for a test of the driver.
 * const argumentsOf = (request: AgentRequest.AgentRequest) =>
 *   AgentDriver.isRequest(request)
 *     ? Either.map(Claude.driver.plan(request, { uuid: "an id", cwd: "/", platform: "linux" }), ({ args }) => args)
 *     : Either.right([])
 * ```
 *
 * @since 0.1.0
 * @category refinements
 */
export const isRequest = (request: AgentRequest.AgentRequest): request is Request => request.session._tag !== "Named"

/**
 * What a driver may know of the place where it plans.
 *
 * `uuid` is fresh for every plan: the id of a new conversation where the CLI takes one.
 *
 * `cwd` is the absolute working directory of the run, `platform` Node's name of the system (`linux`, `darwin`,
 * `win32`).
 *
 * `dialogue` is there when the caller wants to say more than the prompt, and only for drivers with a `Protocol.tell`:
 * `approvals` when somebody answers the agent's questions, so that what the permission does not allow is to be asked,
 * `keep` when further turns follow.
 *
 * `limits` are those of the run, or of each turn with `keep`, that a CLI may be able to keep itself. One that counts as
 * the run does is told of them; the run keeps them in any case. See `AgentRun.Limits`.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlanContext {
  readonly uuid: string
  readonly cwd: string
  readonly platform: string
  readonly dialogue?: { readonly approvals: boolean; readonly keep: boolean } | undefined
  readonly limits?: { readonly turns?: number | undefined; readonly costUsd?: number | undefined } | undefined
}

/**
 * A record of the CLI: one line of its output, an object of JSON.
 *
 * @since 0.1.0
 * @category models
 */
export type JsonRecord = { readonly [key: string]: unknown }

/**
 * Why a turn failed, as the agent tells it.
 *
 * `kind` chooses the `AgentError`, `detail` is the agent's message; with `unsupported` it is what the agent cannot do. `status` is an HTTP status, `resetsAt` milliseconds
 * since the epoch, `retryAfterMs` milliseconds; absent where the agent does not say.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly kind:
    | "not-authenticated"
    | "rate-limited"
    | "overloaded"
    | "turn-failed"
    | "flag-rejected"
    | "session-not-found"
    | "output-invalid"
    | "unsupported"
  readonly detail: string
  readonly status?: number | undefined
  readonly resetsAt?: number | undefined
  readonly retryAfterMs?: number | undefined
}

/**
 * The agent's word that its turn is over.
 *
 * With a `failure`, or with `stop` being `error` or `interrupted`, the run fails; else it succeeds, unless the process
 * then ends badly of itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface Terminal {
  readonly stop: AgentOutcome.Stop
  readonly stopDetail?: string | undefined
  readonly failure?: Failure | undefined
}

/**
 * What is known of a run so far. `terminal` is absent until the agent says that its turn is over, and again when it
 * begins another one.
 *
 * `text` is the answer so far, `structured` the answer as a value (`undefined` where none was asked for). What sub-agents
 * used is in `subAgents`, and not in `usage`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  readonly session: string | undefined
  readonly text: string
  readonly structured: unknown
  readonly usage: AgentOutcome.Usage
  readonly subAgents?: AgentOutcome.Usage | undefined
  readonly openToolCalls: ReadonlyArray<AgentError.OpenToolCall>
  readonly terminal: Terminal | undefined
}

/**
 * What a record or an input makes of the state: the next one, and the events to tell. What is not understood is told as
 * `Unknown`.
 *
 * In a dialogue also
 *
 * - `replies`: records for the CLI's standard input, in their order,
 * - `closes`: that input ends after them,
 * - `asks`: questions to the caller, each answered by an `Answer`, unless `withdrawn` names it first,
 * - `expects`: requests that the CLI has to answer in time, by an id of the driver's and a name for people; without an
 *   answer the run fails with `AgentUnresponsive`,
 * - `settled`: what was answered: such a request, or a `Message` or `Interrupt` of the caller by its id. With `refused`
 *   the words of the refusal; it is for a turn that is over, or with `unsupported` because the CLI cannot do that.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step<S> {
  readonly state: S
  readonly events: ReadonlyArray<AgentEvent.Unstamped>
  readonly replies?: ReadonlyArray<JsonRecord> | undefined
  readonly closes?: boolean | undefined
  readonly asks?: ReadonlyArray<Approval.Question> | undefined
  readonly withdrawn?: ReadonlyArray<string> | undefined
  readonly expects?: ReadonlyArray<{ readonly id: string; readonly what: string }> | undefined
  readonly settled?:
    | ReadonlyArray<{
      readonly id: string
      readonly refused?: string | undefined
      readonly unsupported?: string | undefined
    }>
    | undefined
}

/**
 * What the caller's side of a dialogue has to say.
 *
 * - `Begin`: the process is there. The answer is all that the CLI must hear to begin with the prompt of the request.
 * - `Message`: into the turn that is going on; settled once the CLI has taken it.
 * - `Answer`: to a question that the protocol asked.
 * - `Interrupt`: end the turn, keep the conversation; settled once the CLI has heard it.
 * - `Turn`: the next prompt of a conversation, after a terminal record: what belongs to one turn begins anew.
 * - `Close`: nothing more will come.
 *
 * @since 0.1.0
 * @category models
 */
export type Input =
  | { readonly _tag: "Begin" }
  | { readonly _tag: "Message"; readonly id: string; readonly text: string }
  | { readonly _tag: "Answer"; readonly question: string; readonly decision: Approval.Decision }
  | { readonly _tag: "Interrupt"; readonly id: string }
  | { readonly _tag: "Turn"; readonly prompt: string }
  | { readonly _tag: "Close" }

/**
 * How the process ended without the agent's word: what a driver may read a cause from.
 *
 * `records` counts the lines that were.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ending {
  readonly exit: AgentOutcome.Exit
  readonly stderrTail: string
  /** Lines of the standard output that were not records, the first few. */
  readonly noise: ReadonlyArray<string>
  readonly records: number
}

/**
 * How a CLI speaks: a pure step over its records.
 *
 * - `initial`: the state before the first record.
 * - `step`: must not throw, whatever the record holds.
 * - `tell`: the other direction, where the CLI has one: asked for when `Plan.dialogue` is set.
 * - `progress`: what the state comes to; asked for after every piece of output.
 *
 * @since 0.1.0
 * @category models
 */
export interface Protocol<S> {
  readonly initial: (request: Request, context: PlanContext) => S
  readonly step: (state: S, record: JsonRecord) => Step<S>
  readonly tell?: ((state: S, input: Input) => Step<S>) | undefined
  readonly progress: (state: S) => Progress
  /** The cause of an ending without a terminal record; `undefined` when nothing tells. */
  readonly diagnose: (state: S, ending: Ending) => Failure | undefined
}

/**
 * Where the CLI is found.
 *
 * - `names`: programs to look for on PATH, then in `directories` (`~` is the home directory).
 * - `native`: given the real path of what was found, the places of the native binary that a launcher of a package
 *   manager would start; the first one that exists is started instead, so that no launcher stands between the run and
 *   its process.
 *
 * - `installHint`, `loginHint`: sentences for `AgentNotInstalled` and `AgentNotAuthenticated`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Executable {
  readonly names: ReadonlyArray<string>
  readonly directories: ReadonlyArray<string>
  readonly native: (
    realPath: string,
    host: { readonly platform: string; readonly arch: string }
  ) => ReadonlyArray<string>
  readonly installHint: string
  readonly loginHint: string
}

/**
 * What a CLI can be asked of itself.
 *
 * - `verified`: the version of the CLI that the driver was written for and tried with.
 * - `version`: the arguments with which it prints its version, by default `--version`.
 * - `env`: variables that it is asked with, as in a `Plan`.
 * - `help`: with which arguments it lists what it takes, and which words must stand there for each of the capabilities. One
 *   that no word tells of is offered by every version.
 * - `ask`: what to start and to say to it to hear of its account. Its input stays open until so many `answers` are there,
 *   the records that `isAnswer`; `read` gets those that came, at least one, and must not throw.
 *
 * @since 0.1.0
 * @category models
 */
export interface Probe {
  readonly verified: string
  readonly version?: ReadonlyArray<string> | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly help?:
    | ReadonlyArray<{
      readonly args: ReadonlyArray<string>
      readonly words: { readonly [Capability in Installation.Capability]?: ReadonlyArray<string> }
    }>
    | undefined
  readonly ask?: {
    readonly args: ReadonlyArray<string>
    readonly records: (cwd: string) => ReadonlyArray<JsonRecord>
    readonly answers: number
    readonly isAnswer: (record: JsonRecord) => boolean
    readonly read: (answers: ReadonlyArray<JsonRecord>) => Installation.Account
  } | undefined
}

/**
 * An adapter for one agent CLI.
 *
 * - `environment`: variables that the minimal policy lets through beside the common ones.
 * - `nesting`: variables by which the CLI knows that it runs inside another agent; never inherited. A name that ends
 *   with `*` stands for all that begin so.
 * - `teardown`: the polite steps that fit this CLI.
 *
 * - `probe`: what `Agent.probe` asks; without it, only for the version.
 * - `plan`: refuses with `AgentUnsupported` what the CLI cannot do, and leaves out nothing silently.
 * - `writes`: the files that a tool call changes when it goes well, for `filesChanged`. Must not throw, as `Protocol.step`.
 *
 * **Example**
 *
 * A CLI that reads the prompt and prints one record, `{"type":"answer","text":"…"}`:
 *
 * ```ts
 * import { Either } from "effect"
 * import { Agent, AgentDriver, AgentError, Teardown } from "effect-agents"
 *
 * const driver: AgentDriver.AgentDriver<AgentDriver.Progress> = {
 *   name: "acme",
 *   executable: {
 *     names: ["acme"],
 *     directories: ["~/.local/bin"],
 *     native: () => [],
 *     installHint: "Install it with: npm install -g acme-agent",
 *     loginHint: "Set ACME_API_KEY"
 *   },
 *   environment: ["ACME_API_KEY"],
 *   nesting: ["ACME_SESSION"],
 *   teardown: Teardown.graceful("2 seconds"),
 *   plan: (request) =>
 *     request.session._tag === "New"
 *       ? Either.right({ args: ["--json", ...request.extraArgs], env: {}, stdin: request.prompt, files: [] })
 *       : Either.left(new AgentError.AgentUnsupported({ agent: "acme", what: "continuing a session" })),
 *   protocol: {
 *     initial: () => ({
 *       session: undefined,
 *       text: "",
 *       structured: undefined,
 *       usage: {},
 *       openToolCalls: [],
 *       terminal: undefined
 *     }),
 *     step: (state, record) => {
 *       const { text, type } = record
 *       return type === "answer" && typeof text === "string"
 *         ? {
 *           state: { ...state, text, terminal: { stop: "completed" } },
 *           events: [{ _tag: "Message", text }, { _tag: "Finished", ok: true, stop: "completed" }]
 *         }
 *         : { state, events: [{ _tag: "Unknown", type: String(type), raw: record }] }
 *     },
 *     progress: (state) => state,
 *     diagnose: (_state, { stderrTail }) =>
 *       stderrTail.includes("ACME_API_KEY") ? { kind: "not-authenticated", detail: stderrTail.trim() } : undefined
 *   }
 * }
 *
 * const layer = Agent.layer(driver)
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentDriver<S> {
  readonly name: string
  readonly executable: Executable
  readonly environment: ReadonlyArray<string>
  readonly nesting: ReadonlyArray<string>
  readonly teardown: Teardown.Teardown
  readonly plan: (
    request: Request,
    context: PlanContext
  ) => Either.Either<Plan, AgentError.AgentUnsupported | AgentError.AgentInputTooLarge>
  readonly protocol: Protocol<S>
  readonly probe?: Probe | undefined
  readonly writes?: ((call: { readonly name: string; readonly input: unknown }) => ReadonlyArray<string>) | undefined
}

/**
 * A plan's arguments as they may be shown: secrets and files by name only.
 *
 * **Example**
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentDriver, AgentRequest } from "effect-agents"
 *
 * const shown = Effect.map(
 *   Agent.plan(AgentRequest.make({ prompt: "Find the bug", extraArgs: ["--settings", "private.json"] })),
 *   AgentDriver.redacted // ["-p", …, "***", "***"]
 * )
 * ```
 *
 * @since 0.1.0
 * @category getters
 */
export const redacted = (plan: Plan): ReadonlyArray<string> =>
  plan.args.map((arg) =>
    typeof arg === "string"
      ? arg
      : arg._tag === "Secret"
      ? "***"
      : `${arg.prefix ?? ""}<${arg.name}>${arg.suffix ?? ""}`
  )
