/** Defects and gaps that such libraries have: what has become of each here. */
import {
  check,
  conformance,
  differs,
  drivers,
  fleet,
  kernel,
  parity,
  real,
  type Row,
  run,
  session,
  works,
  worktree
} from "./row.js"

const { detach, object, pressure, request, sessions, situations, vocabulary } = conformance
const { claude, claudeDialogue, codexServer, copilot, dialogues, fields, lenient, plan, tools } = drivers

export const defects: ReadonlyArray<Row> = [
  works(
    "D1",
    "an approval that lacks the input, which the CLI then refuses",
    claudeDialogue("answers in its words"),
    real.dialogue("what is allowed is done as the answer says")
  ),
  works(
    "D2",
    "ids of questions taken for those of answers",
    dialogues("what it is asked is handed on or refused, and answered once at the most"),
    codexServer("a question of the CLI with the id of a request of ours is a question"),
    conformance.dialogue("several questions at once, each with its own answer"),
    real.dialogue("three questions in one turn, each with its own answer; reading needs none")
  ),
  works(
    "D3",
    "a line that is lost because something else came in the middle of it",
    run.properties("has one end, in time, and nothing is left of it"),
    run.lines("cuts at line feeds only, whatever the borders of the chunks")
  ),
  works("D4", "a schema in the wrong form", codexServer("says what the request says")),
  works(
    "D5",
    "the cause of a failure looked for in the wrong place",
    codexServer("a failure is what its fields say, before its words")
  ),
  works(
    "D6",
    "every failure of a dialogue is one of parsing, without stderr",
    codexServer("a request that is refused is a failure, and without a conversation the end")
  ),
  works(
    "D7",
    "a reader that stops keeps timeouts and the end from working",
    run.properties("has one end, in time, and nothing is left of it"),
    run.dialogue("does not wait for a reader that has stopped reading")
  ),
  works(
    "D8",
    "a dialogue that was let go spins",
    "it is refused",
    detach("a run that is talked to is not handed over, nor one in a named session: it ends with its scope")
  ),
  works(
    "D9",
    "bookkeeping that grows on long runs",
    dialogues("calls that are never closed are forgotten, not gathered"),
    run.hostile("a message of Claude Code with thousands of results"),
    run.hostile("a message of Copilot's that repeats itself")
  ),
  works(
    "D10",
    "a dialogue without the bounds of a plain run",
    "one reader and one queue for both",
    run.properties("has one end, in time, and nothing is left of it"),
    pressure("a slow reader keeps the agent waiting and misses nothing")
  ),
  works("D11", "a long line is cut, and then is none", vocabulary("F-BIG: a line of ${mib} MiB is a line")),
  works(
    "D12",
    "the prompt is written before anybody watches the time",
    pressure("a prompt that the CLI never reads does not stand in the way of an interruption"),
    situations("the CLI leaves before it has read its input")
  ),
  works(
    "D13",
    "whoever holds the output keeps the run going",
    situations("the CLI leaves, and a grandchild holds its output"),
    pressure("a descendant holds the standard error"),
    pressure("a descendant babbles into ${output} after the end: the outcome comes all the same")
  ),
  works(
    "D14",
    "a permission that means two things, by the way of speaking",
    plan("keeps its git guard where it can write"),
    codexServer("is another command, with the same servers and directories")
  ),
  works(
    "D15",
    "a handler makes one permission of all",
    "`ReadOnly` with a handler asks for what goes beyond looking",
    claudeDialogue("is planned for when it is asked for, and approvals leave the permission as it is"),
    codexServer("asks only where somebody answers, and only out of a sandbox")
  ),
  works("D16", "fields that are dropped without a word", fields("no field is without a decision"), fields("%s")),
  works(
    "D17",
    "a format in which the end is never seen",
    "there is one format",
    plan("asks for the stream, without work in the background")
  ),
  works(
    "D18",
    "a prompt that is taken for a flag",
    plan("gives a prompt to the standard input, never to the command line"),
    plan("binds values that begin like a flag")
  ),
  works(
    "D19",
    "a missing directory is told as a missing program",
    situations("the working directory is missing: it is named")
  ),
  works(
    "D20",
    "a name bound to a conversation that never was",
    session.named("a run that never began leaves no name behind"),
    session.named("a conversation that the agent ${how} is an error that says how to begin anew")
  ),
  differs(
    "D21",
    "a message without a receipt in time may still be taken",
    "so it is with a CLI that has it already: AgentUnresponsive says that it was not confirmed, not that it was not "
      + "taken; one that is told after the turn is refused",
    run.dialogue("is told when the turn ends before the agent takes the message"),
    codexServer("what a turn never heard is told to be refused when it is over")
  ),
  differs(
    "D22",
    "the conversation is named late, the model lost",
    "as early as the CLI tells: Copilot does so with its last record",
    pressure("the session is known while the run is going on"),
    claude("the newest id wins, and every kind of news about the context is told"),
    copilot("has no conversation before it has said anything")
  ),
  works(
    "D23",
    "sub-agents that are taken for the agent",
    claude("keeps sub-agents apart: their words are not the answer, their calls name their parent"),
    codexServer("the words and the end of a sub-agent are not those of the run"),
    copilot("keeps sub-agents apart")
  ),
  works(
    "D24",
    "errors that lose what there was",
    sessions("a failed turn tells where to continue"),
    situations("the CLI ends without saying that the turn is over: what it had said is kept"),
    run.limits("wall: the whole time, and all of its processes go")
  ),
  works(
    "D25",
    "probes without a bound and with another environment",
    run.probe("knows nothing of one that hangs, and says so in time"),
    run.probe("is asked once, until it is old, and again for another environment"),
    run.probe("leaves nothing that was started for it, answered or interrupted")
  ),
  works("D26", "a minimal environment without the credentials", plan("lets credentials through")),
  works(
    "D27",
    "questions that nobody knows are never answered",
    claudeDialogue("what it asks and nobody knows is refused, not left hanging"),
    codexServer("what it asks and nobody knows is refused, not left hanging"),
    conformance.dialogue("what nobody knows is refused, and the turn goes on"),
    run.dialogue("a question that is withdrawn interrupts its handler, and is not answered"),
    conformance.dialogue(
      "a question that is taken back, or outlives the turn or the process, interrupts its handler and is not answered"
    )
  ),
  works(
    "D28",
    "nothing is cleaned up after a success",
    vocabulary("F-LEFTOVERS: a clean end, and whatever it left is ended, reported, and no failure")
  ),
  works(
    "D29",
    "documents that say other things than the code",
    "examples are compiled, this table is what the tests say",
    check("doc-examples"),
    parity("docs/parity.md is what the tables say")
  ),
  works("D30", "types that cannot be named", check("exports"), check("package"))
]

/** What such a library lacks, by names of its own. */
export const missing: ReadonlyArray<Row> = [
  works(
    "M1",
    "an interrupt that keeps the session",
    run.dialogue("ends the turn, and the outcome is what there was"),
    run.dialogue("an agent that does not follow is ended"),
    run.finalizers("an interrupt of an agent that never answers"),
    run.finalizers("the end of a turn whose reader has stopped"),
    run.conversation("goes on after a turn that was interrupted, whose tools are ended and whose servers are not"),
    real.dialogue("a turn that is interrupted leaves no tool at work, and the conversation goes on")
  ),
  works(
    "M2",
    "signals by steps, with a bound for each",
    kernel.teardown("takes any signal, in order, and not one more than needed"),
    kernel.teardown("stays within the bound of its policy")
  ),
  works(
    "M3",
    "limits of idleness, of a tool, of the first event",
    run.limits("idle: an open tool call is not idleness, but has a limit of its own"),
    run.limits("firstEvent: an agent that never speaks"),
    run.everyLimit("in a turn of a conversation, and the next one goes on"),
    run.everyLimit("afterResult: ${way}, the answer is kept and what was left at work is ended"),
    real.limits("every limit, ${way}")
  ),
  differs(
    "M4",
    "limits of turns, steps, tokens and money",
    "kept by the run, and Claude Code is told of those that it counts the same way; there is no second model to fall back to",
    plan("is told of the limits that it counts as the run does"),
    run.conclude("is what our own count would have made of it"),
    real.limits("every limit, ${way}"),
    run.limits("steps: an agent that goes round in circles"),
    run.limits("turns: the model is asked once, and again after each round of tools"),
    run.limits("costUsd: as far as it is told")
  ),
  works(
    "M5",
    "rules for tools, allowed and denied",
    tools("are plain data, and hold no patterns"),
    tools("%s: never widen a permission that changes nothing"),
    real.tools("a denial beats even Bypass")
  ),
  differs(
    "M6",
    "MCP servers of a run",
    "configured for every agent; their state is not read, tools inside the host are not offered, forms of their own are "
      + "refused",
    tools("codex: configuration, a script where a server has variables, and the mark"),
    real.tools("of MCP the tools that are named, with the mark, and no secret on a command line")
  ),
  works(
    "M7",
    "files with the prompt",
    tools("codex: images, also when it continues"),
    request("an attachment that cannot be read: nothing is started"),
    real.tools("an image, and a system prompt in place of its own")
  ),
  works(
    "M8",
    "another system prompt in place of the agent's own",
    "refused by Copilot",
    tools("claude: beside the one that is added, and again when it continues"),
    tools("codex: a file of instructions")
  ),
  works(
    "M9",
    "answers with another input, for the session, by rules, in time",
    "another input is refused for Codex and Copilot, which take none",
    run.dialogue("time and rules are handlers around handlers"),
    claudeDialogue("answers in its words"),
    codexServer("another input ends the turn with what cannot be done"),
    conformance.dialogue("another input than it asked for is what it does, or the end of the run")
  ),
  works("M10", "a branch with Codex", sessions("a branch has an id of its own, and the original stays as it is")),
  works("M11", "models and account of Claude Code", run.probe("tells the version, the login, the models")),
  differs(
    "M12",
    "more of sessions",
    "directories remembered, a branch under the same name; transcripts of the CLIs are not read, nothing expires",
    session.named("where it works is remembered, and what the request says goes before")
  ),
  works(
    "M13",
    "one process for several turns",
    "where the agent has a dialogue, else a process a turn behind the same interface",
    run.conversation("is one process for all of its turns"),
    run.conversation("is a run a turn where the agent has no dialogue")
  ),
  works(
    "M14",
    "a cap on runs, and a queue",
    fleet.pool("at most so many trees live, seen from outside"),
    fleet.pool("who comes when places and queue are full is refused with the numbers, also by a wrapped agent")
  ),
  differs(
    "M15",
    "numbers and times of events",
    "events encode to JSON and are numbered; there is no recorder, and a stream is not taken up again",
    situations("the events tell what happened, numbered without a gap"),
    lenient("captured lines become events, none of them in silence")
  ),
  works(
    "M16",
    "failures told apart: overload, quota with its reset, network, unknown session",
    situations("the provider is overloaded, failed, or the connection was lost, exit ${code}"),
    situations("the session is unknown"),
    run.retryPolicy("waits until the quota is there again"),
    claude("retries are told with their number, their wait and the status")
  ),
  differs(
    "M17",
    "spans and figures",
    "of the teardown so far",
    kernel.teardown("a tracer"),
    kernel.limits("says how many there were at most, and what they had in memory")
  ),
  works(
    "M18",
    "capabilities of the version that is installed",
    "by the help of the program itself; a request is refused before the spawn for what no version can, and what the "
      + "installed one lacks fails as AgentFlagRejected",
    run.probe("tells what the installed version offers, and not what its help does not tell of"),
    fields("counts as its capabilities what it plans"),
    situations("the CLI rejects a flag")
  ),
  works(
    "M19",
    "agents of one's own, and a process that can be replaced",
    run.dialogue("a question goes to the handler, with its own services, and the answer to the agent"),
    run.run("an agent starts its runs with the Spawner that it was given, whatever the caller has"),
    pressure("works and ends on a clock that stands still")
  ),
  differs(
    "M20",
    "process trees on Windows",
    "asked of its own program, and told to be unseen; never tried on a machine",
    kernel.tables("asks taskkill for the end of the tree, once, and says that it cannot see it"),
    kernel.tables("gives a line to its shell as it is")
  ),
  works(
    "M21",
    "answers decoded by a schema, with a repair",
    object("what does not fit goes back into the conversation with what is wrong, and usage adds up"),
    object("no JSON at all is mended too, and after all repairs the error has the text, the cause and the session")
  ),
  works(
    "M22",
    "a worktree for a run",
    worktree("is kept, unlocked and reported for ${name}"),
    worktree("what was started in it has ended before it is looked at")
  )
]
