/** How a run ended: one place that turns what the agent said and how its process ended into an outcome or an error. */
import * as Either from "effect/Either"
import type * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import * as AgentOutcome from "../../AgentOutcome.js"
import type * as AgentRequest from "../../AgentRequest.js"
import * as Session from "../../Session.js"
import type * as Teardown from "../../Teardown.js"

/** What stopped the reading. `Elsewhere`: a resume that began a new conversation. */
export type Stopped =
  | { readonly _tag: "Ended" }
  | { readonly _tag: "LineTooLong"; readonly limitBytes: number }
  | { readonly _tag: "Io"; readonly cause: unknown }
  | { readonly _tag: "Elsewhere"; readonly started: string }

export interface Facts<S> {
  readonly driver: AgentDriver.AgentDriver<S>
  readonly request: AgentRequest.AgentRequest
  readonly cwd: string
  readonly state: S
  readonly started: boolean
  readonly records: number
  readonly unparsed: number
  readonly noise: ReadonlyArray<string>
  readonly rateLimit: AgentOutcome.RateLimit | undefined
  /** A last line without its end that is not a record. */
  readonly cut: boolean
  readonly exit: AgentOutcome.Exit
  /** The leading process ended of itself, not by the teardown. */
  readonly exitedAlone: boolean
  readonly stderrTail: string
  readonly stopped: Stopped
  readonly teardown: Teardown.TeardownReport
  readonly durationMs: number
}

export const conclude = <S>(facts: Facts<S>): Either.Either<AgentOutcome.AgentOutcome, AgentError.AgentError> => {
  const { cwd, driver, exit, request, state, stderrTail, stopped, unparsed } = facts
  const agent = driver.name
  const progress = driver.protocol.progress(state)
  const { terminal } = progress
  const session = progress.session === undefined
    ? undefined
    : Session.SessionRef.make({ agent, id: progress.session, cwd })

  const partial = (resumable?: AgentError.Partial["resumable"]): AgentError.Partial => ({
    ...(session === undefined ? {} : { session }),
    text: progress.text,
    usage: progress.usage,
    openToolCalls: progress.openToolCalls,
    resumable: resumable ?? (facts.started && session !== undefined ? "yes" : facts.records > 0 ? "unknown" : "no"),
    exit,
    stderrTail,
    unparsed,
    teardown: facts.teardown
  })

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
      break
  }

  // A leader that was killed for a limit did not end alone; what it had said before holds all the same.
  const exceeded = facts.teardown.reason === "limit" ? facts.teardown.exceeded : undefined
  const endedBadly = facts.exitedAlone && exceeded === undefined && (exit.signal !== null || exit.code !== 0)

  if (terminal !== undefined) {
    if (terminal.failure !== undefined) return Either.left(fromFailure(facts, terminal.failure, terminal.stop, partial))
    if (terminal.stop === "interrupted" || terminal.stop === "error") {
      return Either.left(
        new AgentError.AgentTurnFailed({
          agent,
          detail: terminal.stopDetail ?? terminal.stop,
          partial: partial(),
          stop: terminal.stop
        })
      )
    }
    if (request.session._tag === "Fork" && progress.session === request.session.id) {
      return Either.left(
        new AgentError.AgentTurnFailed({
          agent,
          detail: "it went on with the conversation itself instead of a branch of it",
          partial: partial(),
          stop: "other"
        })
      )
    }
    if (endedBadly) {
      return Either.left(crashed(lastWords(stderrTail) ?? "it ended badly after its answer was complete"))
    }
    return Either.right(
      AgentOutcome.AgentOutcome.make({
        agent,
        session: session ?? Session.SessionRef.make({ agent, id: "", cwd }),
        text: progress.text,
        ...(progress.structured === undefined ? {} : { structured: progress.structured }),
        usage: progress.usage,
        stop: terminal.stop,
        ...(terminal.stopDetail === undefined ? {} : { stopDetail: terminal.stopDetail }),
        exit,
        stderrTail,
        unparsed,
        ...(facts.noise[0] === undefined ? {} : { firstUnparsed: facts.noise[0] }),
        ...(facts.rateLimit === undefined ? {} : { rateLimit: facts.rateLimit }),
        durationMs: facts.durationMs,
        teardown: facts.teardown
      })
    )
  }

  if (exceeded !== undefined) {
    return Either.left(
      new AgentError.AgentLimitExceeded({ agent, detail: `${exceeded}`, partial: partial(), ...exceeded })
    )
  }
  const cause = driver.protocol.diagnose(state, { exit, stderrTail, noise: facts.noise, records: facts.records })
  if (cause !== undefined) return Either.left(fromFailure(facts, cause, "error", partial))
  if (endedBadly) {
    return Either.left(crashed(lastWords(stderrTail) ?? facts.noise.at(-1) ?? "it said nothing"))
  }
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

const sessionIdOf = (request: AgentRequest.AgentRequest): string | undefined => request.session.id

const lastWords = (stderr: string): string | undefined => {
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) => line.length > 0)
  return lines.filter((line) => /\berror\b|\bfatal\b|\bpanic/i.test(line)).at(-1) ?? lines.at(-1)
}

const fromFailure = <S>(
  { driver, request }: Facts<S>,
  failure: AgentDriver.Failure,
  stop: AgentOutcome.Stop,
  partial: (resumable?: AgentError.Partial["resumable"]) => AgentError.Partial
): AgentError.AgentError => {
  const common = {
    agent: driver.name,
    detail: failure.detail,
    ...(failure.status === undefined ? {} : { status: failure.status })
  }
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
        ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs })
      })
    case "overloaded":
      return new AgentError.AgentOverloaded({ ...common, partial: partial() })
    case "flag-rejected":
      return new AgentError.AgentFlagRejected({ ...common, partial: partial("no") })
    case "session-not-found":
      return new AgentError.AgentSessionNotFound({ ...common, partial: partial("no"), id: sessionIdOf(request) ?? "" })
    case "turn-failed":
      return new AgentError.AgentTurnFailed({ ...common, partial: partial(), stop })
  }
}
