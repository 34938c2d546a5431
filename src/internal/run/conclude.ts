/** How a run ended: one place that turns what the agent said and how its process ended into an outcome or an error. */
import * as Either from "effect/Either"
import type * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import * as AgentOutcome from "../../AgentOutcome.js"
import * as Session from "../../Session.js"
import type * as Teardown from "../../Teardown.js"
import type * as AgentRun from "../../AgentRun.js"
import * as Limits from "./limits.js"

/** What stopped the reading. `Elsewhere`: a resume that began a new conversation. */
export type Stopped =
  | { readonly _tag: "Ended" }
  | { readonly _tag: "Detached" }
  | { readonly _tag: "LineTooLong"; readonly limitBytes: number }
  | { readonly _tag: "Io"; readonly cause: unknown }
  | { readonly _tag: "Elsewhere"; readonly started: string }
  | { readonly _tag: "Unresponsive"; readonly what: string; readonly withinMs: number }
  | { readonly _tag: "Limit"; readonly beyond: Limits.Beyond }

/** What a turn leaves to conclude from, while the process may live on. */
interface TurnFacts<S> {
  readonly driver: AgentDriver.AgentDriver<S>
  readonly request: AgentDriver.Request
  readonly cwd: string
  readonly state: S
  readonly started: boolean
  readonly records: number
  readonly unparsed: number
  readonly rateLimit: AgentOutcome.RateLimit | undefined
  readonly attempts: ReadonlyArray<AgentOutcome.Attempt>
  readonly filesChanged: ReadonlyArray<string>
  readonly stderrTail: string
  /** The caller has asked for the end of the turn. */
  readonly interrupted: boolean
  readonly spent: Limits.Spent
  readonly limits: AgentRun.Limits
  readonly durationMs: number
}

export interface Facts<S> extends TurnFacts<S> {
  readonly noise: ReadonlyArray<string>
  /** A last line without its end that is not a record. */
  readonly cut: boolean
  readonly exit: AgentOutcome.Exit
  /** The leading process ended of itself, not by the teardown. */
  readonly exitedAlone: boolean
  readonly stopped: Stopped
  readonly teardown: Teardown.TeardownReport
}

/** How an unfinished process is told of in an error: it has not ended. */
const running: AgentOutcome.Exit = { code: null, signal: null }

const reference = <S>({ cwd, driver, state }: TurnFacts<S>): Session.SessionRef | undefined => {
  const { session } = driver.protocol.progress(state)
  return session === undefined ? undefined : Session.SessionRef.make({ agent: driver.name, id: session, cwd })
}

/** What was used. Without the agent's word that its turn is over it is not known to be all. */
const used = ({ subAgents, terminal, usage }: AgentDriver.Progress) => {
  const marked = (usage: AgentOutcome.Usage): AgentOutcome.Usage =>
    terminal === undefined && Object.keys(usage).length > 0 ? { ...usage, partial: true } : usage
  return { usage: marked(usage), ...(subAgents === undefined ? {} : { subAgents: marked(subAgents) }) }
}

const partialOf = <S>(
  facts: TurnFacts<S>,
  process: { readonly exit: AgentOutcome.Exit; readonly teardown?: Teardown.TeardownReport }
) =>
(resumable?: AgentError.Partial["resumable"]): AgentError.Partial => {
  const progress = facts.driver.protocol.progress(facts.state)
  const session = reference(facts)
  return {
    ...(session === undefined ? {} : { session }),
    text: progress.text,
    ...used(progress),
    openToolCalls: progress.openToolCalls,
    filesChanged: facts.filesChanged,
    attempts: facts.attempts,
    resumable: resumable ?? (facts.started && session !== undefined ? "yes" : facts.records > 0 ? "unknown" : "no"),
    stderrTail: facts.stderrTail,
    unparsed: facts.unparsed,
    ...process
  }
}

/** The same of a run that went well, and all the same not well enough. */
export const finished = (outcome: AgentOutcome.AgentOutcome): AgentError.Partial => {
  const { attempts, exit, filesChanged, session, stderrTail, subAgents, teardown, text, unparsed, usage } = outcome
  return {
    session,
    text,
    usage,
    ...(subAgents === undefined ? {} : { subAgents }),
    openToolCalls: [],
    filesChanged,
    attempts,
    resumable: "yes",
    exit,
    stderrTail,
    unparsed,
    teardown
  }
}

/** What a turn and an outcome have in common. */
const told = <S>(facts: TurnFacts<S>, stop: AgentOutcome.Stop, stopDetail: string | undefined) => {
  const progress = facts.driver.protocol.progress(facts.state)
  const agent = facts.driver.name
  return {
    agent,
    session: reference(facts) ?? Session.SessionRef.make({ agent, id: "", cwd: facts.cwd }),
    text: progress.text,
    ...(progress.structured === undefined ? {} : { structured: progress.structured }),
    ...used(progress),
    stop,
    ...(stopDetail === undefined ? {} : { stopDetail }),
    ...(facts.rateLimit === undefined ? {} : { rateLimit: facts.rateLimit }),
    attempts: facts.attempts,
    filesChanged: facts.filesChanged,
    durationMs: facts.durationMs
  }
}

const exceeding = (agent: string, beyond: Limits.Beyond, partial: AgentError.Partial): AgentError.AgentLimitExceeded =>
  new AgentError.AgentLimitExceeded({
    agent,
    detail: `beyond the limit ${beyond.limit}: ${Math.round(beyond.measured * 1000) / 1000} of ${beyond.allowed}`,
    partial,
    ...beyond,
    biggest: []
  })

/** What the agent's word that the turn is over comes to: a failure, or nothing that speaks against success. */
const refusal = <S>(
  facts: TurnFacts<S>,
  { failure, stop, stopDetail }: AgentDriver.Terminal,
  partial: ReturnType<typeof partialOf>
): AgentError.AgentError | undefined => {
  const agent = facts.driver.name
  if (stop === "interrupted" && facts.interrupted) return undefined
  const beyond = Limits.reached(facts.spent, facts.limits, stop, facts.driver.protocol.progress(facts.state).usage)
  // An answer that took the last of the money is an answer.
  if (beyond !== undefined && (failure !== undefined || stop !== "max-budget")) {
    return exceeding(agent, beyond, partial())
  }
  if (failure !== undefined) return fromFailure(facts, failure, stop, partial)
  if (stop === "interrupted" || stop === "error") {
    return new AgentError.AgentTurnFailed({ agent, detail: stopDetail ?? stop, partial: partial(), stop })
  }
  const { session } = facts.request
  if (session._tag === "Fork" && reference(facts)?.id === session.id) {
    return new AgentError.AgentTurnFailed({
      agent,
      detail: "it went on with the conversation itself instead of a branch of it",
      partial: partial(),
      stop: "other"
    })
  }
  return undefined
}

/** What a process that lives on did not answer. */
export const unresponsive = <S>(facts: TurnFacts<S>, what: string, withinMs: number): AgentError.AgentUnresponsive =>
  new AgentError.AgentUnresponsive({
    agent: facts.driver.name,
    detail: `no answer to ${what}`,
    partial: partialOf(facts, { exit: running })(),
    what,
    withinMs
  })

/** A turn of a process that lives on. */
export const concludeTurn = <S>(
  facts: TurnFacts<S>,
  terminal: AgentDriver.Terminal
): Either.Either<AgentOutcome.Turn, AgentError.AgentError> => {
  const failed = refusal(facts, terminal, partialOf(facts, { exit: running }))
  return failed === undefined
    ? Either.right(AgentOutcome.Turn.make(told(facts, terminal.stop, terminal.stopDetail)))
    : Either.left(failed)
}

export const conclude = <S>(facts: Facts<S>): Either.Either<AgentOutcome.AgentOutcome, AgentError.AgentError> => {
  const { driver, exit, request, state, stderrTail, stopped, teardown, unparsed } = facts
  const agent = driver.name
  const { terminal } = driver.protocol.progress(state)
  const partial = partialOf(facts, { exit, teardown })
  // A leader that was killed for a limit did not end alone; what it had said before holds all the same.
  const exceeded = teardown.reason === "limit" ? teardown.exceeded : undefined
  const badly = facts.exitedAlone && exceeded === undefined && (exit.signal !== null || exit.code !== 0)

  const crashed = (detail: string, cause?: unknown) =>
    new AgentError.AgentFailed({
      agent,
      detail,
      partial: partial(),
      code: exit.code,
      signal: exit.signal,
      stderrTail,
      ...(cause === undefined ? {} : { cause })
    })

  const succeeded = (stop: AgentOutcome.Stop, stopDetail?: string) =>
    Either.right(
      AgentOutcome.AgentOutcome.make({
        ...told(facts, stop, stopDetail),
        exit,
        stderrTail,
        unparsed,
        ...(facts.noise[0] === undefined ? {} : { firstUnparsed: facts.noise[0] }),
        teardown
      })
    )

  switch (stopped._tag) {
    case "LineTooLong":
      return Either.left(
        new AgentError.AgentLineTooLong({
          agent,
          detail: "a line of output is too long",
          partial: partial(),
          limitBytes: stopped.limitBytes
        })
      )
    case "Io":
      return Either.left(crashed("its output could not be read", stopped.cause))
    case "Unresponsive":
      return Either.left(
        new AgentError.AgentUnresponsive({
          agent,
          detail: `no answer to ${stopped.what}`,
          partial: partial(),
          what: stopped.what,
          withinMs: stopped.withinMs
        })
      )
    case "Limit":
      return Either.left(exceeding(agent, stopped.beyond, partial()))
    case "Elsewhere":
      return Either.left(
        new AgentError.AgentSessionNotFound({
          agent,
          detail: "the agent began a new conversation instead of continuing",
          partial: partial("no"),
          id: sessionIdOf(request) ?? "",
          startedInstead: stopped.started
        })
      )
    case "Ended":
    case "Detached":
      break
  }

  if (terminal !== undefined) {
    const failed = refusal(facts, terminal, partial)
    if (failed !== undefined) return Either.left(failed)
    // What an agent thinks of an answer beyond its budget is no crash.
    if (badly && !facts.interrupted && terminal.stop !== "max-budget") {
      return Either.left(crashed(lastWords(stderrTail) ?? "it ended badly after its answer was complete"))
    }
    return succeeded(terminal.stop, terminal.stopDetail)
  }

  if (exceeded !== undefined) {
    return Either.left(
      new AgentError.AgentLimitExceeded({ agent, detail: `${exceeded}`, partial: partial(), ...exceeded })
    )
  }
  if (stopped._tag === "Detached") return succeeded("detached")
  if (facts.interrupted) return succeeded("interrupted")

  const cause = driver.protocol.diagnose(state, { exit, stderrTail, noise: facts.noise, records: facts.records })
  if (cause !== undefined) return Either.left(fromFailure(facts, cause, "error", partial))
  if (badly) return Either.left(crashed(lastWords(stderrTail) ?? facts.noise.at(-1) ?? "it said nothing"))
  return Either.left(
    new AgentError.AgentIncomplete({
      agent,
      detail: facts.cut
        ? "its output ends in the middle of a line"
        : facts.records === 0
        ? "it ended without a word"
        : "it ended without saying that its turn was over",
      partial: partial()
    })
  )
}

const sessionIdOf = (request: AgentDriver.Request): string | undefined => request.session.id

const lastWords = (stderr: string): string | undefined => {
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) => line.length > 0)
  return lines.filter((line) => /\berror\b|\bfatal\b|\bpanic/i.test(line)).at(-1) ?? lines.at(-1)
}

const fromFailure = <S>(
  { driver, request }: TurnFacts<S>,
  failure: AgentDriver.Failure,
  stop: AgentOutcome.Stop,
  partial: (resumable?: AgentError.Partial["resumable"]) => AgentError.Partial
): AgentError.AgentError => {
  const common = {
    agent: driver.name,
    detail: failure.detail,
    ...(failure.status === undefined ? {} : { status: failure.status })
  }
  const retryAfter = failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }
  switch (failure.kind) {
    case "not-authenticated":
      return new AgentError.AgentNotAuthenticated({
        ...common,
        partial: partial(),
        hint: driver.executable.loginHint
      })
    case "rate-limited":
      return new AgentError.AgentRateLimited({
        ...common,
        partial: partial(),
        ...(failure.resetsAt === undefined ? {} : { resetsAt: failure.resetsAt }),
        ...retryAfter
      })
    case "overloaded":
      return new AgentError.AgentOverloaded({ ...common, partial: partial(), ...retryAfter })
    case "flag-rejected":
      return new AgentError.AgentFlagRejected({ ...common, partial: partial("no") })
    case "session-not-found":
      return new AgentError.AgentSessionNotFound({ ...common, partial: partial("no"), id: sessionIdOf(request) ?? "" })
    case "output-invalid":
      return new AgentError.AgentOutputInvalid({ ...common, partial: partial() })
    case "unsupported":
      return new AgentError.AgentUnsupported({ agent: driver.name, what: failure.detail })
    case "turn-failed":
      return new AgentError.AgentTurnFailed({ ...common, partial: partial(), stop })
  }
}
