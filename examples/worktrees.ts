/**
 * Several agents at one repository, each in a worktree of its own, at most two at a time. Clean worktrees go with their
 * runs; one in which something was left is kept, and what is kept is told.
 */
import { Command, FileSystem, Path } from "@effect/platform"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Exit, Layer } from "effect"
import { Agent, AgentRequest, Fleet, NodeProcessTree, Worktree } from "effect-agents"
import * as ScriptedAgent from "./scriptedAgent.js"

const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  Command.make("git", "-c", "user.name=example", "-c", "user.email=example@localhost", ...args).pipe(
    Command.workingDirectory(cwd),
    Command.exitCode
  )

const attempt = (repo: string) => (issue: number) =>
  Effect.scoped(Effect.gen(function*() {
    const worktree = yield* Worktree.make({ repo })
    const { text } = yield* Agent.run(AgentRequest.make({ prompt: `answer 50 issue ${issue}`, cwd: worktree.path }))
    if (issue === 2) {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      yield* fs.writeFileString(path.join(worktree.path, "half-done.ts"), "// not committed")
    }
    return { text, worktree }
  })).pipe(
    Effect.flatMap(({ text, worktree }) => Effect.zip(Effect.succeed(text), worktree.report))
  )

const program = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const repo = path.join(yield* fs.makeTempDirectoryScoped(), "repo")
  yield* fs.makeDirectory(repo)
  yield* git(repo, "init", "--quiet")
  yield* git(repo, "commit", "--quiet", "--allow-empty", "--message", "first")

  const exits = yield* Fleet.forEach([1, 2, 3, 4], attempt(repo), { concurrency: 4, mode: "collect" })
  for (const exit of exits) {
    const [text, { dirt, removed }] = yield* Exit.isSuccess(exit) ? Effect.succeed(exit.value) : exit
    yield* Console.log(`${text}: ${removed ? "removed" : `kept, ${dirt.map(({ kind }) => kind).join(", ")}`}`)
  }
})

// The cap is the layer's: however many are asked for, two run.
const agent = Fleet.pooled(ScriptedAgent.layer).pipe(Layer.provide(Fleet.layerPool({ size: 2, queue: 10 })))

program.pipe(
  Effect.scoped,
  Effect.provide(Layer.mergeAll(agent, NodeProcessTree.layer, NodeProcessTree.layerCommandExecutor)),
  NodeRuntime.runMain
)
