/** Process trees that are none: a fiber each, that plays the script and speaks through the pipes of a process. */
import * as Command from "@effect/platform/Command"
import { ProcessId } from "@effect/platform/CommandExecutor"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as FiberRef from "effect/FiberRef"
import * as Inspectable from "effect/Inspectable"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as Approval from "../../Approval.js"
import * as ProcessTree from "../../ProcessTree.js"
import * as Teardown from "../../Teardown.js"
import { inBackground } from "../background.js"
import * as onReport from "../kernel/onReport.js"
import type * as protocol from "./protocol.js"
import type { Script, Step } from "./script.js"

const encoder = new TextEncoder()

/** How `Agent.probe` asks. */
const versionFlag = "--version"
const version = "1.0.0\n"
const nothing: protocol.Start = { prompt: "", session: "", forkOf: undefined, dialogue: false }

const play = Effect.fnUntraced(function*(script: Script, turns: Map<string, number>, argument: string, pid: number) {
  const started: protocol.Start = argument === versionFlag ? nothing : JSON.parse(argument)
  const { dialogue, forkOf, session } = started
  const stdout = yield* Mailbox.make<Uint8Array>()
  const stderr = yield* Mailbox.make<Uint8Array>()
  const exited = yield* Deferred.make<ProcessTree.Exit>()
  const player = yield* FiberHandle.make()
  const questions = new Map<string, Deferred.Deferred<Approval.Decision>>()
  let asked = 0
  if (forkOf !== undefined) turns.set(session, turns.get(forkOf) ?? 0)

  const say = (record: protocol.Record) => stdout.offer(encoder.encode(`${JSON.stringify(record)}\n`))

  const exit = (code: number | null, signal: string | null): Effect.Effect<void> =>
    Deferred.succeed(exited, { code, signal }).pipe(
      Effect.zipRight(stdout.end),
      Effect.zipRight(stderr.end),
      Effect.asVoid
    )

  /** Whether the turn is over with it. */
  const perform = (step: Step): Effect.Effect<boolean> => {
    switch (step._tag) {
      case "Wait":
        return Effect.as(Effect.sleep(step.duration), false)
      case "Ask":
        return Effect.gen(function*() {
          const { allowed, denied, input, tool } = step
          const id = `question ${++asked}`
          const answer = yield* Deferred.make<Approval.Decision>()
          questions.set(id, answer)
          // Who is not talked to asks nobody.
          if (!dialogue) return yield* performAll(denied)
          yield* say({ _tag: "Ask", id, tool, input })
          const decision = yield* Deferred.await(answer)
          return yield* performAll(decision._tag === "Allow" ? allowed : denied)
        })
      case "Answer": {
        const { _tag, stop = "completed", ...answer } = step
        return Effect.as(say({ _tag: "End", terminal: { stop }, ...answer }), true)
      }
      case "Fail": {
        const { _tag, ...failure } = step
        return Effect.as(say({ _tag: "End", terminal: { stop: "error", failure } }), true)
      }
      case "Exit":
        return stderr.offer(encoder.encode(step.stderr ?? "")).pipe(
          Effect.zipRight(exit(step.signal === undefined ? step.code ?? 0 : null, step.signal ?? null)),
          Effect.as(true)
        )
      default:
        return Effect.as(say({ _tag: "Event", event: step }), false)
    }
  }

  const performAll = (steps: ReadonlyArray<Step>): Effect.Effect<boolean> =>
    Effect.gen(function*() {
      for (const step of steps) if (yield* perform(step)) return true
      return false
    })

  const turn = (prompt: string) =>
    Effect.suspend(() => {
      const number = (turns.get(session) ?? 0) + 1
      turns.set(session, number)
      return say({ _tag: "Session", id: session }).pipe(
        Effect.zipRight(Effect.suspend(() => performAll(script({ prompt, session, number })))),
        Effect.flatMap((over) => over && dialogue ? Effect.void : exit(0, null)),
        // A script that throws is an agent that crashes with its words.
        Effect.catchAllDefect((defect) =>
          Effect.zipRight(stderr.offer(encoder.encode(`the script failed: ${String(defect)}`)), exit(1, null))
        )
      )
    })

  const hear = (input: AgentDriver.Input): Effect.Effect<unknown> => {
    switch (input._tag) {
      case "Begin":
        return FiberHandle.run(player, turn(started.prompt))
      case "Turn":
        return FiberHandle.run(player, turn(input.prompt))
      case "Message":
        return say({ _tag: "Settled", id: input.id })
      case "Answer": {
        const question = questions.get(input.question)
        return question === undefined ? Effect.void : Deferred.succeed(question, input.decision)
      }
      case "Interrupt":
        return FiberHandle.clear(player).pipe(
          Effect.zipRight(say({ _tag: "Settled", id: input.id })),
          Effect.zipRight(say({ _tag: "End", terminal: { stop: "interrupted" } }))
        )
      case "Close":
        return exit(0, null)
    }
  }

  const report = yield* Effect.cached(
    Effect.gen(function*() {
      const running = !(yield* Deferred.isDone(exited))
      yield* FiberHandle.clear(player)
      yield* exit(null, "SIGKILL")
      const report = Teardown.TeardownReport.make({
        pid,
        command: "scripted",
        reason: running ? "interrupted" : "completed",
        steps: [],
        killed: [],
        survivors: [],
        verified: "empty",
        layers: [],
        notes: ["no process was started: the agent is scripted"],
        looks: 0,
        outputHeld: false,
        durationMs: 0
      })
      yield* Effect.flatMap(FiberRef.get(onReport.current), (tell) => tell(report, Effect.succeed([])))
      return report
    })
  )
  yield* Effect.addFinalizer(() => report)
  const first = started === nothing
    ? Effect.zipRight(stdout.offer(encoder.encode(version)), exit(0, null))
    : turn(started.prompt)
  if (!dialogue) yield* inBackground(FiberHandle.run(player, first))

  const tree: ProcessTree.ProcessTree = {
    ...Inspectable.BaseProto,
    [ProcessTree.TypeId]: ProcessTree.TypeId,
    toJSON: () => ({ _id: "effect-agents/ProcessTree", pid, scripted: true }),
    pid: ProcessId(pid),
    stdin: Sink.forEach((bytes: Uint8Array) =>
      Effect.forEach(
        new TextDecoder().decode(bytes).split("\n").filter((line) => line !== ""),
        (line) => hear(JSON.parse(line)),
        { discard: true }
      )
    ),
    stdout: Mailbox.toStream(stdout),
    stderr: Mailbox.toStream(stderr),
    exit: Deferred.await(exited),
    isRunning: Effect.map(Deferred.isDone(exited), (done) => !done),
    members: Effect.succeed([]),
    signal: (signal) => Effect.zipRight(FiberHandle.clear(player), exit(null, signal)),
    teardown: report,
    report: Effect.zipRight(Deferred.await(exited), report),
    detach: new ProcessTree.DetachRefused({ reason: "platform", detail: "a scripted agent has no processes" })
  }
  return tree
})

export const make = (script: Script) =>
  Effect.sync((): ProcessTree.Spawner["Type"] => {
    const turns = new Map<string, number>()
    let started = 0
    const owner: ProcessTree.Owner = { machine: "", boot: "", namespace: "", pid: 0, startTime: 0, id: "scripted" }
    return {
      start: (command) => play(script, turns, Array.from(Command.flatten(command))[0]?.args[0] ?? "{}", ++started),
      reports: Stream.never,
      host: Effect.succeed({ platform: "linux", arch: "x64", cwd: "/", environment: {} }),
      scratch: Effect.succeed("/scripted"),
      containment: Effect.succeed({ layers: [], warnings: [] }),
      sweepStale: Effect.succeed([]),
      detached: Effect.succeed([]),
      endDetached: () => Effect.succeed(Option.none()),
      owner: Effect.succeed(owner),
      isAlive: () => Effect.succeed(true)
    }
  })
