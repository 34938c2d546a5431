// The vocabulary of misbehaving CLIs, as lists of steps that mean the same in every wire format. `parameters` are those
// of the scenario in the environment: `mark` for what is left in the process table, and what each name reads below.
import { zoo } from "./descendants.mjs"

const tools = { do: "tool", id: "call_1", command: "make test" }

/** Begins, leaves `kinds` behind in an open tool call, and says so when they run. */
const busy = (kinds) => [{ do: "start" }, { do: "spawn", kinds }, tools]

const success = (text) => [
  { do: "start" },
  tools,
  { do: "toolResult", id: "call_1", output: "3 passed\n" },
  { do: "text", text },
  { do: "end", text }
]

const idle = { do: "idle" }

const noise = [
  "\u001b]0;fake\u0007\u001b[?2004h",
  "Welcome to the fake shell!\n",
  "\n",
  "\r\n   \t\n",
  "\u001b[32mnpm notice\u001b[0m a new version is out\n"
]

const growing = [1, 5, 9].map((output) => ({ input_tokens: 100, output_tokens: output }))

export const scenarios = {
  // Behaves.
  "OK": ({ text }) => success(text),
  // Tells in its answer which conversation it is in: needs `state`, a folder.
  // Answers each turn of a conversation with the next of `answers`: needs `state`, too.
  "ANSWERS": () => [{ do: "start" }, { do: "answer" }],
  "TALK": () => [{ do: "start" }, { do: "recall" }],

  "F-TREE": () => [...busy(["tree"]), idle],
  "F-SETSID": () => [...busy(["tree", "setsid"]), idle],
  "F-DAEMON": () => [...busy(["tree", "daemon"]), idle],
  "F-ZOO": () => [...busy(zoo), idle],
  "F-STUBBORN": () => [{ do: "ignore", signals: ["SIGTERM", "SIGINT", "SIGHUP"] }, ...busy(["tree", "stubborn"]), idle],
  "F-LATE-DIE": () => [...busy(["stubborn"]), idle],
  "F-WRAP": ({ inner = "F-TREE" }) => [{ do: "wrap", inner }],
  "F-HOLDER": ({ kind = "holder", output, text }) => [
    ...success(text),
    { do: "spawn", kinds: [kind], output },
    { do: "exit", code: 0 }
  ],
  "F-LEFTOVERS": ({ text, kinds = zoo }) => [...success(text), { do: "spawn", kinds }, { do: "exit", code: 0 }],
  "F-AFTER": ({ text }) => [...success(text), idle],
  "F-MUTE": () => [{ do: "start" }, { do: "text", text: "Half of it." }, tools, idle],
  "F-STDIN": ({ text }) => [{ do: "stdin" }, ...success(text)],
  "F-EARLY": () => [{ do: "stderr", text: "fake: no space left for this session\n" }, { do: "exit", code: 3 }],
  "F-ASK": () => [
    { do: "start" },
    { do: "line", text: "Allow the command to run? (y/n)" },
    { do: "stderr", text: "Allow the command to run? (y/n) " },
    { do: "ask" }
  ],
  "F-NOISE": ({ text }) => [
    { do: "raw", text: "\ufeff" },
    ...success(text).flatMap((
      step,
      index
    ) => [{ do: "raw", text: noise[index] }, { do: "lineEnd", text: "\r\n" }, step]),
    { do: "raw", bytes: "c3 28 a0 a1 0a" },
    { do: "raw", text: "{\"half\": tru" }
  ],
  "F-BYTES": ({ text }) => [{ do: "bytewise" }, ...success(text)],
  "F-BIG": ({ mib = 1 }) => [{ do: "start" }, { do: "big", mib }, { do: "end", text: "big" }],
  "F-ERRFLOOD": ({ mib = 200, text }) => [{ do: "stderrFlood", mib }, ...success(text)],
  "F-NEW": (
    { text }
  ) => [{ do: "start" }, { do: "strange" }, { do: "text", text }, { do: "strange" }, { do: "end", text }],
  "F-OK-BUT": ({ kind = "rate" }) => [{ do: "start" }, { do: "fail", kind, code: 0 }],
  "F-DUP": ({ text }) => [
    { do: "start" },
    ...growing.map((usage) => ({ do: "text", text, id: "same", usage })),
    { do: "end", text }
  ],
  "F-SIGEXIT": () => [{ do: "start" }, { do: "signalledChild" }, { do: "exit", code: 0 }],

  // What a provider, an account or a version can do to a run.
  "FAIL": ({ kind, code }) => [{ do: "start" }, { do: "text", text: "So far." }, { do: "fail", kind, code }],
  "NOT-LOGGED-IN": () => [{ do: "startUnlessSilent" }, { do: "fail", kind: "auth" }],
  // Ends without the word that the turn is over.
  "NO-TERMINAL": ({ code = 0 }) => [{ do: "start" }, { do: "text", text: "So far." }, tools, { do: "exit", code }],
  "CUT-LINE": ({ text }) => [
    { do: "start" },
    { do: "text", text: "So far." },
    { do: "cut" },
    { do: "end", text },
    { do: "exit", code: 0 }
  ],
  "SILENT": ({ code = 0 }) => [{ do: "exit", code }],
  "CRASH": () => [
    { do: "start" },
    { do: "text", text: "So far." },
    tools,
    { do: "stderr", text: "fake: assertion failed in the middle of the turn\n" },
    { do: "kill", signal: "SIGABRT" }
  ],
  "GIVES-UP": () => [{ do: "start" }, { do: "stderr", text: "fake: disk quota exceeded\n" }, { do: "exit", code: 7 }],
  // Goes on talking until somebody ends it; the number of what it has said is in `state`.
  "CHATTER": () => [{ do: "start" }, { do: "spawn", kinds: ["tree", "daemon"] }, tools, { do: "chatter" }],
  // Has much to say.
  "WORDY": ({ count, text }) => [
    { do: "start" },
    ...Array.from({ length: count }, (_, index) => ({ do: "text", text: `word ${index}`, id: `id_${index}` })),
    { do: "text", text, id: "last" },
    { do: "end", text }
  ],
  // One line, and no end of it.
  "ENDLESS": () => [{ do: "start" }, { do: "endless" }],
  // Lives on without an output.
  "CLOSED": ({ finished, text }) => [...(finished ? success(text) : [{ do: "start" }]), { do: "closeStdout" }, idle],
  // Polite: takes its own children along when it is asked to stop, and says that it was stopped.
  "POLITE":
    () => [{ do: "onSignal", signals: ["SIGTERM", "SIGINT"], print: "aborted", code: 0 }, ...busy(["child"]), idle],
  // Begins a new conversation whatever it was asked to continue.
  "AMNESIC": ({ text }) => [{ do: "forget" }, ...success(text)],
  // Changes the id of the conversation on the way: the newest counts.
  "RENAMED": (
    { text }
  ) => [{ do: "start" }, { do: "forget" }, { do: "start" }, { do: "text", text }, { do: "end", text }],
  // Two turns for one prompt, the second one after the first has ended.
  "TWICE": ({ text }) => [
    ...success("not yet"),
    { do: "start" },
    { do: "text", text, id: "second" },
    { do: "end", text }
  ]
}
