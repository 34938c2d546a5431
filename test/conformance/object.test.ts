/**
 * Answers that are values: given to the CLI as a schema, decoded, mended in the same conversation.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import type * as AgentError from "effect-agents/AgentError"
import type * as AgentRequest from "effect-agents/AgentRequest"
import type * as Approval from "effect-agents/Approval"
import * as Session from "effect-agents/Session"
import * as SessionStore from "effect-agents/SessionStore"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Fakes from "../utils/Fakes.js"
import { expectGone, waitForSleepers, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { conformance, failsWith, marked } from "./harness.js"

const Finding = Schema.Struct({
  file: Schema.String,
  at: Schema.Date,
  fix: Schema.optional(Schema.String)
})

const good = JSON.stringify({ file: "a.ts", at: "2026-01-02T03:04:05.000Z" })
const wrong = JSON.stringify({ file: 7, at: "2026-01-02T03:04:05.000Z" })
const value = { file: "a.ts", at: new Date("2026-01-02T03:04:05.000Z") }

class Limit extends Context.Tag("test/Limit")<Limit, number>() {}

const Bounded = Schema.Struct({ n: Schema.Number }).pipe(
  Schema.filterEffect(({ n }) => Effect.map(Limit, (limit) => n <= limit || `more than ${limit}`))
)

conformance("object", (agent) => {
  const { layer, name, request } = agent

  const answering = (
    state: string,
    answers: ReadonlyArray<string>,
    fields?: Parameters<typeof request>[1]
  ): AgentRequest.AgentRequest => request({ name: "ANSWERS", state, answers }, { prompt: "Look", ...fields })

  /** What was asked, turn by turn, in the one conversation that there is. */
  const asked = (state: string): ReadonlyArray<string> => {
    const conversations = readdirSync(state).filter((name) => name.endsWith(".json"))
    assert.strictEqual(conversations.length, 1, "one conversation for all")
    return JSON.parse(readFileSync(join(state, conversations[0] ?? ""), "utf8"))
  }

  it.scopedLive("the answer is the value", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const answer = yield* Agent.object(answering(state, [good]), Finding)
      assert.deepStrictEqual(answer.value, value)
      assert.strictEqual(answer.repairs, 0)
      assert.strictEqual(answer.outcome.teardown.verified, "empty")
      assert.strictEqual(asked(state).length, 1)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("the CLI gets the schema, by its option or in words", () =>
    Effect.gen(function*() {
      const folder = yield* TempDir.make
      const dump = join(folder, "dump.json")
      yield* Agent.object(
        request({ name: "ANSWERS", state: folder, answers: [good], dump }, { system: "Briefly" }),
        Finding
      )
      const { argv, files, prompt } = yield* Fakes.readDump(dump)
      const text = name === "claude"
        ? argv[argv.indexOf("--json-schema") + 1]
        : name === "codex"
        ? files["schema.json"]?.content
        : prompt?.slice(prompt.indexOf("{"))
      const schema = JSON.parse(text ?? "")
      assert.deepStrictEqual(Object.keys(schema.properties), ["file", "at", "fix"])
      assert.strictEqual(schema.additionalProperties, false)
      // What OpenAI is held to has no property that may be absent.
      assert.deepStrictEqual(schema.required, name === "codex" ? ["file", "at", "fix"] : ["file", "at"])
    }).pipe(Effect.provide(layer())))

  it.scopedLive("what does not fit goes back into the conversation with what is wrong, and usage adds up", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const once = yield* Agent.object(answering(state, [good]), Finding)
      const again = yield* TempDir.make
      const { outcome, repairs, ...rest } = yield* Agent.object(answering(again, [wrong, good]), Finding)
      assert.deepStrictEqual(rest.value, value)
      assert.strictEqual(repairs, 1)
      const [first, second, third] = asked(again)
      assert.include(first, "Look")
      assert.include(second, "Expected string, actual 7")
      assert.isUndefined(third)
      // Copilot counts no tokens, and Codex tells those of the whole conversation only.
      const of = (field: "inputTokens" | "durationMs") => [once.outcome.usage[field], outcome.usage[field]]
      assert.deepStrictEqual(
        of("inputTokens"),
        {
          claude: [100, 200],
          codex: [100, 100],
          copilot: [undefined, undefined]
        }[name]
      )
      assert.deepStrictEqual(
        of("durationMs"),
        {
          claude: [96, 192],
          codex: [undefined, undefined],
          copilot: [268, 268]
        }[name]
      )
    }).pipe(Effect.provide(layer())))

  it.scopedLive("no JSON at all is mended too, and after all repairs the error has the text, the cause and the session", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const error = yield* failsWith(
        "AgentOutputInvalid",
        Agent.object(answering(state, ["Sorry.", wrong, "Sorry again."]), Finding)
      )
      assert.strictEqual(error.partial.text, "Sorry again.")
      assert.isUndefined(error.cause)
      assert.isFalse(error.isTransient)
      assert.strictEqual(asked(state).length, 3)
      assert.strictEqual(error.partial.teardown?.verified, "empty")
      assert.strictEqual(error.partial.usage.inputTokens, { claude: 300, codex: 100, copilot: undefined }[name])
      const other = yield* TempDir.make
      const decoded = yield* failsWith(
        "AgentOutputInvalid",
        Agent.object(answering(other, [wrong]), Finding, { repairs: 0 })
      )
      assert.strictEqual(decoded.partial.text, wrong)
      assert.propertyVal(decoded.cause, "_tag", "ParseError")
      assert.include((decoded.cause as ParseResult.ParseError).message, "Expected string, actual 7")
      assert.strictEqual(asked(other).length, 1)
      // Where it stands, the caller can go on.
      const { outcome } = yield* Agent.object(
        answering(other, [wrong, good], { session: Session.resume(decoded.partial.session!) }),
        Finding
      )
      assert.strictEqual(outcome.session.id, decoded.partial.session?.id)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("a value that is no object, and one in words or in a fence", () =>
    Effect.gen(function*() {
      const list = yield* Agent.object(answering(yield* TempDir.make, ["{\"value\":[1,2]}"]), Schema.Array(Schema.Int))
      assert.deepStrictEqual(list.value, [1, 2])
      if (name === "claude") return
      const fenced = `Not this:\n\`\`\`json\n{"file":\n\`\`\`\nHere it is:\n\`\`\`json\n${good}\n\`\`\`\nDone {or not}.`
      const answer = yield* Agent.object(answering(yield* TempDir.make, [fenced]), Finding, { repairs: 0 })
      assert.deepStrictEqual(answer.value, value)
      const words = yield* Agent.object(answering(yield* TempDir.make, [`It is ${good}, I think.`]), Finding, {
        repairs: 0
      })
      assert.deepStrictEqual(words.value, value)
    }).pipe(Effect.provide(layer())))

  it.scopedLive("each run has ended with all that it started before the next one begins", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const state = yield* TempDir.make
        const steps = [
          { do: "start" },
          { do: "census" },
          { do: "answer" },
          { do: "spawn", kinds: ["daemon", "setsid"] },
          { do: "exit", code: 0 }
        ]
        const { repairs } = yield* Agent.object(
          request({ steps, mark, state, answers: ["No.", "No.", good] }),
          Finding
        )
        assert.strictEqual(repairs, 2)
        assert.strictEqual(readFileSync(join(state, "census"), "utf8"), "0\n0\n0\n")
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("ended in the middle of a repair: nothing is left", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const state = yield* TempDir.make
        const repairing = join(state, "repairing")
        const steps = [
          { do: "start" },
          { do: "answerOnce", path: repairing },
          { do: "spawn", kinds: ["daemon", "setsid"] },
          { do: "idle" }
        ]
        const error = yield* Effect.raceFirst(
          Agent.object(request({ steps, mark, state, answers: ["No."] }), Finding),
          Effect.zipRight(waitForSleepers(mark, 2), Effect.fail("enough" as const))
        ).pipe(Effect.flip)
        assert.strictEqual(error, "enough")
        assert.isTrue(existsSync(repairing), "it was the second run that was ended")
        yield* expectGone(mark)
      })
    ).pipe(Effect.provide(layer())))

  it.scopedLive("what the schema needs is the caller's, and what goes wrong otherwise is not mended", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const bounded = Agent.object(answering(state, ["{\"n\":5}", "{\"n\":3}"]), Bounded)
      const { repairs, value } = yield* Effect.provideService(bounded, Limit, 4)
      assert.deepStrictEqual(value, { n: 3 })
      assert.strictEqual(repairs, 1)
      assert.include(asked(state)[1], "more than 4")
      const failed = yield* TempDir.make
      yield* failsWith(
        "AgentRateLimited",
        Agent.object(request({ name: "FAIL", kind: "rate", state: failed }), Finding)
      )
      assert.deepStrictEqual(readdirSync(failed), [])
    }).pipe(Effect.provide(layer())))

  it.scopedLive("a schema without a JSON schema is refused before anything is started", () =>
    Effect.gen(function*() {
      const folder = yield* TempDir.make
      const dump = join(folder, "dump.json")
      const error = yield* failsWith(
        "AgentUnsupported",
        Agent.object(request({ name: "OK", dump }), Schema.Struct({ big: Schema.SymbolFromSelf }))
      )
      assert.include(error.hint, "symbol")
      assert.isFalse(existsSync(dump))
    }).pipe(Effect.provide(layer())))

  it.scopedLive("files go with the question, not with its repair", () =>
    Effect.gen(function*() {
      const folder = yield* TempDir.make
      const dump = join(folder, "dump.json")
      writeFileSync(join(folder, "a.png"), "")
      const attachments = [{ path: join(folder, "a.png") }]
      const given = (repairs: number) =>
        Agent.object(
          request({ name: "ANSWERS", state: folder, answers: ["No.", good], dump }, { attachments }),
          Finding,
          { repairs }
        ).pipe(Effect.ignore, Effect.zipRight(Fakes.readDump(dump)))
      assert.include(JSON.stringify(yield* given(0)), "a.png")
      assert.notInclude(JSON.stringify((yield* given(1)).argv), "a.png")
      assert.notInclude((yield* Fakes.readDump(dump)).prompt, "a.png")
    }).pipe(Effect.provide(layer())))

  it.scopedLive("by name: the name is held while it is repaired", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const repairing = join(state, "repairing")
      const session = Session.named("object", "held")
      const steps = [{ do: "start" }, { do: "answerOnce", path: repairing }, { do: "idle" }]
      yield* Effect.fork(Agent.object(request({ steps, state, answers: ["No."] }, { session }), Finding))
      yield* waitUntil("the repair", Effect.sync(() => existsSync(repairing)))
      yield* failsWith("AgentSessionBusy", Agent.run(request({ name: "TALK", state }, { session })))
    }).pipe(Effect.provide(Layer.provideMerge(layer(), SessionStore.layerMemory))))

  it.scopedLive("by name: the repair goes on in the conversation that the name stands for", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const session = Session.named("object", "review")
      const { outcome, repairs } = yield* Agent.object(answering(state, ["No.", good], { session }), Finding)
      assert.strictEqual(repairs, 1)
      assert.strictEqual(asked(state).length, 2)
      const store = yield* SessionStore.SessionStore
      const found = yield* store.get({ project: "object", name: "review" })
      assert.strictEqual(Option.getOrThrow(found).id, outcome.session.id)
    }).pipe(Effect.provide(Layer.provideMerge(layer(), SessionStore.layerMemory))))
})

it("the types of an answer: the schema's, the handler's, and no scope", () => {
  const request: AgentRequest.AgentRequest = undefined as never
  const approve: Approval.Handler<"no", Scope.Scope | "service"> = undefined as never
  const typed = () => Agent.object(request, Bounded, { approve })
  type Exact<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
  const value: Exact<Effect.Effect.Success<ReturnType<typeof typed>>["value"], { readonly n: number }> = true
  const error: Exact<Effect.Effect.Error<ReturnType<typeof typed>>, AgentError.AgentError | "no"> = true
  const needs: Exact<Effect.Effect.Context<ReturnType<typeof typed>>, Agent.Agent | Limit | "service"> = true
  const plain: Exact<
    Effect.Effect.Context<ReturnType<typeof Agent.object<string, string, never>>>,
    Agent.Agent
  > = true
  assert.isTrue(value && error && needs && plain)
})
