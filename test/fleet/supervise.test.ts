/**
 * Runs that are taken up again, and runs with a config home of their own.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as AgentError from "effect-agents/AgentError"
import * as AgentRequest from "effect-agents/AgentRequest"
import type * as AgentRun from "effect-agents/AgentRun"
import * as Fleet from "effect-agents/Fleet"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Session from "effect-agents/Session"
import * as Teardown from "effect-agents/Teardown"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { conformance, marked } from "../conformance/harness.js"
import * as Fakes from "../utils/Fakes.js"
import { empty, outcome as anOutcome } from "../utils/Reports.js"
import * as TempDir from "../utils/TempDir.js"

const partial = (fields: Partial<AgentError.Partial>): AgentError.Partial => ({
  text: "",
  usage: {},
  openToolCalls: [],
  filesChanged: [],
  attempts: [],
  resumable: "yes",
  session: Session.SessionRef.make({ agent: "fake", id: "s1", cwd: "/" }),
  exit: { code: 1, signal: null },
  stderrTail: "",
  unparsed: 0,
  teardown: empty,
  ...fields
})

const overloaded = (fields: Partial<AgentError.Partial> = {}) =>
  new AgentError.AgentOverloaded({ agent: "fake", detail: "529", partial: partial(fields) })

const outcome = anOutcome({ text: "done" })

/** An agent that fails with these errors, one after the other, and then answers; it notes what it was asked. */
const failing = (errors: ReadonlyArray<AgentError.AgentError>) => {
  const asked: Array<AgentRequest.AgentRequest> = []
  let live = 0
  let most = 0
  const layer = Layer.succeed(Agent.Agent, {
    name: "fake",
    conversation: () => Effect.dieMessage("not talked to"),
    plan: () => Effect.fail(new AgentError.AgentUnsupported({ agent: "fake", what: "plans" })),
    probe: () => Effect.dieMessage("not asked"),
    start: (request) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          most = Math.max(most, ++live)
          return asked.push(request)
        }),
        () => Effect.sync(() => live--)
      ).pipe(
        Effect.map((count) => {
          const error = errors[count - 1]
          return {
            agent: "fake",
            events: Stream.empty,
            session: Effect.never,
            outcome: error === undefined ? Effect.succeed(outcome) : Effect.fail(error)
          } as unknown as AgentRun.AgentRun // supervision looks at nothing else
        })
      )
  })
  return { asked, layer, most: () => most }
}

class Refused extends Data.TaggedError("Refused")<{}> {
  readonly isTransient = true
}

const request = AgentRequest.make({ prompt: "work", permission: "Edit", cwd: "/tmp", extraArgs: ["--x"] })
const thrice = Schedule.recurs(3)

describe("supervise", () => {
  it.effect("goes on with the same conversation, one run at a time, and keeps the errors", () =>
    Effect.gen(function*() {
      const { asked, layer, most } = failing([overloaded(), overloaded({ resumable: "no" })])
      const { errors, outcome } = yield* Effect.provide(Fleet.supervise(request, thrice), layer)
      assert.strictEqual(outcome.text, "done")
      assert.deepStrictEqual(errors.map(({ _tag }) => _tag), ["AgentOverloaded", "AgentOverloaded"])
      assert.deepStrictEqual(asked[0], request)
      assert.include(asked[1]?.prompt, "cut off")
      const { prompt, ...rest } = request
      assert.deepInclude({ ...asked[1] }, { ...rest, session: Session.Resume.make({ id: "s1", agent: "fake" }) })
      assert.notStrictEqual(asked[1]?.prompt, prompt)
      // Nothing had begun, so the same is asked for: to go on.
      assert.deepStrictEqual(asked[2], asked[1])
      assert.strictEqual(most(), 1)
    }))

  it.effect("goes on by the name of a named session, which is held, remembered and where it works", () =>
    Effect.gen(function*() {
      const { asked, layer } = failing([overloaded(), overloaded()])
      const branch = AgentRequest.make({ prompt: "work", session: Session.named("app", "fix", { fork: true }) })
      yield* Effect.provide(Fleet.supervise(branch, thrice), layer)
      assert.deepStrictEqual(asked.slice(1).map(({ session }) => session), Array(2).fill(Session.named("app", "fix")))
    }))

  it.effect("a prompt of one's own", () =>
    Effect.gen(function*() {
      const { asked, layer } = failing([overloaded()])
      yield* Effect.provide(Fleet.supervise(request, thrice, { prompt: ({ _tag }) => `after ${_tag}` }), layer)
      assert.strictEqual(asked[1]?.prompt, "after AgentOverloaded")
    }))

  const finals: Record<string, AgentError.AgentError> = {
    "an error that does not pass": new AgentError.AgentTurnFailed({
      agent: "fake",
      detail: "no",
      stop: "error",
      partial: partial({})
    }),
    "a run of which nobody knows whether it can be continued": overloaded({ resumable: "unknown" }),
    "a run of which something is still there": overloaded({
      teardown: Teardown.TeardownReport.make({ ...empty, verified: "survivors" })
    })
  }
  for (const [name, error] of Object.entries(finals)) {
    it.effect(`${name} is final`, () =>
      Effect.gen(function*() {
        const { asked, layer } = failing([error])
        const failed = yield* Effect.flip(Effect.provide(Fleet.supervise(request, thrice), layer))
        assert.strictEqual(failed._tag, "SuperviseFailed")
        assert.strictEqual(failed.last, error)
        assert.strictEqual(asked.length, 1)
      }))
  }

  it.effect("what a handler of the caller's fails with is final, and the caller's", () =>
    Effect.gen(function*() {
      const { asked, layer } = failing([new Refused() as never]) // the handler's, which a run passes on
      const failed = yield* Effect.flip(Effect.provide(
        Fleet.supervise(request, thrice, { approve: () => Effect.fail(new Refused()) }),
        layer
      ))
      assert.strictEqual(failed._tag, "Refused")
      assert.strictEqual(asked.length, 1)
    }))

  it.effect("when the schedule ends, all errors are told; what was never begun is asked for again", () =>
    Effect.gen(function*() {
      const full = new AgentError.FleetFull({ size: 1, live: 1, queue: 0, waiting: 0 })
      const { asked, layer } = failing([full, overloaded(), overloaded(), overloaded()])
      const failed = yield* Effect.flip(Effect.provide(Fleet.supervise(request, thrice), layer))
      assert.deepStrictEqual(failed.errors.map(({ _tag }) => _tag), ["FleetFull", ...Array(3).fill("AgentOverloaded")])
      assert.deepStrictEqual(asked[1], request)
      assert.strictEqual(asked.length, 4)
    }))
})

const homes = {
  claude: { variable: "CLAUDE_CONFIG_DIR", folder: ".claude", config: "settings.json", account: ".credentials.json" },
  codex: { variable: "CODEX_HOME", folder: ".codex", config: "config.toml", account: "auth.json" },
  copilot: { variable: "COPILOT_HOME", folder: ".copilot", config: "mcp-config.json", account: "config.json" }
}
const keys = { claude: "ANTHROPIC_API_KEY", codex: "CODEX_API_KEY", copilot: "GH_TOKEN" }

conformance("supervise", (agent) => {
  it.scopedLive("resumes the conversation by its id", () =>
    marked(() =>
      Effect.gen(function*() {
        const state = yield* TempDir.make
        const dump = join(state, "dump.json")
        // Its first turn is remembered, and ends before it is over.
        const cut = agent.request({
          state,
          dump,
          steps: [{ do: "start" }, { do: "recall" }]
        }, { prompt: "first" })
        const first = yield* Agent.run(cut)
        const inner = yield* Agent.Agent
        let failures = 1
        const failsOnce = Layer.succeed(Agent.Agent, {
          ...inner,
          start: (request) =>
            Effect.map(inner.start(request), (run) => ({
              ...run,
              outcome: Effect.flatMap(run.outcome, (outcome) =>
                failures-- > 0
                  ? Effect.fail(overloaded({ session: outcome.session, teardown: outcome.teardown }))
                  : Effect.succeed(outcome))
            }))
        })
        const { errors, outcome } = yield* Effect.provide(
          Fleet.supervise(cut, thrice, { prompt: () => "go on" }),
          failsOnce
        )
        assert.strictEqual(errors.length, 1)
        assert.strictEqual(outcome.text, "first / go on")
        assert.notStrictEqual(outcome.session.id, first.session.id)
      }).pipe(Effect.provide(agent.layer()))
    ))
})

conformance("isolated", (agent) => {
  const home = homes[agent.name]

  const setUp = Effect.map(TempDir.make, (user) => {
    const folder = join(user, home.folder)
    mkdirSync(join(folder, "agents"), { recursive: true })
    writeFileSync(join(folder, home.config), "settings")
    writeFileSync(join(folder, "agents", "one.md"), "agent")
    writeFileSync(join(folder, "state.sqlite"), "not configuration")
    return { user, folder }
  })

  it.scopedLive("a run has a copy of the configuration to itself, which goes with the scope", () =>
    Effect.gen(function*() {
      const { folder, user } = yield* setUp
      writeFileSync(join(folder, home.account), "{\"OPENAI_API_KEY\":\"static\",\"tokens\":null}")
      const dump = join(user, "dump.json")
      const directory = yield* Effect.scoped(Effect.gen(function*() {
        const request = yield* Fleet.isolated(agent.request({ name: "OK", dump }, { env: { HOME: user } }))
        yield* Agent.run(request)
        const { env } = yield* Fakes.readDump(dump)
        const directory = env[home.variable] ?? ""
        assert.notStrictEqual(directory, folder)
        assert.strictEqual(readFileSync(join(directory, home.config), "utf8"), "settings")
        assert.include(readFileSync(join(directory, home.account), "utf8"), "static")
        assert.isFalse(existsSync(join(directory, "state.sqlite")))
        assert.strictEqual(statSync(directory).mode & 0o777, 0o700)
        if (agent.name !== "codex") assert.isTrue(existsSync(join(directory, "agents", "one.md")))
        // Another one is another one.
        const other = yield* Fleet.isolated(agent.request({ name: "OK" }, { env: { HOME: user } }))
        assert.notStrictEqual(other.env[home.variable], directory)
        writeFileSync(join(directory, home.config), "changed")
        return directory
      }))
      assert.isFalse(existsSync(directory))
      assert.strictEqual(readFileSync(join(folder, home.config), "utf8"), "settings")
    }).pipe(Effect.provide(Layer.merge(agent.layer(), NodeProcessTree.layer))))

  it.scopedLive("a login that is renewed is not copied: refused, unless the account is in the environment", () =>
    Effect.gen(function*() {
      const { folder } = yield* setUp
      const login = agent.name === "claude"
        ? "{\"claudeAiOauth\":{\"refreshToken\":\"r\"}}"
        : "{\"tokens\":{\"refresh_token\":\"r\"}}"
      writeFileSync(join(folder, home.account), login)
      const isolated = (env: Record<string, string>) =>
        // Where the variable is set, that is where the configuration is.
        Fleet.isolated(agent.request({ name: "OK" }, { env: { HOME: "/nowhere", [home.variable]: folder, ...env } }))
      const error = yield* Effect.flip(isolated({}))
      assert.strictEqual(error._tag, "AgentUnsupported")
      assert.include(error.message, keys[agent.name])
      const request = yield* isolated({ [keys[agent.name]]: "k" })
      const directory = request.env[home.variable] ?? ""
      assert.isTrue(existsSync(join(directory, home.config)))
      assert.isFalse(existsSync(join(directory, home.account)))
    }).pipe(Effect.provide(Layer.merge(agent.layer(), NodeProcessTree.layer))))

  it.scopedLive("a conversation that exists is refused", () =>
    Effect.gen(function*() {
      const request = agent.request({ name: "OK" }, { session: Session.resume("s1") })
      const error = yield* Effect.flip(Fleet.isolated(request))
      assert.strictEqual(error._tag, "AgentUnsupported")
    }).pipe(Effect.provide(Layer.merge(agent.layer(), NodeProcessTree.layer))))
})

describe("isolated", () => {
  it.scopedLive("an agent whose configuration is not known is refused", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Fleet.isolated(request))
      assert.strictEqual(error._tag, "AgentUnsupported")
    }).pipe(Effect.provide(Layer.merge(failing([]).layer, NodeProcessTree.layer))))
})
