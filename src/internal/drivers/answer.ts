/** An answer that is to be a value: asked for in words where the CLI has no option for it, and found in what it says. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as AgentDriver from "../../AgentDriver.js"
import * as Json from "./json.js"

/** The prompt, with the schema behind it. */
export const inWords = (prompt: string, schema: AgentDriver.JsonRecord): string =>
  `${prompt}\n\nWhen you are done, answer with nothing but one JSON value that conforms to this JSON schema: no words `
  + `before or after it, and no comments in it.\n\n${JSON.stringify(schema)}`

const fence = /^[ \t]*```.*$/m

/** From the first bracket to the last. */
const bracketed = (text: string): ReadonlyArray<string> => {
  const from = text.search(/[[{]/)
  const to = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"))
  return from < 0 || to < from ? [] : [text.slice(from, to + 1)]
}

/**
 * The value that an answer is, or holds: all of it, the last fenced block that is one, or what stands between the first
 * bracket and the last. A line of JSON never begins with a fence, for its strings have no line breaks.
 */
export const valueIn = (text: string): Option.Option<unknown> => {
  const whole = Json.parse(text)
  if (Option.isSome(whole)) return whole
  const fenced = text.split(fence).filter((_, index) => index % 2 === 1).reverse()
  return Option.firstSomeOf([...fenced, ...bracketed(text)].map(Json.parse))
}

/** The turn is over, and the value is not there. */
export const missing: AgentDriver.Failure = {
  kind: "output-invalid",
  detail: "the turn ended without the value that the schema asks for"
}

/** The value of an answer, and what its absence means. */
export const valueOf = (schema: AgentDriver.JsonRecord | undefined, text: string) => {
  const value = schema === undefined ? Option.none() : valueIn(text)
  return {
    structured: Option.getOrUndefined(value),
    failure: schema === undefined || Option.exists(value, Predicate.isNotUndefined) ? undefined : missing
  }
}
