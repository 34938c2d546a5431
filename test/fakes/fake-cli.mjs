// The engine of the fake CLIs: reads its command line as the real one would, and plays the scenario of FAKE_SCENARIO
//
//   { "name": "F-TREE", "mark": "123456789", ... }   one of the vocabulary, see scenarios.mjs
//   { "steps": [{ "do": "start" }, ...] }            steps of your own
//
// with, in both, `text` (the answer), `dump` (a file that gets what the fake was started with), `state` (a folder for
// conversations), `session` (the id that it claims to have), `stdin: "unread"` (never reads its input).
// It ends by itself after two minutes at the latest.
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Argv from "./argv.mjs"
import * as Descendants from "./descendants.mjs"
import { scenarios } from "./scenarios.mjs"
import { models, wires } from "./wires.mjs"

const [, , name, ...argv] = process.argv
const scenario = { text: "Hello from the fake.", ...JSON.parse(process.env.FAKE_SCENARIO ?? "{\"name\":\"OK\"}") }
const asked = Argv.read(name, argv)
const context = {
  cwd: process.cwd(),
  model: asked.options["--model"]?.[0] ?? asked.options["-m"]?.[0] ?? models[name],
  options: asked.options,
  session: scenario.session ?? asked.session.id ?? randomUUID(),
  prompt: asked.prompt,
  lineEnd: "\n",
  bytewise: false,
  cut: false
}
const wire = wires[name](context)

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const exit = (code) => process.exit(code)

// A blocked reader blocks the fake, as it does the real ones; nobody who reads ends it.
const write = (fd, bytes) => {
  for (let offset = 0; offset < bytes.length;) {
    try {
      offset += writeSync(fd, bytes, offset)
    } catch (error) {
      if (error.code === "EAGAIN") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
      else if (error.code === "EPIPE") exit(141)
      else throw error
    }
  }
}

const put = async (bytes) => {
  if (!context.bytewise) return write(1, bytes)
  for (let index = 0; index < bytes.length; index++) {
    write(1, bytes.subarray(index, index + 1))
    // Every byte is a read of its own where it matters: in the middle of a character.
    if (bytes[index] >= 0x80) await pause(1)
  }
}

const print = async (records) => {
  for (const [index, record] of records.entries()) {
    const line = Buffer.from(JSON.stringify(record))
    const last = index === records.length - 1
    await put(
      context.cut && last ? line.subarray(0, line.length - 10) : Buffer.concat([line, Buffer.from(context.lineEnd)])
    )
  }
}

const readAll = async () => {
  const chunks = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return Buffer.concat(chunks)
}

let input
const stdin = () => input ??= readAll()

/** What the folder of the run holds at the start. */
const files = () => {
  const folder = process.env.TMPDIR
  if (folder === undefined || !basename(dirname(folder)).startsWith("ea-")) return {}
  const plain = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(plain.map(({ name }) => {
    const path = join(folder, name)
    return [name, { path, content: readFileSync(path, "utf8"), mode: statSync(path).mode & 0o777 }]
  }))
}

const conversation = (id) => join(scenario.state, `${name}-${id}.json`)

/** Finds the conversation that is asked for, as the real CLI does: those that exist are in the folder `state`. */
const turns = async () => {
  const { id, kind } = asked.session
  if (kind === "new" || scenario.state === undefined) return []
  if (existsSync(conversation(id))) {
    context.session = kind === "fork" ? randomUUID() : id
    return JSON.parse(readFileSync(conversation(id), "utf8"))
  }
  const refused = wire.unknownSession(id)
  if (refused !== undefined) {
    await print(refused.records)
    write(2, Buffer.from(refused.stderr ?? ""))
    exit(refused.code)
  }
  context.session = randomUUID()
  return []
}

const steps = {
  start: () => print(wire.start()),
  // The real Copilot prints nothing when it has no account.
  startUnlessSilent: () => wire.fail("auth").records.length > 0 ? print(wire.start()) : undefined,
  text: ({ id, text, usage }) => print(wire.text(text, { id, usage })),
  tool: ({ command, id }) => print(wire.tool(id, command)),
  toolResult: ({ id, ok, output }) => print(wire.toolResult(id, output, ok)),
  edit: ({ id, ok = true, path }) => print(wire.edit(id, path, ok)),
  retry: ({ attempt, delay }) => print(wire.retry(attempt, delay)),
  end: ({ text }) => print(wire.end(text)),
  strange: () => print(wire.strange()),
  record: ({ record }) => print([record]),
  line: ({ text }) => put(Buffer.from(`${text}\n`)),
  raw: ({ bytes, text }) => put(text === undefined ? Buffer.from(bytes.replaceAll(" ", ""), "hex") : Buffer.from(text)),
  lineEnd: ({ text }) => {
    context.lineEnd = text
  },
  bytewise: () => {
    context.bytewise = true
  },
  cut: () => {
    context.cut = true
  },
  big: ({ mib }) => print(wire.text("é".repeat(mib * 512 * 1024))),
  stderr: ({ text }) => write(2, Buffer.from(text)),
  stderrFlood: ({ mib }) => {
    const block = Buffer.from(`${"e".repeat(1023)}\n`.repeat(1024))
    for (let index = 0; index < mib; index++) write(2, block)
    write(2, Buffer.from("fake: the flood is over\n"))
  },
  fail: async ({ code, kind }) => {
    const failure = wire.fail(kind, code)
    await print(failure.records)
    write(2, Buffer.from(failure.stderr ?? ""))
    exit(code ?? failure.code)
  },
  spawn: ({ kinds, ...options }) => Descendants.start(scenario.mark, kinds, options),
  stdin: async () => {
    context.prompt = (await stdin()).toString("utf8") || context.prompt
  },
  ask: async () => {
    try {
      const terminal = openSync("/dev/tty", "r+")
      writeSync(terminal, "Allow? ")
      await pause(120_000)
    } catch {
      // No terminal to ask at.
    }
    await stdin()
    write(2, Buffer.from("fake: nobody answered\n"))
    exit(1)
  },
  keep: () => {
    mkdirSync(scenario.state, { recursive: true })
    const file = conversation(context.session)
    writeFileSync(`${file}.part`, JSON.stringify([...context.turns, context.prompt]))
    renameSync(`${file}.part`, file)
  },
  pause: ({ ms }) => pause(ms),
  recall: async () => {
    steps.keep()
    const text = [...context.turns, context.prompt].join(" / ")
    await print([...wire.text(text), ...wire.end(text)])
  },
  answer: async () => {
    steps.keep()
    const text = scenario.answers[context.turns.length] ?? scenario.answers.at(-1)
    await print([...wire.text(text), ...wire.end(text)])
  },
  // Answers at the first time, and goes on at every other.
  answerOnce: async ({ path }) => {
    if (context.turns.length > 0) return writeFileSync(path, "")
    await steps.answer()
    exit(0)
  },
  // How many descendants there are now, for whoever wants to know later.
  census: () => {
    mkdirSync(scenario.state, { recursive: true })
    const found = readdirSync("/proc").filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`60.${scenario.mark}`)
      } catch {
        return false
      }
    })
    appendFileSync(join(scenario.state, "census"), `${found.length}\n`)
  },
  forget: () => {
    context.session = randomUUID()
  },
  chatter: async () => {
    mkdirSync(scenario.state, { recursive: true })
    for (let index = 0;; index++) {
      await print(wire.text(`word ${index}`, { id: `id_${index}` }))
      appendFileSync(join(scenario.state, "said"), `${index}\n`)
      await pause(5)
    }
  },
  endless: async () => {
    for (;;) {
      write(1, Buffer.alloc(1024 * 1024, "x"))
      await pause(0)
    }
  },
  ignore: ({ signals }) => {
    for (const signal of signals) process.on(signal, () => {})
  },
  onSignal: ({ code, print: method, signals }) => {
    for (const signal of signals) {
      process.once(signal, async () => {
        await print(wire[method]())
        exit(code)
      })
    }
  },
  wrap: ({ inner }) => {
    const result = spawnSync(process.execPath, [fileURLToPath(import.meta.url), name, ...argv], {
      stdio: "inherit",
      env: { ...process.env, FAKE_SCENARIO: JSON.stringify({ ...scenario, name: inner }) }
    })
    exit(result.status ?? 0)
  },
  signalledChild: () => {
    spawnSync("sh", ["-c", "kill -TERM $$"])
  },
  touch: ({ path }) => writeFileSync(path, ""),
  waitFor: async ({ path }) => {
    while (!existsSync(path)) await pause(3)
  },
  closeStdout: () => closeSync(1),
  idle: async () => {
    for (;;) await pause(60_000)
  },
  exit: ({ code }) => exit(code),
  kill: async ({ signal }) => {
    process.kill(process.pid, signal)
    await pause(60_000)
  }
}

const main = async () => {
  setTimeout(() => exit(99), 120_000).unref()
  if (scenario.dump !== undefined) {
    const read = asked.stdin && scenario.stdin !== "unread" ? (await stdin()).toString("utf8") : undefined
    const prompt = read ?? context.prompt
    const seen = { argv, env: process.env, cwd: context.cwd, stdin: read, prompt, pid: process.pid, files: files() }
    writeFileSync(`${scenario.dump}.part`, JSON.stringify(seen))
    renameSync(`${scenario.dump}.part`, scenario.dump)
  }
  if (asked.unknown !== undefined) {
    const refused = Argv.refusal[name](asked.unknown)
    write(2, Buffer.from(refused.stderr))
    exit(refused.code)
  }
  const played = scenario.steps ?? scenarios[scenario.name](scenario)
  // One leaves before it has read anything; a wrapper leaves the reading to what it wraps.
  const reads = scenario.stdin !== "unread" && scenario.name !== "F-EARLY" && scenario.name !== "F-WRAP"
  if (asked.stdin && reads) context.prompt = (await stdin()).toString("utf8")
  if (asked.session.kind !== "new") context.turns = await turns()
  context.turns ??= []
  for (const { do: what, ...options } of played) {
    if (!(what in steps)) throw new Error(`the fake has no step ${what}`)
    await steps[what](options)
  }
  exit(0)
}

main().catch((error) => {
  write(2, Buffer.from(`${error.stack}\n`))
  exit(98)
})
