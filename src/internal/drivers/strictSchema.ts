/**
 * The part of JSON Schema that OpenAI's models are held to: every property required, none added, no schema without a
 * type. What may be absent there is `null`, and is taken out again.
 */
import * as Predicate from "effect/Predicate"
import type * as AgentDriver from "../../AgentDriver.js"
import * as Json from "./json.js"

type Schema = AgentDriver.JsonRecord

/** What a model can be held to, by type. */
const kept: Readonly<Record<string, ReadonlyArray<string>>> = {
  string: ["enum", "const", "pattern", "format"],
  number: ["enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  integer: ["enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  boolean: ["enum", "const"],
  null: [],
  array: ["minItems", "maxItems"],
  object: []
}

/** These only narrow what is said by others, or explain it: without them more is let through, and nothing else. */
const dispensable = [
  ...["$schema", "$id", "$comment", "title", "default", "examples", "deprecated", "readOnly", "writeOnly"],
  ...["minLength", "maxLength", "contentMediaType", "contentEncoding", "uniqueItems", "minProperties", "maxProperties"]
]
const limits = Object.values(kept).flat()
const narrowing = [...dispensable, "description", ...limits]

const formats = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]

const pick = (schema: Schema, keys: ReadonlyArray<string>): Schema =>
  Json.compact(Object.fromEntries(keys.map((key) => [key, schema[key]])))

/** What a schema says of values of the type, as far as a model can be held to it. */
const held = (type: unknown, schema: Schema): Schema =>
  Object.fromEntries(
    Object.entries(pick(schema, kept[String(type)] ?? [])).filter(([key, value]) => canBeHeldTo(key, value))
  )

const canBeHeldTo = (key: string, value: unknown): boolean =>
  key === "format"
    ? formats.some((format) => format === value)
    // Lookaround is not taken.
    : key !== "pattern" || !String(value).includes("(?")

/** All of them, unless one cannot be had. */
const every = <A>(values: ReadonlyArray<A | undefined>): ReadonlyArray<A> | undefined =>
  values.every(Predicate.isNotUndefined) ? values : undefined

const members = (value: unknown): ReadonlyArray<readonly [string, Schema]> =>
  Object.entries(Json.record(value)).map(([key, member]) => [key, Json.record(member)])

const strictMembers = (value: unknown, strict: (key: string, schema: Schema) => Schema | undefined) => {
  const found = members(value).map(([key, member]) => [key, strict(key, member)] as const)
  return found.every(([, member]) => member !== undefined) ? Object.fromEntries(found) : undefined
}

const acceptsNull = (schema: Schema): boolean =>
  schema["type"] === "null" || Json.list(schema["anyOf"]).some((member) => acceptsNull(Json.record(member)))

/** Where a schema stands: what it refers to by name, and the references that led to it. */
interface Place {
  readonly root: Schema
  readonly within: ReadonlyArray<unknown>
}

const strictObject = (schema: Schema, place: Place): Schema | undefined => {
  const { additionalProperties, properties } = schema
  if (!Json.isRecord(properties)) return undefined
  if (additionalProperties !== undefined && additionalProperties !== false) return undefined
  const required = Json.strings(schema["required"])
  const strict = strictMembers(properties, (key, member) => {
    const found = strictNode(member, place)
    return found === undefined || required.includes(key) || acceptsNull(member)
      ? found
      : { anyOf: [found, { type: "null" }] }
  })
  return strict && { properties: strict, required: Object.keys(strict), additionalProperties: false }
}

const ofType = (type: string, schema: Schema, place: Place): Schema | undefined => {
  if (type === "object") return strictObject(schema, place)
  if (type !== "array") return {}
  const items = Json.isRecord(schema["items"]) ? strictNode(schema["items"], place) : undefined
  return items && { items }
}

const structure = ["type", "properties", "required", "additionalProperties", "items", "anyOf", "allOf", "$ref", "$defs"]

/** Beside a reference nothing is taken: where there are limits, what it refers to stands in its place, with them. */
const referring = (reference: unknown, schema: Schema, { root, within }: Place): Schema | undefined => {
  if (within.includes(reference) || !limits.some((key) => schema[key] !== undefined)) return { $ref: reference }
  const target = strictNode(resolve(root, schema), { root, within: [...within, reference] })
  const more = target && held(target["type"], schema)
  return more && (Object.keys(more).length === 0
    ? { $ref: reference }
    : { ...target, ...pick(schema, ["description"]), ...more })
}

const strictNode = (schema: Schema, place: Place): Schema | undefined => {
  if (Object.keys(schema).some((key) => !structure.includes(key) && !narrowing.includes(key))) return undefined
  const parts = Json.list(schema["allOf"]).map(Json.record)
  const [part] = parts
  const isReference = part !== undefined && parts.length === 1 && part["$ref"] !== undefined
  if (!isReference && parts.some((part) => Object.keys(part).some((key) => !narrowing.includes(key)))) return undefined
  const reference = schema["$ref"] ?? (isReference ? part["$ref"] : undefined)
  if (reference !== undefined) return referring(reference, schema, place)
  const description = pick(schema, ["description"])
  if (schema["anyOf"] !== undefined) {
    const anyOf = every(Json.list(schema["anyOf"]).map((member) => strictNode(Json.record(member), place)))
    return anyOf && { anyOf, ...description }
  }
  const type = Json.string(schema["type"])
  if (type === undefined || kept[type] === undefined) return undefined
  const more = ofType(type, schema, place)
  return more && { type, ...description, ...held(type, schema), ...more }
}

/** The strict form of a schema; none where it says what this form cannot, as that an object may have any keys. */
export const strict = (schema: Schema): Schema | undefined => {
  if (schema["type"] !== "object") return undefined
  const place: Place = { root: schema, within: [] }
  const node = strictNode(schema, place)
  const defs = strictMembers(schema["$defs"], (_, member) => strictNode(member, place))
  if (node === undefined || defs === undefined) return undefined
  return Object.keys(defs).length === 0 ? node : { ...node, $defs: defs }
}

const prefix = "#/$defs/"

const resolve = (root: Schema, schema: Schema): Schema => {
  const [part] = Json.list(schema["allOf"])
  const reference = Json.string(schema["$ref"] ?? Json.record(part)["$ref"])
  if (reference === undefined) return schema
  if (reference === "#") return root
  const name = reference.slice(prefix.length).replaceAll("~1", "/").replaceAll("~0", "~")
  return Json.record(Json.record(root["$defs"])[name])
}

const isOf = (root: Schema, reference: Schema, value: unknown): boolean => {
  const schema = resolve(root, reference)
  const choices = Json.list(schema["anyOf"])
  if (choices.length > 0) return choices.some((choice) => isOf(root, Json.record(choice), value))
  if (schema["enum"] !== undefined) return Json.list(schema["enum"]).includes(value)
  if (schema["const"] !== undefined) return schema["const"] === value
  switch (schema["type"]) {
    case "null":
      return value === null
    case "array":
      return Array.isArray(value) && value.every((item) => isOf(root, Json.record(schema["items"]), item))
    case "object": {
      const required = Json.strings(schema["required"])
      const properties = members(schema["properties"])
      // In the strict form all keys are there.
      return Json.isRecord(value) && Object.keys(value).length === properties.length
        && properties.every(([key, member]) =>
          (value[key] === null && !required.includes(key)) || isOf(root, member, value[key])
        )
    }
    case "integer":
      return typeof value === "number"
    default:
      return typeof value === schema["type"]
  }
}

const loosenNode = (root: Schema, reference: Schema, value: unknown): unknown => {
  const schema = resolve(root, reference)
  const choices = Json.list(schema["anyOf"]).map(Json.record)
  if (choices.length > 0) {
    const choice = choices.find((choice) => isOf(root, choice, value))
    return choice === undefined ? value : loosenNode(root, choice, value)
  }
  const { items, properties } = schema
  if (Array.isArray(value)) return Json.isRecord(items) ? value.map((item) => loosenNode(root, items, item)) : value
  if (!Json.isRecord(value) || !Json.isRecord(properties)) return value
  const required = Json.strings(schema["required"])
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => {
      const property = properties[key]
      if (!Json.isRecord(property)) return [[key, member]]
      return member === null && !required.includes(key) && !isOf(root, property, null)
        ? []
        : [[key, loosenNode(root, property, member)]]
    })
  )
}

/** The value of a strict answer, as the schema itself has it: what may be absent is not `null` but absent. */
export const loosen = (schema: Schema, value: unknown): unknown => loosenNode(schema, schema, value)
