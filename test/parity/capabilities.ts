/** What an agent library can be asked for, and whether it can be here. */
import { conformance, differs, drivers, kernel, outOfScope, real, type Row, run, session, works } from "./row.js"

const { detach, endings, environment, object, pressure, sessions, situations, vocabulary } = conformance
const { claude, claudeDialogue, codex, codexServer, copilot, fields, output, plan, tools } = drivers

export const capabilities: ReadonlyArray<Row> = [
  works(
    "C1",
    "a request is plain data with safe defaults: it may only look, and sees a minimal environment",
    plan("offers only tools that look when it may only look"),
    environment("minimal: what a program needs to run, and nothing else of the host")
  ),
  differs(
    "C2",
    "another program than the one found on PATH",
    "an option of the agent's layer, so that a request means the same on every machine",
    situations("the CLI is not found: where it was looked for, and how to install it"),
    session.named("a run that never began leaves no name behind")
  ),
  works(
    "C3",
    "prompts of any length",
    "always by the standard input",
    plan("gives a prompt to the standard input, never to the command line"),
    environment("prompts of any form arrive as they are")
  ),
  works(
    "C4",
    "what is too large for a command line is refused, and named",
    situations("what does not fit on a command line is refused, not cut"),
    plan("names what is too large for a command line")
  ),
  works(
    "C5",
    "text added to the system prompt, never dropped",
    environment("system prompts of any length"),
    plan("takes a system prompt of any length from a file, also when it continues"),
    plan("quotes the system prompt as TOML, and puts it before the prompt where it would be dropped"),
    plan("never drops a system prompt")
  ),
  works("C6", "the model, passed on unchecked", plan("passes model, effort, directories and schema on"), fields("%s")),
  works(
    "C7",
    "the effort of the model",
    plan("passes model, effort and schema on, and keeps the prompt out of greedy options"),
    plan("never drops a system prompt")
  ),
  differs(
    "C8",
    "thinking switched off",
    "on or off for Claude Code; the two others refuse, as they have no such switch",
    plan("passes model, effort, directories and schema on"),
    plan("refuses what it cannot do")
  ),
  works(
    "C9",
    "five permissions, from looking to no checks at all",
    environment("every permission is a command line that the CLI takes"),
    plan("%s allows no more than %s"),
    plan("cannot write, ask or leave its sandbox when it may only look")
  ),
  works(
    "C10",
    "what an agent asks is answered by the caller",
    "by a handler that is an Effect",
    run.dialogue("a question goes to the handler, with its own services, and the answer to the agent"),
    real.dialogue("what is allowed is done as the answer says")
  ),
  works(
    "C11",
    "messages into a turn that goes on",
    "not by Copilot, which would end its turn for it",
    run.dialogue("returns when the agent has taken the message, which is then in the turn"),
    real.dialogue("a message reaches the turn that goes on")
  ),
  outOfScope(
    "C12",
    "a choice of output formats",
    "always the stream of records: it alone tells the events, the session and the end"
  ),
  works("C13", "a working directory", environment("works where it is told to")),
  works(
    "C14",
    "further directories",
    plan("binds values that begin like a flag"),
    plan("names further directories only to a sandbox that can write")
  ),
  works("C15", "variables of its own", environment("the variables of the request beat those of the host")),
  works(
    "C16",
    "a policy of which variables of the host it sees: minimal, all, or those named",
    environment("inherit: all of the host, but not the marks of an agent around it"),
    environment("only: those that are named"),
    plan("lets credentials through")
  ),
  works(
    "C17",
    "a limit of time for the whole run, with what there was until then",
    "with `limits.wall`; `Effect.timeout` ends a run the same way, and has no value",
    run.limits("wall: the whole time, and all of its processes go"),
    endings("Effect.timeout: returns, and nothing is left")
  ),
  works(
    "C18",
    "raw arguments, hidden where a plan is shown",
    environment("arguments of the caller arrive unchanged"),
    plan("hides the caller's own arguments where a plan is shown, and puts them on the command line")
  ),
  works(
    "C19",
    "a JSON schema for the answer",
    "in words where the CLI has none, as Copilot",
    claude("a structured answer"),
    codex("the value that a schema asks for is the answer, read"),
    codexServer("the value of a schema is read from the answer")
  ),
  works("C20", "a conversation continued by its id", sessions("two turns, the second knows of the first")),
  works(
    "C21",
    "a new conversation under an id of the caller",
    "refused by Codex, which chooses its own, and unless it is a UUID",
    sessions("a new conversation takes the id of the caller"),
    plan("refuses what it cannot do")
  ),
  works(
    "C22",
    "conversations by name",
    session.named("an unknown name begins a conversation, a known one continues it"),
    real.sessions("a name over three processes: begun, continued, continued")
  ),
  works(
    "C23",
    "slash commands as requests",
    "`command: true` with the prompt, for Claude Code; refused by the others. Without it a prompt is never a command: the "
      + "model is given it, as are what is sent to a turn and the turns of a conversation",
    plan("takes a prompt for a command only where it was called one"),
    plan("takes no prompt for a command"),
    plan("gives a prompt that begins with a slash to the model as it stands"),
    claudeDialogue("what is said begins no command")
  ),
  works(
    "C24",
    "the command line and the phase of a session, shown without a run",
    session.named("a plan shows what the next run would do"),
    plan("hides the caller's own arguments where a plan is shown, and puts them on the command line")
  ),
  works(
    "C25",
    "the event that names the conversation and the model",
    "Copilot tells it late, and no model",
    claude("a text: one answer, one usage, one end"),
    copilot("is announced without a model when none is told"),
    pressure("the session is known while the run is going on")
  ),
  works(
    "C26",
    "the text as it comes, told once",
    claude("deltas are not said twice by the finished copy"),
    copilot("an answer without deltas is shown as well, one with deltas only once")
  ),
  works(
    "C27",
    "the model's thoughts",
    claude("deltas are not said twice by the finished copy"),
    copilot("thoughts are not told twice"),
    codexServer("a text")
  ),
  works(
    "C28",
    "where one message ends",
    "an event with the whole message, for every agent",
    claude("a text: one answer, one usage, one end"),
    codex("a text"),
    copilot("the answer is the last complete message; what comes in chunks is one")
  ),
  works(
    "C29",
    "calls of tools",
    claude("a tool call and its result"),
    codex("tools that come without a beginning"),
    codexServer("a question, and the command after it"),
    copilot("a tool call and its result")
  ),
  works(
    "C30",
    "results of tools, also of MCP and of edits",
    claude("results of tools: what failed, what was rejected, what is more than text"),
    codex("a command that fails"),
    codex("tools that come without a beginning"),
    copilot("a tool call that was not allowed")
  ),
  works(
    "C31",
    "usage while the run goes on, once a model call",
    "where the CLI tells: Copilot in a dialogue",
    claude("tells a model call once, however many blocks it has"),
    codexServer("a text"),
    vocabulary("F-DUP: a message that comes again is counted once")
  ),
  works(
    "C32",
    "a question as an event, with its tool and input",
    claudeDialogue("hands a question on as it was asked"),
    codexServer("a question about an edit says what would change")
  ),
  works(
    "C33",
    "news of the account's quota",
    "Claude Code alone tells",
    claude("a warning about the quota is no refusal")
  ),
  works(
    "C34",
    "the begin and the end of a compaction",
    claude("the newest id wins, and every kind of news about the context is told")
  ),
  works(
    "C35",
    "the slash commands and skills that the CLI offers",
    claude("the newest id wins, and every kind of news about the context is told")
  ),
  differs(
    "C36",
    "the outcome: answer, usage, stop, session, exit, what was no record",
    "a run without a recognised answer is the error AgentIncomplete, so no helper has to guess at it",
    situations("all is well: the answer, the usage, the session, and nothing left"),
    run.conclude("carries what was said of the quota, and the first line that was no record"),
    situations("the CLI says nothing at all")
  ),
  works(
    "C37",
    "usage in one meaning for all vendors, absent where not said",
    situations("all is well: the answer, the usage, the session, and nothing left"),
    codex("figures of a continued conversation are not those of the run")
  ),
  works("C38", "usage of several runs added up", run.usage("counters are summed, a silent run erases nothing")),
  works("C39", "the share of the context window that is full", run.usage("none unless both figures are known")),
  works(
    "C39a",
    "usage of Claude Code: window of the model that was asked, context of the last call, cost as reported",
    claude("takes the window of the model that was asked, not of a helper"),
    claude("reports the cost of this run, where the CLI tells that of the conversation")
  ),
  works(
    "C39b",
    "usage of Codex: cached input apart, all calls of a turn added up",
    codex("figures of a continued conversation are not those of the run"),
    codexServer("a text")
  ),
  works("C39c", "usage of Copilot: requests and credits", copilot("counts requests and credits")),
  works(
    "C40",
    "a value by a schema, in the strict form where the provider wants that",
    "in words behind the prompt where the CLI has no schema",
    claude("a structured answer"),
    output("requires every property, adds none, and keeps only what is taken"),
    output("stands behind the prompt of Copilot, and its answer is read"),
    object("the CLI gets the schema, by its option or in words")
  ),
  works(
    "C41",
    "one file a name, whatever the name",
    session.stem("are one only for the same text, fit every file system, and mean nothing to it"),
    session.store("keeps names apart to the letter")
  ),
  works("C42", "what is remembered of a name", session.store("remembers, and goes on remembering what was first")),
  works(
    "C43",
    "writes that are whole or not there, for the owner only",
    session.store("are for their owner only, whole, and nothing else is there"),
    session.store("are not touched by a write that the disk refuses")
  ),
  works(
    "C44",
    "a store: look up, bind, list, forget",
    session.store("forgets, also what it does not know"),
    session.store("are in the state directory of the user, where no other is named")
  ),
  works(
    "C45",
    "only a missing file means that there is no session",
    session.store("that cannot be read are not missing"),
    session.named("a record that says nothing keeps a run from starting")
  ),
  works(
    "C46",
    "a name belongs to one agent",
    session.named("a name of another agent is refused, for a plan as well, until it is forgotten")
  ),
  works(
    "C47",
    "begin, continue or branch, planned by what is remembered",
    session.named("a branch of what is not there yet is a new conversation"),
    session.named("an unknown name begins a conversation, a known one continues it")
  ),
  differs(
    "C48",
    "bound so early that a killed turn can be continued",
    "once the agent has named the conversation, not before the start: a run that never began leaves nothing behind",
    session.named("a turn that failed is to be continued"),
    session.named("interruption releases the name, once nothing of the run is left, and the next one continues"),
    session.named("a run that never began leaves no name behind")
  ),
  works(
    "C49",
    "a branch takes over the name",
    session.named("a branch takes over the name, and the original stays as it is")
  ),
  works(
    "C50",
    "one run of a name at a time, among all processes",
    session.named("a second run of the name is refused while the first one goes on, and not after it"),
    session.lease("is never held by two, whoever comes, goes and dies between their looks")
  ),
  works(
    "C51",
    "no way to continue whatever was last",
    fields("no field is without a decision")
  ),
  differs(
    "C52",
    "combinations without a sense are refused",
    "where the agent has no dialogue, or the run was not begun for it; with `ReadOnly` a handler makes sense here: what "
      + "goes beyond looking is asked",
    situations("what the CLI cannot do is refused before anything is started"),
    run.dialogue("is refused where the run was not begun for it"),
    claudeDialogue("is planned for when it is asked for, and approvals leave the permission as it is")
  ),
  works(
    "C53",
    "Claude Code is answered in its words",
    claudeDialogue("answers in its words"),
    claudeDialogue("begins with its opening, which must be answered, and the prompt"),
    conformance.dialogue("a question may have the id of a request of ours, and is answered as the caller says")
  ),
  works(
    "C54",
    "Codex is answered in its words, and hears why not",
    codexServer("answers in its words"),
    codexServer("the reason of a refusal is said before it"),
    conformance.dialogue("a question may have the id of a request of ours, and is answered as the caller says")
  ),
  works(
    "C55",
    "the CLI decides what it asks, within the permission",
    codexServer("asks only where somebody answers, and only out of a sandbox"),
    real.dialogue("three questions in one turn, each with its own answer; reading needs none")
  ),
  works(
    "C56",
    "a question may wait, or have a time of its own",
    run.dialogue("time and rules are handlers around handlers"),
    run.limits("idle, tool: nobody is hurried by a question that waits")
  ),
  works(
    "C57",
    "a message is taken at the agent's next step",
    claudeDialogue("a message is settled by its replay, and a result before it is not the end"),
    real.dialogue("a message reaches the turn that goes on")
  ),
  works(
    "C58",
    "a receipt that comes of the agent, not of a queue",
    run.dialogue("returns when the agent has taken the message, which is then in the turn"),
    run.dialogue("is told when the turn ends before the agent takes the message"),
    conformance.dialogue("a message reaches the turn that goes on; one that nobody takes is told of in time")
  ),
  works(
    "C59",
    "messages before the turn has begun wait for it",
    codexServer("a message and an interrupt wait for the turn, and are settled by their answers")
  ),
  works(
    "C60",
    "messages do not depend on who reads the events, and have a deadline",
    run.dialogue("does not wait for a reader that has stopped reading"),
    run.dialogue("fails the run in time, with what it was asked")
  ),
  works(
    "C61",
    "the input is closed when the turn is over",
    run.dialogue("a question goes to the handler, with its own services, and the answer to the agent"),
    claudeDialogue("a message is settled by its replay, and a result before it is not the end")
  ),
  works(
    "C62",
    "much output does not hold up what is said to the agent",
    run.dialogue("does not wait for a reader that has stopped reading")
  ),
  outOfScope(
    "C63",
    "a catalogue of models",
    "a list that is compiled in is old the day after: the installed CLI is asked",
    run.probe("tells the version, the login, the models")
  ),
  works("C64", "the models of Claude Code", run.probe("tells the version, the login, the models")),
  works("C65", "the models of Codex", run.probe("tells the version, the login, the models")),
  works("C66", "the models of Copilot", run.probe("tells the version, the login, the models")),
  works("C67", "models asked of the installed CLI", run.probe("tells the version, the login, the models")),
  works(
    "C68",
    "the account's quota asked of the installed CLI",
    "Codex alone tells",
    run.probe("tells the version, the login, the models")
  ),
  works("C69", "whether somebody is logged in, without a run", run.probe("tells that nobody is logged in")),
  works(
    "C70",
    "the version that is installed, against the one that the driver was written for",
    run.probe("tells the version, the login, the models"),
    run.probe("knows nothing of one that ends without a word, and says so")
  ),
  works(
    "C71",
    "how to install, how to log in",
    situations("the CLI is not found: where it was looked for, and how to install it"),
    situations("not logged in: how to")
  ),
  works("C72", "no shell between", kernel.environment("arrive as they are")),
  works("C73", "a group of its own", kernel.descendants("a child")),
  works(
    "C74",
    "whoever lets go of a run ends it",
    "the scope does, and waits until nothing is left",
    endings("the scope closes: the tree goes with it"),
    endings("the consumer has seen enough: the tree goes")
  ),
  differs(
    "C75",
    "a way to cancel",
    "interruption, which returns when the process table shows nothing of the run",
    endings("after the interruption nothing is emitted, said or done"),
    vocabulary("is gone when the interruption returns")
  ),
  differs(
    "C76",
    "a run that is let go on purpose",
    "listed, and can be ended later; not one that is talked to, nor one in a named session",
    detach("the outcome says so, the agent goes on after the scope, and ends when it is told to"),
    detach("a run that is talked to is not handed over, nor one in a named session: it ends with its scope"),
    kernel.detach("lives on after its scope, is listed, and ends whole when it is told to")
  ),
  works(
    "C77",
    "a timeout ends as an interruption does",
    endings("Effect.timeout: returns, and nothing is left"),
    pressure("Effect.timeout returns within the grace, whoever ignores it")
  ),
  works(
    "C78",
    "the group is signalled before its leader is buried",
    "and is found after that as well",
    kernel.tables("keeps the group of a leader that has ended while somebody is in it"),
    kernel.teardown("asks the leader first, and then what it left behind")
  ),
  works(
    "C79",
    "a number that is somebody else's by now is not signalled",
    kernel.tables("signals nobody who has become somebody else, nor the host, nor the first process")
  ),
  works("C80", "an input that ends", vocabulary("F-STDIN: a CLI that reads its input to the end gets one")),
  works(
    "C81",
    "both outputs are read side by side",
    vocabulary("F-ERRFLOOD: 200 MiB of complaints block nothing, and their end is kept")
  ),
  differs(
    "C82",
    "bounded reading",
    "a line that is too long is an error, not a shorter line: one that was cut says something else",
    vocabulary("F-BIG: a line beyond the limit is a typed error"),
    pressure("a line that never ends is given up at the limit, not at the end"),
    vocabulary("F-BYTES: characters that come in pieces are whole")
  ),
  differs(
    "C83",
    "bounded payloads",
    "bounded by the limit of a line, and handed on whole; only what is no record is shortened",
    vocabulary("F-BIG: the limit can be set"),
    run.run("long lines that are no records do not stay in memory")
  ),
  works(
    "C84",
    "bounded bookkeeping",
    run.hostile("a turn of Claude Code with thousands of sub-agents, whose use is still added up"),
    run.hostile("a message of Copilot's that repeats itself")
  ),
  works(
    "C85",
    "a slow reader holds up the agent, and misses nothing",
    pressure("a slow reader keeps the agent waiting and misses nothing")
  ),
  works(
    "C86",
    "a reader who goes away",
    "ends the run where the events are all there is (`Agent.stream`); else the outcome comes all the same",
    endings("nobody reads the events: the outcome comes all the same"),
    endings("the consumer has seen enough: the tree goes")
  ),
  works(
    "C87",
    "secrets are known where they arise",
    plan("hides the caller's own arguments where a plan is shown, and puts them on the command line"),
    tools("no secret on the command line or where a plan is shown"),
    kernel.errors("goes on without what it says of the command line, which may be secret")
  ),
  differs(
    "C88",
    "logs and spans",
    "spans of the teardown, its report for whoever asks; none of the turn and its tools yet",
    kernel.teardown("a tracer"),
    endings("the spawner tells of every teardown")
  ),
  works(
    "C89",
    "nothing is tried again of itself",
    "errors say whether it makes sense",
    situations("nothing is tried again"),
    situations("the provider says that the quota is used up, exit ${code}")
  )
]

export const errors: ReadonlyArray<Row> = [
  works("E1", "not installed", situations("the CLI is not found: where it was looked for, and how to install it")),
  works(
    "E2",
    "the system would not start it",
    situations("the program is not executable"),
    situations("what the operating system refuses in the very call is an error, not a defect")
  ),
  works("E3", "the time is up, with what there was", run.limits("wall: the whole time, and all of its processes go")),
  works(
    "E4",
    "no receipt in time",
    run.dialogue("fails the run in time, with what it was asked"),
    run.finalizers("a message to an agent that never answers")
  ),
  works(
    "E5",
    "it failed with an exit code or by a signal, with its most telling line",
    situations("the CLI gives up for a reason of its own"),
    situations("the CLI crashes")
  ),
  works("E6", "the quota is used up", situations("the provider says that the quota is used up, exit ${code}")),
  works("E7", "it cannot do that", situations("what the CLI cannot do is refused before anything is started")),
  works(
    "E8",
    "the name belongs to another agent",
    session.named("a name of another agent is refused, for a plan as well, until it is forgotten")
  ),
  works(
    "E9",
    "another run holds the name",
    session.named("a second run of the name is refused while the first one goes on, and not after it")
  ),
  works("E10", "the store failed", session.store("that the disk refuses are an error of every operation")),
  works(
    "E11",
    "it ended without a word, or without the last one",
    "AgentIncomplete; failures of a dialogue have errors of their own",
    situations("the CLI says nothing at all"),
    situations("the CLI ends without saying that the turn is over: what it had said is kept"),
    codexServer("a request that is refused is a failure, and without a conversation the end")
  ),
  works("E12", "not logged in", situations("not logged in: how to")),
  works("E13", "the turn failed, whatever the exit code", situations("the turn itself failed, exit ${code}")),
  works("E14", "the CLI refuses an argument", situations("the CLI rejects a flag")),
  differs(
    "E15",
    "cancelled",
    "no error: interruption is Effect's own, and is in the cause; a turn that was interrupted by `run.interrupt` is an "
      + "outcome with that stop",
    run.dialogue("ends the turn, and the outcome is what there was"),
    endings("after the interruption nothing is emitted, said or done")
  ),
  works(
    "E16",
    "too large for the command line",
    situations("what does not fit on a command line is refused, not cut")
  ),
  outOfScope(
    "E17",
    "no runtime, a task that died",
    "an Effect has its runtime; a driver that throws is a defect, in the outcome and in the events",
    run.run("a driver that throws does not look like a stream that has come to its end")
  )
]
