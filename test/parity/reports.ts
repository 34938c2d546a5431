/** What people have reported of such programs: the right behaviour here, and its test. */
import {
  conformance,
  differs,
  drivers,
  fakes,
  fleet,
  kernel,
  notYet,
  real,
  type Row,
  run,
  session,
  works,
  worktree
} from "./row.js"

const { detach, endings, environment, host, pressure, sessions, situations, vocabulary } = conformance
const { claude, codex, lenient, plan } = drivers

const interrupted = vocabulary("${name} is gone when the interruption returns")
const leftovers = vocabulary("F-LEFTOVERS: a clean end, and whatever it left is ended, reported, and no failure")
const killedHost = kernel.guard("ends every tree of a host that is killed, and then itself")
const swept = kernel.guard("is ended by the next sweep, and only once")
const after = situations("the turn is over, but the CLI never exits: still a success")
const holder = situations("the CLI leaves, and a grandchild holds its output")
const asked = vocabulary("F-ASK: a question that nobody can answer ends the run")
const noise = vocabulary("F-NOISE: what is not a record is a notice, and the rest is read")
const strangers = kernel.tables("signals nobody who has become somebody else, nor the host, nor the first process")

export const reports: ReadonlyArray<Row> = [
  works("B01", "MCP servers stay after a clean end", leftovers),
  works("B02", "servers behind wrappers pile up", interrupted, leftovers),
  works("B03", "agents outlive a host that is killed", killedHost, real.hostDeath("SIGKILL of the host${sealed}")),
  works("B04", "the escalation dies with the host", host("${ending}: a synchronous pass takes every tree along")),
  works(
    "B05",
    "nobody can tell whether a run is gone",
    endings("many at once: each has its own, and all are gone"),
    endings("the spawner tells of every teardown")
  ),
  works("B06", "the agent is killed, its tools go on", vocabulary("a leader that somebody kills takes its tree along")),
  works("B07", "a timeout reaches the wrapper only", endings("Effect.timeout: returns, and nothing is left"), holder),
  works("B08", "an interruption reaches the first process only", interrupted),
  works("B10", "one agent is ended well, another is not", "one teardown for all", interrupted),
  works(
    "B11",
    "nothing can be ended once the wrapper has gone",
    kernel.teardown("does not take the end of the leader for that of the tree"),
    kernel.tables("keeps the group of a leader that has ended while somebody is in it")
  ),
  works(
    "B12",
    "a launcher that passes no signal, a death told as exit 0",
    interrupted,
    vocabulary("F-SIGEXIT: a death in the middle and exit code 0 are no success")
  ),
  works("B14", "who has a session of its own is missed", kernel.descendants("a daemon, forked twice"), interrupted),
  works(
    "B15",
    "children in groups of their own are missed when the first process leaves at once",
    kernel.teardown("does not take the end of the leader for that of the tree"),
    kernel.descendants("one in a group of its own")
  ),
  works(
    "B16",
    "Ctrl-C of the host leaves a process",
    host("under runMain: ${signal} ends every tree before the host ends")
  ),
  works(
    "B17",
    "the platform's own executor ends too little",
    kernel.commandExecutor("leaves behind: what left its group, after a normal end too")
  ),
  works(
    "B18",
    "either only the launcher is ended, or nobody may tidy up",
    kernel.teardown("asks the leader first, and then what it left behind")
  ),
  differs(
    "B19",
    "the servers of a session stay with the process of several",
    "a run is a process; in a conversation its tools go with the turn that is interrupted, its servers with the process",
    run.conversation("goes on after a turn that was interrupted, whose tools are ended and whose servers are not"),
    run.conversation("goes on in a new process after the end of its own, and leaves nothing of it")
  ),
  works("B20", "servers stay after each run", leftovers),
  works("B21", "done, but never exits", after),
  works("B22", "a lost terminal ends nobody", host("without runMain: ${signal} ends every tree")),
  works("B23", "an orphan that goes on for weeks", killedHost, swept),
  works(
    "B24",
    "a frozen agent hears no signal",
    pressure("Effect.timeout returns within the grace, whoever ignores it")
  ),
  works("B25", "browsers stay when the host of a server is killed", killedHost),
  works("B27", "servers for development outlive the run", leftovers, interrupted),
  works(
    "B29",
    "a process that is kept on purpose",
    "never by default",
    detach("the outcome says so, the agent goes on after the scope, and ends when it is told to")
  ),
  differs(
    "B30",
    "containers outlive the run",
    "work that is handed to somebody who was there before is out of reach, and the README says so; a finalizer in the "
      + "same scope is the place for it",
    fleet.race("what a run has in its scope ends before the winner is returned, also the winner's")
  ),
  works(
    "B31",
    "what a crashed host left is never taken up",
    swept,
    kernel.guard("is ended when a layer is built, unless told otherwise")
  ),
  works(
    "B32",
    "what a crashed host left keeps the session",
    session.lease("of a host that was killed goes on only when its processes have ended")
  ),
  works(
    "B33",
    "an orphan works on beside the next run of its session",
    session.lease("of a host that was killed goes on only when its processes have ended"),
    session.lease("goes on when its number is another process by now")
  ),
  works(
    "B35",
    "strangers are killed by a number on file",
    strangers,
    kernel.guard("a word that nobody can read is set aside, never acted on")
  ),
  works("B39", "the caller's own group is killed", strangers),
  works(
    "B43",
    "a file appears after the end",
    endings("an orphan that would write a file does not"),
    endings("after the interruption nothing is emitted, said or done")
  ),
  works("B45", "ended on the screen, spending in truth", interrupted),
  works(
    "B47",
    "every timeout reads as killed",
    run.limits("wall: the whole time, and all of its processes go"),
    run.limits("firstEvent: an agent that never speaks")
  ),
  works(
    "B48",
    "idleness that is none, or is never seen",
    run.limits("idle: an open tool call is not idleness, but has a limit of its own"),
    run.limits("idle: nothing for so long, though it goes on trying to reach its provider")
  ),
  works(
    "B49",
    "a timeout throws the work away",
    situations("the time is up: what was in work, said and used is told"),
    situations("what was done and tried before it failed, exit ${code}"),
    worktree("is kept, unlocked and reported for ${name}")
  ),
  works("B51", "an interrupt that the agent does not follow", run.dialogue("an agent that does not follow is ended")),
  works(
    "B52",
    "the host leaves before its finalizers",
    host("under runMain: ${signal} ends every tree before the host ends")
  ),
  works("B54", "the second Ctrl-C", host("under runMain: the second signal skips the grace")),
  works("B57", "a close that waits for ever", kernel.teardown("stays within the bound of its policy")),
  works("B58", "an agent that swallows SIGTERM", interrupted, kernel.teardown("of the deaf ends with the grace")),
  works("B60", "a grandchild keeps the pipe", holder),
  works("B61", "the end waits for who holds the pipe", holder, pressure("a descendant holds the standard error")),
  works("B64", "stays after its result", after),
  works(
    "B65",
    "stops in the middle of a turn",
    "the limits say when it is enough; the error is transient by the caller's choice",
    vocabulary("F-MUTE: half a run can be watched, and ended"),
    run.limits("idle: an open tool call is not idleness, but has a limit of its own")
  ),
  works(
    "B67",
    "waits for the end of an input that never comes",
    vocabulary("F-STDIN: a CLI that reads its input to the end gets one")
  ),
  works("B68", "asks a terminal that is not there", asked),
  works(
    "B69",
    "a question blocks for ever",
    asked,
    run.dialogue("an agent that asks although nobody is there to answer is told so")
  ),
  works(
    "B70",
    "waits for a login",
    "an agent that says so is AgentNotAuthenticated; one that waits is ended by a limit, and can be asked before a run",
    run.probe("tells that nobody is logged in"),
    situations("not logged in: how to"),
    run.limits("firstEvent: an agent that never speaks")
  ),
  works(
    "B71",
    "complaints that nobody reads block both sides",
    vocabulary("F-ERRFLOOD: 200 MiB of complaints block nothing, and their end is kept")
  ),
  works(
    "B73",
    "a long line ends the reader",
    vocabulary("F-BIG: a line of ${mib} MiB is a line"),
    vocabulary("F-BIG: a line beyond the limit is a typed error")
  ),
  works(
    "B75",
    "logs glued to records, records split over reads",
    noise,
    run.lines("cuts at line feeds only, whatever the borders of the chunks")
  ),
  works(
    "B76",
    "escapes and other code pages tear the line",
    noise,
    run.lines("reads records through what terminals and shells put around them")
  ),
  works("B77", "banners before the first record", noise),
  works(
    "B80",
    "characters cut in two",
    vocabulary("F-BYTES: characters that come in pieces are whole"),
    vocabulary("a character that is cut at the end of the output is not lost")
  ),
  works(
    "B81",
    "an event that nobody knows ends the run",
    vocabulary("F-NEW: types and fields that nobody knows are events, not errors"),
    lenient("any JSON object is read")
  ),
  works(
    "B82",
    "all of the output in memory",
    "lines are handed on, and one run's failure stays its own",
    run.run("however much an agent says, what is kept of it does not grow"),
    endings("one of many fails: the others are ended")
  ),
  works(
    "B83",
    "an answer that is missing in the text format",
    "records only; transcripts of the CLIs are not read",
    plan("asks for the stream, without work in the background"),
    plan("asks for records, and for no person")
  ),
  works(
    "B85",
    "an argument that is too large",
    environment("prompts of any form arrive as they are"),
    environment("system prompts of any length"),
    situations("what does not fit on a command line is refused, not cut")
  ),
  differs(
    "B87",
    "shims of Windows",
    "the native binary is started instead; never tried on a machine",
    plan("follows pnpm's layout and Windows' separators"),
    kernel.tables("gives a line to its shell as it is")
  ),
  works(
    "B88",
    "not on the PATH of a program that was not begun in a shell",
    situations("the CLI is not found: where it was looked for, and how to install it"),
    plan("looks in the package, beside it and above, as Node does")
  ),
  works(
    "B89",
    "a host dies of writing to an agent that has left",
    situations("the CLI leaves before it has read its input")
  ),
  works(
    "B90",
    "the marks of an agent around it",
    environment("inherit: all of the host, but not the marks of an agent around it")
  ),
  works(
    "B91",
    "exited with code 1, and nothing else",
    situations("the CLI gives up for a reason of its own"),
    situations("the CLI crashes")
  ),
  differs(
    "B92",
    "flags that the installed version does not know",
    "an error that names the flag, after the start; what the installed version offers can be asked before",
    run.probe("tells what the installed version offers, and not what its help does not tell of"),
    situations("the CLI rejects a flag"),
    plan("takes the sandbox of a continued conversation from the configuration")
  ),
  works(
    "B94",
    "failures that call themselves success",
    vocabulary("F-OK-BUT: exit 0, and inside it says ${kind}"),
    situations("the provider says that the quota is used up, exit ${code}")
  ),
  works("B95", "an exit code that somebody swallowed", vocabulary("F-OK-BUT: exit 0, and inside it says ${kind}")),
  works(
    "B96",
    "overload called fatal, numbers taken for a status",
    situations("the provider is overloaded, failed, or the connection was lost, exit ${code}"),
    claude("an answer about failures is an answer"),
    run.retryPolicy("outlasts a provider that is overloaded for a quarter of an hour"),
    codex("the id is 4f2e-401-429-503")
  ),
  works(
    "B100",
    "somebody else's session is continued",
    sessions("of several at once each continues its own"),
    session.processes("one named session")
  ),
  works(
    "B103",
    "agents in one checkout",
    worktree("twenty at once, and their ends"),
    worktree("is kept, unlocked and reported for ${name}"),
    worktree("worktrees of dead hosts")
  ),
  works(
    "B104",
    "agents without a bound",
    fleet.pool("at most so many trees live, seen from outside"),
    fleet.pool("who comes when places and queue are full is refused with the numbers, also by a wrapped agent")
  ),
  works("B105", "descendants go too", interrupted),
  differs(
    "B106",
    "job objects of Windows",
    "what cannot be seen is called unseen",
    kernel.tables("asks taskkill for the end of the tree, once, and says that it cannot see it")
  ),
  notYet(
    "B107",
    "agents for tests, and a recorder, for everybody",
    "the fakes are in the tests and not in the package",
    fakes("leave every kind of descendant, each of them what it says")
  ),
  differs(
    "B108",
    "one trace from the host to the tool",
    "spans of the teardown so far; a variable such as TRACEPARENT goes in the request's env",
    kernel.teardown("a tracer"),
    environment("the variables of the request beat those of the host")
  ),
  works(
    "B109",
    "what was used until the end is told",
    run.limits("costUsd: as far as it is told"),
    situations("the time is up: what was in work, said and used is told")
  )
]
