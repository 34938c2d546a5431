/** Nothing that a real CLI started outlives its run, however the run ends. Judged by the process table. */
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Agent from "effect-agents/Agent"
import type * as ProcessTree from "effect-agents/ProcessTree"
import { expectGone } from "../utils/Processes.js"
import * as LeftBehind from "./leftBehind.js"
import * as Rig from "./rig.js"

const hanging = (cli: Rig.Cli) =>
  Effect.gen(function*() {
    const place = yield* Rig.makePlace
    const route = yield* Rig.open("hang", {
      _tag: "Shell",
      command: LeftBehind.write(place, "stay"),
      text: "the tool has returned"
    })
    const request = yield* Rig.request(
      cli,
      place,
      route.url,
      { prompt: "run it", permission: "Bypass" },
      LeftBehind.mcp(place)
    )
    return { place, request, route }
  })

layer(Rig.layer, { excludeTestServices: true, timeout: "10 minutes" })("containment", (it) => {
  for (const cli of Rig.all) {
    it.scoped(`${cli.name}: Effect.timeout while a tool runs`, () =>
      Effect.gen(function*() {
        const { place, request, route } = yield* hanging(cli)
        const tree = yield* Effect.fork(LeftBehind.complete(place))
        const outcome = yield* Agent.run(request).pipe(
          Effect.timeoutOption("8 seconds"),
          Effect.provide(Rig.agent(cli))
        )
        yield* expectGone(place.mark)
        assert.isTrue(Option.isNone(outcome))
        assert.isTrue(Option.isSome(yield* Fiber.poll(tree)), "the tree was not complete before the timeout")
        assert.strictEqual((yield* route.turns).length, 1, "the model was asked again")
      }))

    it.scoped(`${cli.name}: Fiber.interrupt while a tool runs`, () =>
      Effect.gen(function*() {
        const { place, request, route } = yield* hanging(cli)
        const started = yield* Deferred.make<ProcessTree.ProcessTree>()
        const fiber = yield* Agent.start(request).pipe(
          Effect.tap((run) => Deferred.succeed(started, run.tree)),
          Effect.flatMap((run) => run.outcome),
          Effect.scoped,
          Effect.provide(Rig.agent(cli)),
          Effect.fork
        )
        const left = yield* LeftBehind.complete(place)
        const exit = yield* Fiber.interrupt(fiber)
        yield* expectGone(place.mark)
        assert.isTrue(Exit.isInterrupted(exit))
        const tree = yield* Deferred.await(started)
        const report = yield* tree.report
        assert.strictEqual(report.reason, "interrupted")
        assert.strictEqual(report.verified, "empty")
        assert.deepStrictEqual(report.survivors, [])
        const ended = new Set(report.killed.map(({ pid }) => pid))
        assert.deepStrictEqual(left.filter(({ pid }) => !ended.has(pid)), [], "the report does not name all that ended")
        assert.strictEqual((yield* route.turns).length, 1, "the model was asked again")
      }))

    it.scoped(`${cli.name}: a normal end with leftovers`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const route = yield* Rig.open("leave", {
          _tag: "Shell",
          command: LeftBehind.write(place, "return"),
          text: "the tool has returned"
        })
        const request = yield* Rig.request(
          cli,
          place,
          route.url,
          { prompt: "run it", permission: "Bypass" },
          LeftBehind.mcp(place)
        )
        const outcome = yield* Agent.run(request).pipe(Effect.provide(Rig.agent(cli)))
        yield* expectGone(place.mark)
        assert.strictEqual(outcome.text, "the tool has returned")
        assert.strictEqual(outcome.exit.code, 0)
        assert.strictEqual(outcome.teardown.reason, "completed")
        assert.strictEqual(outcome.teardown.verified, "empty")
        assert.isAtLeast(outcome.teardown.killed.filter(({ command }) => command === "sleep").length, 1)
        assert.strictEqual((yield* route.turns).length, 2)
        yield* Rig.expectNothingOutside
      }))
  }
})
