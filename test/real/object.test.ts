/** Values as answers, by the real CLIs: the schema reaches the model, and what does not fit is mended in its session. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Agent from "effect-agents/Agent"
import * as Approval from "effect-agents/Approval"
import { expectGone } from "../utils/Processes.js"
import * as Rig from "./rig.js"

/** Of every kind that a provider might not take, and a rule that no JSON schema knows. */
const Finding = Schema.Struct({
  id: Schema.UUID,
  file: Schema.NonEmptyString,
  line: Schema.Int.pipe(Schema.between(1, 99)),
  at: Schema.Date,
  even: Schema.Number.pipe(Schema.filter((n) => n % 2 === 0 || `${n} is odd`)),
  severity: Schema.Literal("low", "high"),
  fix: Schema.optional(Schema.String),
  spot: Schema.Union(
    Schema.Struct({ kind: Schema.Literal("line"), line: Schema.Number }),
    Schema.Struct({ kind: Schema.Literal("file"), note: Schema.optional(Schema.String) })
  )
})

const finding = (even: number) => ({
  id: "0199a213-81c0-4800-8aa1-bbab2a035a53",
  file: "src/a.ts",
  line: 7,
  at: "2026-01-02T03:04:05.000Z",
  even,
  severity: "low",
  spot: { kind: "file" }
})

/** The strict form of the same, as a model gives it that is held to it. */
const strict = (even: number) => ({ ...finding(even), fix: null, spot: { kind: "file", note: null } })

const value = { ...finding(2), at: new Date("2026-01-02T03:04:05.000Z") }

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("object", (it) => {
  for (const cli of Rig.all) {
    for (const dialogue of cli.name === "copilot" ? [false] : [false, true]) {
      it.scoped(`${cli.name}: a value, after one repair${dialogue ? ", with somebody to ask" : ""}`, () =>
        Effect.gen(function*() {
          const place = yield* Rig.makePlace
          const texts = [1, 2].map((even) => JSON.stringify(cli.name === "codex" ? strict(even) : finding(even)))
          const route = yield* Rig.open("object", {
            _tag: "Answers",
            texts: cli.name === "copilot" ? texts.map((text) => `Here:\n\`\`\`json\n${text}\n\`\`\``) : texts
          })
          const request = yield* Rig.request(cli, place, route.url, { prompt: "the first question" })
          const answer = yield* Agent.object(request, Finding, {
            approve: dialogue ? () => Effect.succeed(Approval.deny("not here")) : undefined
          }).pipe(Effect.provide(Rig.agent(cli)))
          assert.deepStrictEqual(answer.value, value)
          assert.strictEqual(answer.repairs, 1)
          assert.strictEqual(answer.outcome.teardown.verified, "empty")
          const turns = yield* route.turns
          assert.strictEqual(turns.length, 2)
          const [first, second] = turns
          assert.notInclude(first, "1 is odd")
          assert.include(second, "the first question", "the repair goes on in the conversation")
          assert.include(second, "1 is odd")
          // The schema is there each time: as a format that the model is held to, as a tool, or in words.
          for (const turn of turns) {
            assert.include(
              turn,
              { claude: "StructuredOutput", codex: "\"strict\":true", copilot: "JSON schema" }[cli.name]
            )
            assert.include(turn, "severity")
          }
          const { inputTokens } = answer.outcome.usage
          assert.strictEqual(
            inputTokens,
            { claude: 200, codex: dialogue ? 200 : 100, copilot: undefined }[cli.name]
          )
          yield* expectGone(place.mark)
          yield* Rig.expectNothingOutside
        }))
    }

    it.scoped(`${cli.name}: a value of any keys, and one that is no object`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const keys = yield* Rig.open("object", { _tag: "Answers", texts: [JSON.stringify({ a: 1, b: 2 })] })
        const counts = Schema.Record({ key: Schema.String, value: Schema.Number })
        const request = yield* Rig.request(cli, place, keys.url, { prompt: "count" })
        const counted = yield* Agent.object(request, counts, { repairs: 0 }).pipe(Effect.provide(Rig.agent(cli)))
        assert.deepStrictEqual(counted.value, { a: 1, b: 2 })
        const list = yield* Rig.open("object", { _tag: "Answers", texts: [JSON.stringify({ value: [1, 2] })] })
        const other = yield* Rig.request(cli, yield* Rig.makePlace, list.url, { prompt: "list" })
        const listed = yield* Agent.object(other, Schema.Array(Schema.Number), { repairs: 0 }).pipe(
          Effect.provide(Rig.agent(cli))
        )
        assert.deepStrictEqual(listed.value, [1, 2])
      }))

    it.scoped(`${cli.name}: no value at all, after one repair`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("object", { _tag: "Text", text: "I would rather not." })
        const request = yield* Rig.request(cli, place, route.url, { prompt: "the first question" })
        const error = yield* Agent.object(request, Finding, { repairs: 1 }).pipe(
          Effect.provide(Rig.agent(cli)),
          Effect.flip
        )
        assert.strictEqual(error._tag, "AgentOutputInvalid", error.message)
        if (error._tag !== "AgentOutputInvalid") return
        assert.match(error.partial.session?.id ?? "", /^[0-9a-f-]{36}$/)
        assert.include(error.partial.text, "rather not")
        assert.include((yield* route.turns).at(-1), "Your answer cannot be used")
        yield* expectGone(place.mark)
      }))
  }
})
