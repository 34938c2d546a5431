/**
 * Runs in named sessions: begun, continued, branched, refused, and what is remembered of them.
 */
import { assert, it } from "@effect/vitest"
import * as Agent from "effect-agents/Agent"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import * as Session from "effect-agents/Session"
import * as SessionStore from "effect-agents/SessionStore"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { randomUUID } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { conformance, failsWith, marked } from "../conformance/harness.js"
import { aliveWith, waitUntil } from "../utils/Processes.js"
import * as TempDir from "../utils/TempDir.js"
import { inFiles, key, ref, stem, store } from "./support.js"

const named = (options?: { readonly fork?: boolean }) => Session.named(key.project, key.name, options)

conformance("named sessions", (agent) => {
  const { name, request } = agent

  /** An agent whose sessions are in this directory, and its store. */
  const layerIn = (directory: string, options?: Agent.Options) =>
    Layer.provideMerge(agent.layer(options), inFiles(join(directory, "sessions")))

  const talk = (directory: string, prompt: string, fields?: { readonly fork?: boolean; readonly cwd?: string }) => {
    const { fork, ...rest } = fields ?? {}
    return Agent.run(
      request({ name: "TALK", state: join(directory, "state") }, {
        ...rest,
        prompt,
        session: named(fork === undefined ? {} : { fork })
      })
    )
  }

  const found = Effect.map(Effect.flatMap(store, ({ get }) => get(key)), Option.getOrUndefined)

  const held = (directory: string) => {
    const lease = `${stem(join(directory, "sessions"))}.lease`
    return existsSync(lease) ? readdirSync(lease) : []
  }

  const isKept = (directory: string) => {
    const state = join(directory, "state")
    return existsSync(state) && readdirSync(state).some((name) => name.endsWith(".json"))
  }

  it.scopedLive("an unknown name begins a conversation, a known one continues it", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* Effect.gen(function*() {
        const first = yield* talk(directory, "My name is Ada")
        const record = yield* found
        assert.deepInclude(record, { ...key, agent: name, id: first.session.id, cwd: first.session.cwd })
        const second = yield* talk(directory, "What is my name?")
        assert.strictEqual(second.session.id, first.session.id)
        assert.strictEqual(second.text, "My name is Ada / What is my name?")
        const later = yield* found
        assert.strictEqual(later?.created, record?.created)
        assert.isAbove(later?.updated ?? 0, record?.updated ?? 0)
        assert.deepStrictEqual(held(directory), [])
      }).pipe(Effect.provide(layerIn(directory)))
      // Another agent of the same kind, somewhere else, with nothing but the files.
      const third = yield* talk(directory, "And now?").pipe(Effect.provide(layerIn(directory)))
      assert.strictEqual(third.text, "My name is Ada / What is my name? / And now?")
    }))

  if (name === "copilot") {
    it.scopedLive("a branch is refused before anything is started, and changes nothing", () =>
      Effect.gen(function*() {
        const directory = yield* TempDir.make
        yield* Effect.gen(function*() {
          yield* talk(directory, "My name is Ada")
          const before = yield* found
          yield* failsWith("AgentUnsupported", talk(directory, "I changed it", { fork: true }))
          assert.deepStrictEqual(yield* found, before)
          assert.deepStrictEqual(held(directory), [])
        }).pipe(Effect.provide(layerIn(directory)))
      }))
  } else {
    it.scopedLive("a branch takes over the name, and the original stays as it is", () =>
      Effect.gen(function*() {
        const directory = yield* TempDir.make
        yield* Effect.gen(function*() {
          const first = yield* talk(directory, "My name is Ada")
          const branch = yield* talk(directory, "I changed it", { fork: true })
          assert.notStrictEqual(branch.session.id, first.session.id)
          assert.strictEqual((yield* found)?.id, branch.session.id)
          assert.strictEqual((yield* talk(directory, "And?")).text, "My name is Ada / I changed it / And?")
          const original = yield* Agent.run(
            request({ name: "TALK", state: join(directory, "state") }, {
              prompt: "And?",
              session: Session.resume(first.session)
            })
          )
          assert.strictEqual(original.text, "My name is Ada / And?")
        }).pipe(Effect.provide(layerIn(directory)))
      }))
  }

  it.scopedLive("a branch of what is not there yet is a new conversation", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const { session } = yield* talk(directory, "My name is Ada", { fork: true }).pipe(
        Effect.tap((outcome) => Effect.map(found, (record) => assert.strictEqual(record?.id, outcome.session.id))),
        Effect.provide(layerIn(directory))
      )
      assert.notStrictEqual(session.id, "")
    }))

  it.scopedLive("a name of another agent is refused, for a plan as well, until it is forgotten", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* Effect.gen(function*() {
        const { bind, forget } = yield* store
        yield* bind(key, ref("somebody-elses", "another"))
        const error = yield* failsWith("AgentSessionConflict", talk(directory, "Hello"))
        assert.strictEqual(error.owner, "another")
        yield* failsWith("AgentSessionConflict", Agent.plan(request({}, { session: named() })))
        assert.deepStrictEqual(held(directory), [])
        yield* forget(key)
        assert.strictEqual((yield* talk(directory, "Hello")).text, "Hello")
        yield* forget(key)
        assert.strictEqual((yield* talk(directory, "Again")).text, "Again")
      }).pipe(Effect.provide(layerIn(directory)))
    }))

  it.scopedLive("a plan shows what the next run would do", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* Effect.gen(function*() {
        const { session } = yield* talk(directory, "Hello")
        const { args } = yield* Agent.plan(request({}, { session: named() }))
        assert.include(args.join(" "), session.id)
        assert.match(args.join(" "), /resume/)
      }).pipe(Effect.provide(layerIn(directory)))
    }))

  it.scopedLive("where it works is remembered, and what the request says goes before", () =>
    Effect.gen(function*() {
      const directory = realpathSync(yield* TempDir.make)
      const [one, two] = [join(directory, "one"), join(directory, "two")]
      for (const folder of [one, two]) mkdirSync(folder)
      yield* Effect.gen(function*() {
        const cwds = []
        for (const fields of [{ cwd: one }, {}, { cwd: two }, {}]) {
          cwds.push((yield* talk(directory, "Where?", fields)).session.cwd)
        }
        assert.deepStrictEqual(cwds, [one, one, two, two])
        assert.strictEqual((yield* found)?.cwd, two)
      }).pipe(Effect.provide(layerIn(directory)))
    }))

  it.scopedLive("a second run of the name is refused while the first one goes on, and not after it", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const directory = yield* TempDir.make
        const stop = join(directory, "stop")
        yield* Effect.scoped(Effect.gen(function*() {
          const run = yield* Agent.start(
            request({
              state: join(directory, "state"),
              mark,
              steps: [{ do: "start" }, { do: "waitFor", path: stop }, { do: "recall" }]
            }, { prompt: "First", session: named() })
          )
          const busy = yield* failsWith("AgentSessionBusy", talk(directory, "Second"))
          assert.strictEqual(busy.pid, process.pid)
          assert.isAtMost(Math.abs(busy.since - Date.now()), 20_000)
          // Bound since the agent has named it, long before it is done.
          const { id } = yield* run.session
          assert.strictEqual((yield* found)?.id, id)
          writeFileSync(stop, "")
          assert.strictEqual((yield* run.outcome).text, "First")
          // The scope is still open, the run is over.
          assert.strictEqual((yield* talk(directory, "Second")).text, "First / Second")
        })).pipe(Effect.provide(layerIn(directory)))
      })
    ))

  it.scopedLive("interruption releases the name, once nothing of the run is left, and the next one continues", () =>
    marked((mark) =>
      Effect.gen(function*() {
        const directory = yield* TempDir.make
        yield* Effect.gen(function*() {
          const fiber = yield* Effect.fork(Agent.run(
            request({
              state: join(directory, "state"),
              mark,
              steps: [{ do: "start" }, { do: "keep" }, { do: "spawn", kinds: ["stubborn"] }, { do: "idle" }]
            }, { prompt: "First", session: named() })
          ))
          yield* waitUntil("it is bound", Effect.map(found, (record) => record !== undefined))
          yield* waitUntil("it is kept", Effect.sync(() => isKept(directory)))
          assert.deepStrictEqual(held(directory), ["1"])
          const id = (yield* found)?.id
          const released = yield* waitUntil("it is released", Effect.sync(() => held(directory).length === 0)).pipe(
            Effect.zipRight(aliveWith(mark)),
            Effect.fork
          )
          yield* Fiber.interrupt(fiber)
          assert.deepStrictEqual(yield* Fiber.join(released), [])
          const next = yield* talk(directory, "Second")
          assert.strictEqual(next.session.id, id)
          assert.strictEqual(next.text, "First / Second")
        }).pipe(Effect.provide(layerIn(directory)))
      })
    ))

  it.scopedLive("a run that never began leaves no name behind", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      // Nor is it held any longer, although the scope is still open.
      yield* failsWith("AgentNotInstalled", Agent.start(request({}, { session: named() }))).pipe(
        Effect.provide(layerIn(directory, { program: "/nowhere/agent" }))
      )
      assert.deepStrictEqual(held(directory), [])
      yield* Effect.gen(function*() {
        const silent = Agent.run(request({ name: "SILENT", code: 3 }, { session: named() }))
        yield* failsWith("AgentFailed", silent)
        assert.isUndefined(yield* found)
        assert.deepStrictEqual(held(directory), [])
        assert.strictEqual((yield* talk(directory, "Hello")).text, "Hello")
      }).pipe(Effect.provide(layerIn(directory)))
    }))

  it.scopedLive("a turn that failed is to be continued", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      yield* Effect.gen(function*() {
        const error = yield* failsWith(
          "AgentRateLimited",
          Agent.run(request({ name: "FAIL", kind: "rate" }, { session: named() }))
        )
        assert.strictEqual((yield* found)?.id, error.partial.session?.id)
      }).pipe(Effect.provide(layerIn(directory)))
    }))

  it.scopedLive("a conversation that changes its id on the way is remembered by the newest", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const goOn = join(directory, "go on")
      yield* Effect.gen(function*() {
        const steps = [{ do: "start" }, { do: "waitFor", path: goOn }, { do: "forget" }, { do: "start" }]
        const end = [{ do: "text", text: "Done" }, { do: "end", text: "Done" }]
        const run = yield* Agent.start(
          request({ steps: [...steps, ...end], session: randomUUID() }, { session: named() })
        )
        const first = yield* run.session
        assert.strictEqual((yield* found)?.id, first.id)
        writeFileSync(goOn, "")
        const { session } = yield* run.outcome
        assert.notStrictEqual(session.id, first.id)
        assert.strictEqual((yield* found)?.id, session.id)
      }).pipe(Effect.provide(layerIn(directory)))
    }))

  for (const [how, scenario] of [["does not know", "TALK"], ["silently replaces", "AMNESIC"]] as const) {
    it.scopedLive(`a conversation that the agent ${how} is an error that says how to begin anew`, () =>
      Effect.gen(function*() {
        const directory = yield* TempDir.make
        const id = randomUUID()
        yield* Effect.gen(function*() {
          const { bind } = yield* store
          const record = yield* bind(key, ref(id, name, directory))
          const ask = request({ name: scenario, state: join(directory, "state") }, { session: named() })
          const error = yield* failsWith("AgentSessionNotFound", Agent.run(ask))
          assert.strictEqual(error.id, id)
          assert.deepStrictEqual(error.named, key)
          assert.include(error.message, "forget that in the SessionStore")
          const told = yield* Effect.flip(Stream.runDrain(Agent.stream(ask)))
          assert.include(told.message, "forget that in the SessionStore")
          assert.deepStrictEqual(yield* found, record)
        }).pipe(Effect.provide(layerIn(directory)))
      }))
  }

  it.scopedLive("a record that says nothing keeps a run from starting", () =>
    Effect.gen(function*() {
      const directory = yield* TempDir.make
      const file = `${stem(join(directory, "sessions"))}.json`
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, "{")
      const dump = join(directory, "dump")
      const error = yield* failsWith(
        "AgentSessionStoreError",
        Agent.run(request({ name: "OK", dump }, { session: named() }))
      ).pipe(Effect.provide(layerIn(directory)))
      assert.strictEqual(error.file, file)
      assert.isFalse(existsSync(dump))
    }))

  it.scopedLive("an answer is not lost when it cannot be remembered", () =>
    Effect.gen(function*() {
      const full = SessionStore.SessionStore.pipe(
        Effect.map((inner) => ({
          ...inner,
          bind: (key: SessionStore.Key) => inner.bind(key, ref("--no-id"))
        })),
        Effect.provide(SessionStore.layerMemory)
      )
      const error = yield* failsWith(
        "AgentSessionUnbound",
        Agent.run(request({ name: "OK", text: "It is done" }, { session: named() }))
      ).pipe(Effect.provide(Layer.provide(agent.layer(), Layer.effect(SessionStore.SessionStore, full))))
      assert.strictEqual(error.partial.text, "It is done")
      assert.strictEqual(error.partial.session?.agent, name)
      assert.include(error.message, "not remembered")
    }))
})

conformance("the store of an agent", ({ layer, name, request }) => {
  const ask = (project: string, state: string, prompt: string) =>
    Agent.run(request({ name: "TALK", state }, { prompt, session: Session.named(project, "x") }))

  it.scopedLive("is the one in memory, where its layer is given that", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const project = randomUUID()
      const memory = Layer.provide(layer(), SessionStore.layerMemory)
      const texts = Effect.zip(ask(project, state, "One"), ask(project, state, "Two"))
      assert.deepStrictEqual((yield* Effect.provide(texts, memory)).map(({ text }) => text), ["One", "One / Two"])
      assert.strictEqual((yield* Effect.provide(ask(project, state, "Three"), memory)).text, "Three")
    }))

  it.scopedLive("is that of the user, where it is given none", () =>
    Effect.gen(function*() {
      const state = yield* TempDir.make
      const project = randomUUID()
      yield* Effect.provide(ask(project, state, "One"), layer())
      yield* Effect.gen(function*() {
        const { forget, list } = yield* store
        const own = (yield* list).filter((record) => record.project === project)
        assert.deepStrictEqual(own.map(({ agent, name }) => [agent, name]), [[name, "x"]])
        yield* forget({ project, name: "x" })
      }).pipe(Effect.provide(Layer.provide(SessionStore.layer, NodeProcessTree.layer)))
      assert.strictEqual((yield* Effect.provide(ask(project, state, "Two"), layer())).text, "Two")
    }))
})
