/** What is promised, the layer that keeps it, where, and the tests that prove it. */
import { conformance, drivers, fleet, kernel, type Proof, real, run, session, worktree, zoo } from "./row.js"

interface Promised {
  readonly promise: string
  readonly layer: string
  readonly platform: string
  readonly proofs: ReadonlyArray<Proof>
}

export interface Part {
  readonly title: string
  readonly rows: ReadonlyArray<Promised>
}

const row = (layer: string, platform: string) => (promise: string, ...proofs: ReadonlyArray<Proof>): Promised => ({
  promise,
  layer,
  platform,
  proofs
})

const { detach, endings, environment, host, object, pressure, situations, vocabulary } = conformance

const always = row("all", "all")
const linux = row("all", "Linux")
const anywhere = row("run loop", "all")

export const guarantees: ReadonlyArray<Part> = [
  {
    title: "The end of a run",
    rows: [
      always(
        "however a run ends, it has returned only when its teardown has",
        endings("Effect.timeout: returns, and nothing is left"),
        endings("Effect.race: the loser is gone before the winner is known"),
        endings("the scope closes: the tree goes with it"),
        endings("the consumer of the events fails: its error stands, the tree goes"),
        endings("the consumer has seen enough: the tree goes"),
        vocabulary("${name} is gone when the interruption returns")
      ),
      always("after that nothing is said or done", endings("after the interruption nothing is emitted, said or done")),
      linux(
        "a run that is interrupted while it starts loses no process",
        endings("interrupted while it starts: no child is lost"),
        kernel.acquisition("that is interrupted, two hundred times at any moment, loses nobody")
      ),
      always(
        "also a normal end is swept, and what was left behind is reported",
        vocabulary("F-LEFTOVERS: a clean end, and whatever it left is ended, reported, and no failure"),
        kernel.teardown("sweeps also after a normal end, and tells what it found")
      ),
      row("all", "POSIX")(
        "politely first, killed after the grace, never longer than the bound of the policy",
        kernel.teardown("ends with the last of a polite tree, not with the grace"),
        kernel.teardown("stays within the bound of its policy"),
        pressure("Effect.timeout returns within the grace, whoever ignores it")
      ),
      linux(
        "`empty` is said only after a look that can have missed nobody",
        kernel.tables("is sure of a look only if the machine stood still and nobody hides his marks"),
        kernel.acquisition("are never said to be empty when they are not, forty times"),
        zoo("${row.name}, seal: ${column}")
      ),
      linux(
        "who could not be ended is named",
        kernel.host("is named as a survivor, with a warning; the rest is ended, without waiting for the grace")
      ),
      linux(
        "nobody else is harmed, whatever number or name he has",
        kernel.tables("signals nobody who has become somebody else, nor the host, nor the first process"),
        kernel.acquisition("leave two hundred others alone that look the same"),
        zoo("are not harmed when they have got the number of a leader or of a member that has gone")
      )
    ]
  },
  {
    title: "Who belongs to it",
    rows: [
      row("group", "POSIX")(
        "whoever is in the group or session of the leader, also after its end",
        kernel.descendants("a grandchild"),
        kernel.descendants("one in a group of its own"),
        kernel.teardown("does not take the end of the leader for that of the tree")
      ),
      row("group", "macOS, BSD")(
        "groups and whole chains of parents; the report says `not-visible` for the rest",
        kernel.tables("ends groups and living parents, and claims nothing of the rest")
      ),
      row("environment", "Linux")(
        "whoever carries the mark of the tree in his environment, also among the marks of trees around it",
        { file: "test/kernel/marks.test.ts", title: "is any occurrence of the id, also among those of trees around" },
        kernel.environment("without that of the host holds its own variables and the mark")
      ),
      row("rlimit", "Linux")(
        "sessions of their own, daemons, and those without environment or with another title",
        kernel.descendants("one in a session of its own"),
        kernel.descendants("a daemon, forked twice"),
        kernel.descendants("a daemon without environment"),
        kernel.descendants("one that hides its environment (${words})")
      ),
      row("rlimit", "Linux")(
        "those that are born again and again, each in a new session",
        kernel.host("are ended each time, and never taken for ended before")
      ),
      row("namespace, cgroup", "Linux")(
        "with a seal also those who hide on purpose",
        kernel.seal("takes along who hides on purpose when it is interrupted"),
        kernel.seal("takes along who hides on purpose when the host is killed, and nothing is left of it")
      ),
      row("namespace, cgroup", "Linux")(
        "a seal that is not to be had is refused before anything is started",
        kernel.seal("that this machine does not have is refused, with what was tried")
      ),
      row("taskkill", "Windows")(
        "what `taskkill /T /F` reaches; the report says `not-visible`",
        kernel.tables("asks taskkill for the end of the tree, once, and says that it cannot see it")
      )
    ]
  },
  {
    title: "The end of the host",
    rows: [
      row("all", "POSIX")(
        "a signal ends every tree before the host ends; a second one skips the grace",
        host("under runMain: ${signal} ends every tree before the host ends"),
        host("without runMain: ${signal} ends every tree"),
        host("under runMain: the second signal skips the grace")
      ),
      linux(
        "`process.exit` and an uncaught exception take every tree along",
        host("${ending}: a synchronous pass takes every tree along")
      ),
      row("guard", "Linux")(
        "SIGKILL of the host too",
        kernel.guard("ends every tree of a host that is killed, and then itself"),
        real.hostDeath("SIGKILL of the host${sealed}")
      ),
      row("guard", "Linux")(
        "a guard that dies is replaced, and the report tells",
        kernel.guard("is replaced when it dies, which the report tells; the new one does its work")
      ),
      linux(
        "what was killed together with its guard is ended by the next host, and only that",
        kernel.guard("is ended by the next sweep, and only once"),
        kernel.guard("is left alone while the host or its guard lives"),
        kernel.guard("is never what another host has started since, whose thread has the same id")
      ),
      linux(
        "only what was handed over on purpose goes on, and whoever comes later can end it",
        detach("the outcome says so, the agent goes on after the scope, and ends when it is told to"),
        kernel.detach("lives on after its scope, is listed, and ends whole when it is told to")
      )
    ]
  },
  {
    title: "Limits",
    rows: [
      row("guard", "Linux")(
        "processes, memory, processor time and open files of all together are kept, also while the host is busy",
        kernel.limits("processes"),
        kernel.limits("memoryBytes: of all together, what they share counted once"),
        kernel.limits("are kept though the host is busy: the tree stands still until it comes to it"),
        kernel.limits("end a fork bomb, of which nothing is left")
      ),
      anywhere(
        "time, idleness, steps, cost and tokens, in a run, a dialogue and each turn of a conversation",
        run.everyLimit("${limit}: ${interactive ? \"in a dialogue\" : \"in one shot\"}"),
        run.everyLimit("${limit}: in a turn of a conversation, and the next one goes on"),
        run.limits("one that is no number lets nothing through")
      ),
      anywhere(
        "an answer that is complete is not thrown away",
        run.limits("an answer that is complete is not thrown away")
      )
    ]
  },
  {
    title: "What is asked and what comes back",
    rows: [
      anywhere(
        "what an agent cannot do is refused, never left out",
        situations("what the CLI cannot do is refused before anything is started"),
        drivers.fields("no field is without a decision")
      ),
      anywhere(
        "the environment is minimal, and `TMPDIR` is a directory of the run that goes with it",
        environment("minimal: what a program needs to run, and nothing else of the host"),
        environment("every run has a folder for temporary files, and it goes with the run")
      ),
      anywhere("nothing is tried again unless the caller does so", situations("nothing is tried again")),
      anywhere(
        "a run without the agent's word that its turn is over is no success",
        situations("the CLI ends without saying that the turn is over: what it had said is kept"),
        vocabulary("F-SIGEXIT: a death in the middle and exit code 0 are no success"),
        vocabulary("F-OK-BUT: exit 0, and inside it says ${kind}")
      ),
      anywhere(
        "events are numbered without a gap; a slow reader keeps the agent waiting and misses nothing",
        situations("the events tell what happened, numbered without a gap"),
        pressure("a slow reader keeps the agent waiting and misses nothing")
      ),
      anywhere(
        "what nobody knows is an event, not an error",
        vocabulary("F-NEW: types and fields that nobody knows are events, not errors")
      ),
      anywhere(
        "a question is answered once, and a handler does not outlive its question",
        run.dialogue("a question that is withdrawn interrupts its handler, and is not answered"),
        conformance.dialogue("several questions at once, each with its own answer")
      ),
      anywhere(
        "a value fits its schema, or the run fails with the answer and the cause",
        object("no JSON at all is mended too, and after all repairs the error has the text, the cause and the session")
      )
    ]
  },
  {
    title: "Sessions, fleets, worktrees",
    rows: [
      row("lease", "all")(
        "one run at a time has a name",
        session.named("a second run of the name is refused while the first one goes on, and not after it"),
        session.lease("goes to one of many who find it stale at once")
      ),
      row("lease", "Linux")(
        "the name of a host that was killed is free only when its processes have ended",
        session.lease("of a host that was killed goes on only when its processes have ended")
      ),
      anywhere(
        "no name stands for a conversation that never began",
        session.named("a run that never began leaves no name behind")
      ),
      anywhere(
        "the losers of a race are gone before the winner is returned",
        fleet.race("the losers are gone before the winner is returned, and their reports say so")
      ),
      anywhere(
        "a pool never has more live trees than places",
        fleet.pool("at most so many trees live, seen from outside"),
        fleet.pool("stays taken while something survives of the ${way}")
      ),
      row("git", "all")(
        "a worktree is kept when something in it would be lost",
        worktree("is kept, unlocked and reported for ${name}"),
        worktree("what was started in it has ended before it is looked at")
      )
    ]
  }
]
