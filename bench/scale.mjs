/** Many live runs at the same time: started, listened to, torn down. */
import { join } from "node:path"
import { program, write } from "./feed.mjs"
import { measured } from "./measure.mjs"
import { load } from "./ours.mjs"
import { compile, unfit as unfitTree } from "./teardown.mjs"

const events = 100

export const title = "scale"
export const baseline = "Command of Effect 3"
export const metrics = { cpu: "ms", start: "ms", end: "ms", memory: "bytes" }
export const rounds = 3
export const unfit = unfitTree

export const cases = (quick) =>
  (quick ? [1, 10] : [1, 10, 100]).map((count) => ({
    name: `${count} at a time, each with 5 descendants and ${events} lines; all figures per run`,
    make: (directory) => {
      const file = join(directory, "some.jsonl")
      write(file, "codex", events, 500)
      return program(directory, "live", `exec ${compile(directory)} ${directory} - 2 3 0 '${file}'`)
    },
    count,
    runs: quick ? 10 : Math.max(count, 20)
  }))

const ours = async () => {
  const { Agent, Effect, Layer, Scope, Stream, layer, request } = await load("Codex")
  const scope = Effect.runSync(Scope.make())
  return (program) =>
    Effect.gen(function*() {
      const context = yield* Layer.buildWithScope(layer({ program }), scope)
      return Effect.provide(
        Effect.flatMap(Agent.start(request), ({ events: all }) => Stream.runDrain(Stream.take(all, events))),
        context
      )
    }).pipe(Effect.runPromise)
}

const command = async () => {
  const [Command, NodeContext, Effect, Layer, Scope, Stream] = await Promise.all([
    import("@effect/platform/Command"),
    import("@effect/platform-node/NodeContext"),
    ...["Effect", "Layer", "Scope", "Stream"].map((name) => import(`effect/${name}`))
  ])
  const context = await Layer.buildWithScope(NodeContext.layer, Effect.runSync(Scope.make())).pipe(Effect.runPromise)
  return async (program) =>
    Command.start(Command.make(program)).pipe(
      Effect.flatMap(({ stdout }) =>
        stdout.pipe(
          Stream.decodeText(),
          Stream.splitLines,
          Stream.map(JSON.parse),
          Stream.take(events),
          Stream.runDrain
        )
      ),
      Effect.provide(context)
    )
}

/** In turns of so many at a time; what a process takes the first time is not counted. */
const arm = (prepare) => async ({ count, program, runs }) => {
  const [Effect, Exit, Scope] = await Promise.all(["Effect", "Exit", "Scope"].map((name) => import(`effect/${name}`)))
  const start = await (await prepare())(program)
  const turn = async (count) => {
    const scopes = Array.from({ length: count }, () => Effect.runSync(Scope.make()))
    const all = (each) => Effect.runPromise(Effect.forEach(scopes, each, { concurrency: "unbounded", discard: true }))
    const began = performance.now()
    await all((scope) => Scope.extend(start, scope))
    const there = performance.now()
    await all((scope) => Scope.close(scope, Exit.void))
    return { start: there - began, end: performance.now() - there }
  }
  for (let n = 0; n < 4; n++) await turn(5)
  const sum = { start: 0, end: 0 }
  const { memory, ...rest } = await measured(async () => {
    for (let n = 0; n < runs; n += count) {
      const { end, start } = await turn(count)
      sum.start += start
      sum.end += end
    }
    return {}
  })
  return { cpu: rest.cpu / runs, start: sum.start / runs, end: sum.end / runs, memory: memory / count }
}

export const arms = { [baseline]: arm(command), ours: arm(ours) }
