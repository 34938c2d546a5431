/** Answers that are values: the schema in the form that a CLI takes, and the value in what it says. */
import { assert, describe, it } from "@effect/vitest"
import type * as AgentDriver from "effect-agents/AgentDriver"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as Arbitrary from "effect/Arbitrary"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as JSONSchema from "effect/JSONSchema"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Answer from "../../src/internal/drivers/answer.js"
import * as StrictSchema from "../../src/internal/drivers/strictSchema.js"
import { ask, context, replay } from "./replay.js"

interface Tree {
  readonly name: string
  readonly note?: string | undefined
  readonly left?: Tree | undefined
  readonly rest: ReadonlyArray<Tree>
}
const Tree: Schema.Schema<Tree> = Schema.Struct({
  name: Schema.String,
  note: Schema.optional(Schema.String),
  left: Schema.optional(Schema.suspend((): Schema.Schema<Tree> => Tree)),
  rest: Schema.Array(Schema.suspend((): Schema.Schema<Tree> => Tree))
}).annotations({ identifier: "a/Tree" })

const Everything = Schema.Struct({
  text: Schema.NonEmptyString.annotations({ description: "some text" }),
  number: Schema.optional(Schema.Number.pipe(Schema.between(1, 9))),
  flag: Schema.optional(Schema.Boolean),
  orNull: Schema.optional(Schema.NullOr(Schema.String)),
  choice: Schema.Union(
    Schema.Struct({ kind: Schema.Literal("a"), x: Schema.optional(Schema.Number) }),
    Schema.Struct({ kind: Schema.Literal("b"), x: Schema.optional(Schema.NullOr(Schema.Number)) }),
    Schema.String
  ),
  list: Schema.Array(Schema.Struct({ y: Schema.optional(Schema.Literal("one", "two")) })),
  tree: Schema.optional(Tree)
})

const jsonOf = <A, I>(schema: Schema.Schema<A, I>): AgentDriver.JsonRecord => ({ ...JSONSchema.make(schema) })

const strictOf = <A, I>(schema: Schema.Schema<A, I>) => StrictSchema.strict(jsonOf(schema))

/** What the strict form makes of a value: every key is there. */
const filled = (schema: AgentDriver.JsonRecord, root: AgentDriver.JsonRecord, value: unknown): unknown => {
  const at = (node: unknown): AgentDriver.JsonRecord => {
    const reference = (node as AgentDriver.JsonRecord)["$ref"]
    return reference === undefined
      ? node as AgentDriver.JsonRecord
      : (root["$defs"] as Record<string, AgentDriver.JsonRecord>)["a/Tree"]!
  }
  const { anyOf, items, properties } = at(schema)
  if (Array.isArray(anyOf)) {
    const fits = anyOf.map(at).find((choice) => {
      const kind = (choice["properties"] as AgentDriver.JsonRecord | undefined)?.["kind"] as
        | { enum: ReadonlyArray<unknown> }
        | undefined
      return choice["type"] === "object"
        ? typeof value === "object" && value !== null
          && (kind === undefined || kind.enum[0] === (value as AgentDriver.JsonRecord)["kind"])
        : choice["type"] === (value === null ? "null" : typeof value)
    })
    return fits === undefined ? value : filled(fits, root, value)
  }
  if (Array.isArray(value)) return value.map((item) => filled(items as AgentDriver.JsonRecord, root, item))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(properties as Record<string, AgentDriver.JsonRecord>).map(([key, member]) => {
      const own = (value as AgentDriver.JsonRecord)[key]
      return [key, own === undefined ? null : filled(member, root, own)]
    })
  )
}

const nodes = (value: unknown): ReadonlyArray<AgentDriver.JsonRecord> =>
  typeof value !== "object" || value === null
    ? []
    : [value as AgentDriver.JsonRecord, ...Object.values(value).flatMap(nodes)]

describe("the strict form of a schema", () => {
  it("requires every property, adds none, and keeps only what is taken", () => {
    const strict = strictOf(Everything)
    assert.isDefined(strict)
    const objects = nodes(strict).filter(({ type }) => type === "object")
    assert.strictEqual(objects.length, 5)
    for (const { additionalProperties, properties, required } of objects) {
      assert.strictEqual(additionalProperties, false)
      assert.deepStrictEqual(required, Object.keys(properties as object))
    }
    const text = JSON.stringify(strict)
    for (const keyword of ["$schema", "$id", "minLength", "allOf", "title"]) assert.notInclude(text, `"${keyword}"`)
    for (const keyword of ["some text", "minimum", "$ref", "$defs"]) assert.include(text, keyword)
    const { flag, orNull } = strict?.["properties"] as AgentDriver.JsonRecord
    assert.deepStrictEqual(flag, { anyOf: [{ type: "boolean" }, { type: "null" }] })
    assert.deepStrictEqual(orNull, { anyOf: [{ type: "string" }, { type: "null" }] })
  })

  it("has the limits that stand beside a reference, where nothing may stand", () => {
    const Age = Schema.Int.pipe(Schema.between(0, 150)).annotations({ identifier: "Age" })
    const properties = (schema: Schema.Schema.Any): AgentDriver.JsonRecord =>
      strictOf(Schema.Struct({ x: schema }) as never)?.["properties"] as AgentDriver.JsonRecord
    const number = { type: "integer", minimum: 1, maximum: 5 }
    assert.deepInclude(properties(Schema.Int.pipe(Schema.between(1, 5)))["x"], number)
    assert.deepInclude(properties(Age.pipe(Schema.greaterThan(18)))["x"], {
      type: "integer",
      minimum: 0,
      maximum: 150,
      exclusiveMinimum: 18,
      description: "a number greater than 18"
    })
    const Trees = Schema.Array(Tree).annotations({ identifier: "Trees" })
    assert.deepStrictEqual(properties(Trees.pipe(Schema.minItems(1)))["x"], {
      type: "array",
      description: "an array of at least 1 item(s)",
      minItems: 1,
      items: { $ref: "#/$defs/a~1Tree" }
    })
    // Looked for in what they do not fit, there are none.
    assert.deepStrictEqual(properties(Schema.NonEmptyString.pipe(Schema.maxLength(9)))["x"], {
      $ref: "#/$defs/NonEmptyString"
    })
  })

  it("of limits beside a reference to what they stand in there is an end", () => {
    const nested = { type: "array", items: { $ref: "#/$defs/Nested", minItems: 1 } }
    const strict = StrictSchema.strict({
      type: "object",
      properties: { x: { $ref: "#/$defs/Nested", maxItems: 2 } },
      required: ["x"],
      $defs: { Nested: nested }
    })
    const inner = { type: "array", minItems: 1, items: { $ref: "#/$defs/Nested" } }
    assert.deepStrictEqual(strict, {
      type: "object",
      properties: { x: { type: "array", maxItems: 2, items: { $ref: "#/$defs/Nested" } } },
      required: ["x"],
      additionalProperties: false,
      $defs: { Nested: { type: "array", items: inner } }
    })
  })

  it.each([
    ["any keys", Schema.Struct({ x: Schema.Record({ key: Schema.String, value: Schema.Number }) })],
    ["anything", Schema.Struct({ x: Schema.Unknown })],
    ["places of their own", Schema.Struct({ x: Schema.Tuple(Schema.Number, Schema.String) })],
    ["no object", Schema.Union(Schema.Struct({ x: Schema.Number }), Schema.Struct({ y: Schema.Number }))]
  ])("there is none for %s", (_, schema) => assert.isUndefined(strictOf(schema as Schema.Schema<unknown>)))

  it("a keyword that says what the form cannot is not left out", () => {
    const object = (x: object) => ({ type: "object", properties: { x }, required: ["x"] })
    assert.isDefined(StrictSchema.strict(object({ type: "string", default: "" })))
    assert.isUndefined(StrictSchema.strict(object({ type: "string", not: { const: "" } })))
    assert.isUndefined(StrictSchema.strict(object({ type: "object" })))
    assert.isUndefined(StrictSchema.strict(object({ type: "object", properties: {}, additionalProperties: true })))
  })

  it("keeps of patterns, formats and parts what is taken, and none that would say less than is meant", () => {
    const strict = (x: object, more: object = {}) =>
      StrictSchema.strict({ type: "object", properties: { x }, required: ["x"], ...more })
    const member = (x: object, more?: object) => Object(strict(x, more)?.["properties"]).x
    const text = { type: "string" }
    assert.deepStrictEqual(member({ ...text, pattern: "^a" }), { ...text, pattern: "^a" })
    assert.deepStrictEqual(member({ ...text, pattern: "^(?=a)" }), text)
    assert.deepStrictEqual(member({ ...text, format: "date" }), { ...text, format: "date" })
    assert.deepStrictEqual(member({ ...text, format: "uri" }), text)
    const $defs = { Y: { type: "object", properties: {} } }
    assert.deepStrictEqual(member({ allOf: [{ $ref: "#/$defs/Y" }] }, { $defs }), { $ref: "#/$defs/Y" })
    assert.deepStrictEqual(member({ $ref: "#/$defs/Y", minItems: 1 }, { $defs }), { $ref: "#/$defs/Y" })
    assert.isUndefined(strict({ type: "object", properties: {}, patternProperties: {} }))
    assert.isUndefined(strict({ ...text, allOf: [{ $ref: "#/$defs/Y" }, { $ref: "#/$defs/Y" }] }, { $defs }))
  })

  it("what was null is absent again only where it may be absent and may not be null", () => {
    const loosen = (properties: object, value: unknown, required: ReadonlyArray<string> = []) =>
      StrictSchema.loosen({ type: "object", properties, required }, value)
    const text = { type: "string" }
    assert.deepStrictEqual(loosen({ a: text, b: text }, { a: null, b: null }, ["a"]), { a: null })
    assert.deepStrictEqual(loosen({ next: { $ref: "#" } }, { next: { next: null } }), { next: {} })
    // Which of several a value is of is told by what is in it.
    const choice = (first: object, second: object) => ({
      anyOf: [first, second].map((properties, index) => ({
        type: "object",
        properties,
        required: index === 0 ? ["b"] : []
      }))
    })
    const { a, b } = { a: text, b: { type: "integer" } }
    for (
      const [first, second, value] of [
        [{ b: { type: "integer", const: 1 }, a: { type: "null" } }, { b, a }, { b: 2, a: null }],
        [{ b }, { b, a }, { b: 1, a: null }]
      ] as const
    ) {
      const { a: _, ...rest } = value
      assert.deepStrictEqual(loosen({ x: choice(first, second) }, { x: value }, ["x"]), { x: rest })
    }
  })

  it("what was absent is absent again, and what may be null is still null", () => {
    const json = jsonOf(Everything)
    const encode = Schema.encodeSync(Everything)
    const same = (value: typeof Everything.Encoded) => {
      const plain = JSON.parse(JSON.stringify(value))
      assert.deepStrictEqual(StrictSchema.loosen(json, filled(json, json, plain)), withoutNull(plain))
    }
    // An optional property that may be null says the same by both.
    const withoutNull = (plain: Record<string, unknown>): unknown => ({
      ...plain,
      orNull: plain["orNull"] ?? null,
      choice: typeof plain["choice"] === "object" && (plain["choice"] as { kind: string }).kind === "b"
        ? { x: null, ...plain["choice"] }
        : plain["choice"]
    })
    FastCheck.assert(
      FastCheck.property(Arbitrary.make(Everything), (value) => same(encode(value))),
      { numRuns: 40 }
    )
  })

  it("a value that does not fit is left as it is", () => {
    for (const value of [null, 1, "text", [1], { choice: { kind: "c", x: null } }, { list: [{ y: "three" }] }]) {
      assert.deepStrictEqual(StrictSchema.loosen(jsonOf(Everything), value), value)
    }
  })
})

describe("the value in an answer", () => {
  it.each<readonly [string, string, unknown]>([
    ["itself", " {\"a\":1}\n", { a: 1 }],
    ["a string with a fence in it", JSON.stringify({ a: "```json\n{}\n```" }), { a: "```json\n{}\n```" }],
    ["the last fence", "```\n{\"a\":1}\n```\nor\n```json\n{\"a\":2}\n```\nyours", { a: 2 }],
    ["the last fence that is a value", "```json\r\n{\"a\":1}\r\n```\r\nas in\r\n```ts\r\nlet a\r\n```", { a: 1 }],
    ["a fence without an end", "Here:\n```json\n{\"a\":1}\n", { a: 1 }],
    ["among words", "It is {\"a\":[1]}, I think", { a: [1] }],
    ["a list among words", "They are [1, 2].", [1, 2]],
    ["none", "It is {a}, I think", undefined],
    ["nothing at all", "", undefined]
  ])("%s", (_, text, value) => assert.deepStrictEqual(Option.getOrUndefined(Answer.valueIn(text)), value))

  it("is looked for in time that grows with the answer alone", () => {
    for (const text of ["```\n{\n".repeat(200_000), "{[".repeat(500_000), "}".repeat(1_000_000)]) {
      const before = performance.now()
      assert.isTrue(Option.isNone(Answer.valueIn(text)))
      assert.isBelow(performance.now() - before, 5_000)
    }
  })
})

describe("a schema in words", () => {
  const loose = { type: "object", additionalProperties: { type: "number" } }

  it("stands behind the prompt where Codex could not be held to it", () => {
    for (const dialogue of [undefined, { approvals: false, keep: true }]) {
      const request = ask({ outputSchema: loose, system: "Briefly" })
      const planned = Either.getOrThrow(Codex.driver.plan(request, { ...context, dialogue }))
      assert.deepStrictEqual(planned.files, [])
      assert.isFalse(planned.args.some((arg) => JSON.stringify(arg).includes("output-schema")))
      assert.match(planned.stdin ?? "", /^do it\n\n/)
      assert.include(planned.stdin, JSON.stringify(loose))
    }
    const { progress } = replay(Codex.driver, [
      { type: "item.completed", item: { type: "agent_message", text: "```json\n{\"a\":null}\n```" } },
      { type: "turn.completed" }
    ], ask({ outputSchema: loose }))
    assert.deepStrictEqual(progress.structured, { a: null })
  })

  it("is said again with each prompt of a dialogue", () => {
    const { initial, step, tell } = Codex.driver.protocol
    const opened = initial(ask({ outputSchema: loose }), { ...context, dialogue: { approvals: false, keep: true } })
    const { state } = step(opened, { id: "thread", result: { thread: { id: "t" } } })
    assert.include(JSON.stringify(tell?.(state, { _tag: "Turn", prompt: "And now?" }).replies), "additionalProperties")
  })

  it("stands behind the prompt of Copilot, and its answer is read", () => {
    const planned = Either.getOrThrow(
      Copilot.driver.plan(ask({ outputSchema: loose, system: "Briefly" }), context)
    )
    assert.match(planned.stdin ?? "", /^Briefly\n\ndo it\n\n/)
    assert.include(planned.stdin, JSON.stringify(loose))
    const answered = (content: string) =>
      replay(Copilot.driver, [
        { type: "assistant.message", data: { messageId: "m", content } },
        { type: "result", sessionId: "s", exitCode: 0 }
      ], ask({ outputSchema: loose })).progress
    assert.deepStrictEqual(answered("```json\n{\"a\":1}\n```").structured, { a: 1 })
    const { terminal } = answered("Sorry.")
    assert.deepStrictEqual([terminal?.stop, terminal?.failure?.kind], ["error", "output-invalid"])
  })
})
