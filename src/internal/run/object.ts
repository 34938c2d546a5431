/** Answers that are values: the schema goes to the agent, its answer comes back decoded, or is mended where it stands. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import * as AgentError from "../../AgentError.js"
import * as AgentOutcome from "../../AgentOutcome.js"
import type * as AgentRequest from "../../AgentRequest.js"
import type * as Session from "../../Session.js"
import { continued } from "../session/continued.js"
import { finished } from "./conclude.js"
import { attemptsKept } from "./reading.js"

// Looked up at each use: parsers are made at the first one, and not at the import.
const isInvalid = (error: unknown) => Schema.is(AgentError.AgentOutputInvalid)(error)

const prefix = "#/$defs/"

/** What an object with that one property has in it. */
const valueOf = (root: JSONSchema.JsonSchema7Root): JSONSchema.JsonSchema7 | undefined => {
  const value = "properties" in root ? root.properties["value"] : undefined
  if (value === undefined || !("$ref" in value)) return value
  return root.$defs?.[value.$ref.slice(prefix.length).replaceAll("~1", "/").replaceAll("~0", "~")]
}

/** The JSON schema for the agent, and the way back. Providers take nothing but objects: other values are put into one. */
const form = <A, I, R>(agent: string, schema: Schema.Schema<A, I, R>) => {
  const wrapped = Schema.Struct({ value: schema })
  return Effect.try({
    try: () => JSONSchema.make(wrapped),
    catch: (cause) =>
      new AgentError.AgentUnsupported({ agent, what: "a schema without a JSON schema", hint: `${cause}` })
  }).pipe(
    Effect.map(({ $schema, ...root }) => {
      const value = valueOf(root)
      const decode = Schema.decodeUnknown(wrapped, { errors: "all" })
      return value !== undefined && "type" in value && value.type === "object"
        ? {
          outputSchema: { ...value, ...(root.$defs === undefined ? {} : { $defs: root.$defs }) },
          decode: Schema.decodeUnknown(schema, { errors: "all" })
        }
        : { outputSchema: { ...root }, decode: (answer: unknown) => Effect.map(decode(answer), ({ value }) => value) }
    })
  )
}

/** Where the conversation goes on; nowhere when the agent never named it. */
const later = ({ session }: AgentRequest.AgentRequest, partial: AgentError.Partial): Session.Session | undefined => {
  if (partial.session === undefined || partial.session.id === "" || partial.resumable === "no") return undefined
  return continued(session, partial.session)
}

/** A value is told in whole by its error, however long it is. */
const longestDetail = 8192

const mend = (detail: string): string =>
  `Your answer cannot be used. ${
    detail.length > longestDetail ? `${detail.slice(0, longestDetail)} …` : detail
  }\n\nGive the whole answer again, in the form that was asked for.`

type Spent = Pick<AgentError.Partial, "usage" | "subAgents" | "attempts" | "filesChanged">

const nothing: Spent = { usage: {}, attempts: [], filesChanged: [] }

/** What the runs of one answer have used and done together. */
const together = (earlier: Spent, later: Spent): Spent => ({
  usage: AgentOutcome.addUsage(earlier.usage, later.usage),
  ...(earlier.subAgents === undefined && later.subAgents === undefined
    ? {}
    : { subAgents: AgentOutcome.addUsage(earlier.subAgents ?? {}, later.subAgents ?? {}) }),
  attempts: [...earlier.attempts, ...later.attempts].slice(-attemptsKept),
  filesChanged: [...new Set([...earlier.filesChanged, ...later.filesChanged])]
})

/** A failure, with what the runs before it have used and done. */
const ofAll = <E>(error: E, earlier: Spent): E => {
  if (!AgentError.isAgentError(error) || !("partial" in error)) return error
  const Failure = error.constructor as new(fields: object) => E
  // The cause of an error does not go with its fields.
  const cause = "cause" in error ? { cause: error.cause } : {}
  return new Failure({ ...error, ...cause, partial: { ...error.partial, ...together(earlier, error.partial) } })
}

/** Asks, and asks again in the same conversation, until the answer is a value of the schema. */
export const ask = Effect.fnUntraced(function*<A, I, RS, E, R>(
  agent: string,
  request: AgentRequest.AgentRequest,
  schema: Schema.Schema<A, I, RS>,
  repairs: number,
  run: (request: AgentRequest.AgentRequest) => Effect.Effect<AgentOutcome.AgentOutcome, AgentError.AgentError | E, R>
) {
  const { decode, outputSchema } = yield* form(agent, schema)
  const answered = (outcome: AgentOutcome.AgentOutcome) =>
    decode(outcome.structured).pipe(
      Effect.map((value) => ({ value, outcome })),
      Effect.mapError((cause) =>
        new AgentError.AgentOutputInvalid({ agent, detail: cause.message, partial: finished(outcome), cause })
      )
    )
  let next: AgentRequest.AgentRequest = { ...request, outputSchema }
  let spent: Spent = nothing
  for (let repaired = 0;; repaired++) {
    const answer = yield* Effect.either(Effect.flatMap(run(next), answered))
    if (Either.isRight(answer)) {
      const { outcome, value } = answer.right
      const whole = { ...outcome, ...together(spent, outcome) }
      return { value, outcome: AgentOutcome.AgentOutcome.make(whole), repairs: repaired }
    }
    const error = ofAll(answer.left, spent)
    const session = isInvalid(error) && repaired < repairs ? later(request, error.partial) : undefined
    if (!isInvalid(error) || session === undefined) return yield* Effect.fail(error)
    spent = error.partial
    // What was given with the prompt is in the conversation already.
    next = { ...next, prompt: mend(error.detail), session, command: false, attachments: [] }
  }
})
