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
