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
import type * as Teardown from "./Teardown.js"

/**
 * One argument of a command line. A `Secret` is shown as `***` wherever a plan is shown; a `File` becomes the path of
 * the file of that name in `Plan.files`, with `prefix` before it.
 *
 * @since 0.1.0
 * @category models
 */
export type Arg =
  | string
  | { readonly _tag: "Secret"; readonly value: string }
  | { readonly _tag: "File"; readonly name: string; readonly prefix?: string | undefined }

/**
 * @since 0.1.0
 * @category constructors
 */
export const secret = (value: string): Arg => ({ _tag: "Secret", value })

/**
 * @since 0.1.0
 * @category constructors
 */
export const file = (name: string, prefix?: string | undefined): Arg => ({ _tag: "File", name, prefix })

/**
 * What to start: arguments (without the program), variables that the CLI needs beside those of the request, what it
 * reads on its standard input (`undefined`: nothing, the input is closed), and files that are written for it, mode 0600,
 * into a directory of the run which goes when the run does.
 *
 * @since 0.1.0
 * @category models
 */
export interface Plan {
  readonly args: ReadonlyArray<Arg>
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string | undefined
  readonly files: ReadonlyArray<{ readonly name: string; readonly content: string }>
}

/**
 * What a driver may know of the place where it plans.
 *
 * `uuid` is fresh for every plan: the id of a new conversation where the CLI takes one.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlanContext {
  readonly uuid: string
  readonly cwd: string
  readonly platform: string
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
    | "unsupported"
  readonly detail: string
  readonly status?: number | undefined
  readonly resetsAt?: number | undefined
  readonly retryAfterMs?: number | undefined
}

/**
 * The agent's word that its turn is over.
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
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  readonly session: string | undefined
  readonly text: string
  readonly structured: unknown
  readonly usage: AgentOutcome.Usage
  readonly openToolCalls: ReadonlyArray<AgentError.OpenToolCall>
  readonly terminal: Terminal | undefined
}

/**
 * What one record makes of the state.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step<S> {
  readonly state: S
  readonly events: ReadonlyArray<AgentEvent.Unstamped>
}

/**
 * How the process ended without the agent's word: what a driver may read a cause from.
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
 * @since 0.1.0
 * @category models
 */
export interface Protocol<S> {
  readonly initial: (request: AgentRequest.AgentRequest, context: PlanContext) => S
  readonly step: (state: S, record: JsonRecord) => Step<S>
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
 * An adapter for one agent CLI.
 *
 * - `environment`: variables that the minimal policy lets through beside the common ones.
 * - `nesting`: variables by which the CLI knows that it runs inside another agent; never inherited. A name that ends
 *   with `*` stands for all that begin so.
 * - `teardown`: the polite steps that fit this CLI.
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
    request: AgentRequest.AgentRequest,
    context: PlanContext
  ) => Either.Either<Plan, AgentError.AgentUnsupported | AgentError.AgentInputTooLarge>
  readonly protocol: Protocol<S>
}

/**
 * A plan's arguments as they may be shown: secrets and files by name only.
 *
 * @since 0.1.0
 * @category getters
 */
export const redacted = (plan: Plan): ReadonlyArray<string> =>
  plan.args.map((arg) =>
    typeof arg === "string" ? arg : arg._tag === "Secret" ? "***" : `${arg.prefix ?? ""}<${arg.name}>`
  )
