/**
 * Reading records of which nothing is certain: what is missing or of the wrong type is absent, and never a failure.
 * Hand-written because it runs for every line of output.
 */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as AgentDriver from "../../AgentDriver.js"

const nothing: AgentDriver.JsonRecord = {}

export const isRecord = (value: unknown): value is AgentDriver.JsonRecord => Predicate.isReadonlyRecord(value)

export const string = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

export const number = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

export const boolean = (value: unknown): boolean | undefined => typeof value === "boolean" ? value : undefined

export const record = (value: unknown): AgentDriver.JsonRecord => isRecord(value) ? value : nothing

export const list = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

export const strings = (value: unknown): ReadonlyArray<string> => list(value).filter(Predicate.isString)

const decode = Schema.decodeUnknownOption(Schema.parseJson())

export const parse = (text: string): Option.Option<unknown> => decode(text)

/** The object that a text is, if it is one. */
export const parseRecord = (text: string): AgentDriver.JsonRecord | undefined =>
  text.trimStart().startsWith("{") ? Option.getOrUndefined(Option.filter(parse(text), isRecord)) : undefined

/** The same without the members that are `undefined`: absent is said by absence. */
export const compact = <A extends object>(value: A): A => {
  for (const key in value) if (value[key] === undefined) return without(value)
  return value
}

/** Only members that may be absent anyway are left out, so that the type stays. */
const without = <A extends object>(value: A): A => {
  const left: Partial<A> = {}
  for (const key in value) if (value[key] !== undefined) left[key] = value[key]
  return left as A
}

/** Content of a tool's result: plain text where it is nothing else. */
export const content = (value: unknown): unknown => {
  if (!Array.isArray(value)) return value ?? null
  const texts = value.map((block) => record(block)["type"] === "text" ? string(record(block)["text"]) : undefined)
  return texts.every(Predicate.isNotUndefined) ? texts.join("\n") : value
}
