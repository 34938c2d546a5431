/**
 * What an agent tells of itself: its version, and what it answers to a few questions, each asked of a contained process
 * in the environment of a run.
 */
import type { PlatformError } from "@effect/platform/Error"
import * as Cache from "effect/Cache"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentRequest from "../../AgentRequest.js"
import * as Installation from "../../Installation.js"
import * as Teardown from "../../Teardown.js"
import { inBackground } from "../background.js"
import { onNativeTime } from "../nativeClock.js"
import * as launch from "./launch.js"
import * as lines from "./lines.js"

/** Where and as whom it is asked. */
interface Place {
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly envPolicy: AgentRequest.EnvPolicy
  /** For each question. */
  readonly timeoutMs: number
}

type Asked = Partial<Pick<AgentRequest.AgentRequest, "cwd" | "env" | "envPolicy">> & {
  readonly timeout?: Duration.DurationInput | undefined
}

// Where digits begin, and not at each of them: a line of nothing else would take for ever.
const versionOf = (text: string): Option.Option<string> =>
  Option.fromNullable(/(?<!\d)\d{1,9}\.\d{1,9}\.\d{1,9}[\w.-]{0,64}\b/.exec(text)?.[0])

const recordOf = (text: string): Option.Option<AgentDriver.JsonRecord> => {
  const line = lines.parseLine(text)
  return line._tag === "Record" ? Option.some(line.record) : Option.none()
}

/** The words of the help that stand in a line, whole. */
const wordsIn = (words: ReadonlyArray<string>) => (line: string): Option.Option<ReadonlyArray<string>> => {
  const found = line.match(/[\w-]+/g)?.filter((word) => words.includes(word)) ?? []
  return found.length === 0 ? Option.none() : Option.some(found)
}

const maxFound = 4096

const beforeEnd = "before it ended"

const maxLineBytes = 8 * 1024 * 1024

const linesOf = (bytes: Stream.Stream<Uint8Array, PlatformError>) =>
  Stream.suspend(() => {
    const splitter = lines.makeSplitter(maxLineBytes)
    return bytes.pipe(
      Stream.mapError(({ message }) => message),
      Stream.mapConcatEffect((chunk) => {
        const texts: Array<string> = []
        return splitter.push(chunk, (text) => texts.push(text))
          ? Effect.succeed(texts)
          : Effect.fail("it wrote a line without end")
      }),
      Stream.concat(Stream.sync(splitter.rest))
    )
  })

const probe = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  program: string | undefined,
  asked: Place
) {
  const { variables, where } = yield* launch.place(driver, program, asked)
  const directory = yield* launch.makeDirectory([], yield* Ref.make(false), where)
  const { ask, env = {}, help = [], verified, version: versionArgs = ["--version"] } = driver.probe ?? {}

  /**
   * Starts it, and takes of its lines what is looked for, until there is enough, or no more, or for as long as is given.
   * With what was missing, if something was; without `wanted`, nothing is when it told all it had.
   */
  const listen = <A>(
    args: ReadonlyArray<string>,
    said: ReadonlyArray<AgentDriver.JsonRecord>,
    wanted: number | undefined,
    find: (line: string) => Option.Option<A>
  ) =>
    Effect.scoped(Effect.gen(function*() {
      const found = yield* Ref.make(Chunk.empty<A>())
      // Its input stays open: some end with it, before they have answered.
      const input = Stream.concat(
        Stream.encodeText(Stream.fromIterable(said.map((record) => `${JSON.stringify(record)}\n`))),
        Stream.never
      )
      const tree = yield* launch.start(where, args, variables(directory, env), said.length === 0 ? undefined : input, {
        teardown: Teardown.immediate,
        stdin: said.length === 0 ? "ignore" : undefined
      })
      yield* inBackground(Effect.ignore(Stream.runDrain(tree.stderr)))
      const ended = yield* linesOf(tree.stdout).pipe(
        Stream.filterMap(find),
        Stream.take(wanted ?? maxFound),
        Stream.runForEach((one) => Ref.update(found, Chunk.append(one))),
        Effect.match({ onFailure: (what) => `before ${what}`, onSuccess: () => beforeEnd }),
        Effect.interruptible,
        Effect.timeoutTo({
          duration: asked.timeoutMs,
          onSuccess: (what) => what,
          onTimeout: () => `within ${asked.timeoutMs} ms`
        }),
        onNativeTime
      )
      const all = Chunk.toReadonlyArray(yield* Ref.get(found))
      const isAll = wanted === undefined ? ended === beforeEnd && all.length > 0 : all.length >= wanted
      const problems = isAll
        ? []
        : [`${[driver.name, ...args].join(" ")}: ${all.length} of ${wanted ?? "all"} answers ${ended}`]
      return { all, problems }
    }))

  const version = yield* listen(versionArgs, [], 1, versionOf)
  const account = ask === undefined
    ? { all: [], problems: [] }
    : yield* listen(
      ask.args,
      ask.records(where.cwd),
      ask.answers,
      (line) => Option.filter(recordOf(line), ask.isAnswer)
    )
  const helps = yield* Effect.forEach(
    help,
    ({ args, words }) =>
      Effect.map(listen(args, [], undefined, wordsIn(Object.values(words).flat())), ({ all, problems }) => ({
        problems,
        capabilities: Struct.keys(words).filter((name) => words[name]?.every((word) => all.flat().includes(word)))
      }))
  )
  const notHelped = helps.flatMap(({ problems }) => problems)
  return new Installation.Installation({
    agent: driver.name,
    program: where.program,
    version: version.all[0],
    verified,
    account: ask === undefined || account.all.length === 0 ? { login: "unknown" } : ask.read(account.all),
    capabilities: help.length === 0 || notHelped.length > 0
      ? undefined
      : helps.flatMap(({ capabilities }) => capabilities),
    problems: [...version.problems, ...notHelped, ...account.problems]
  })
}, Effect.scoped)

/** What may be another thing in a moment, somebody logs in, is not kept. */
const isKept = ({ account, problems }: Installation.Installation) => problems.length === 0 && account.login !== "no"

/** The same with what was found kept for a while. */
export const cached = Effect.fnUntraced(function*<S>(
  driver: AgentDriver.AgentDriver<S>,
  program: string | undefined
) {
  const cache = yield* Cache.make({
    capacity: 64,
    timeToLive: "5 minutes",
    lookup: (place: Place) => probe(driver, program, place)
  })
  const get = (place: Place): ReturnType<typeof cache.get> =>
    cache.get(place).pipe(
      Effect.tapBoth({
        onFailure: () => cache.invalidate(place),
        onSuccess: (found) => Effect.unless(cache.invalidate(place), () => isKept(found))
      }),
      // Whoever asked first was interrupted, and not this one.
      Effect.catchAllCause((cause) => Cause.isInterruptedOnly(cause) ? get(place) : Effect.failCause(cause))
    )
  return ({ cwd, env = {}, envPolicy = "minimal", timeout = "20 seconds" }: Asked = {}) =>
    get(Data.struct({
      cwd,
      env: Data.struct(env),
      envPolicy: typeof envPolicy === "string" ? envPolicy : Data.struct({ only: Data.array(envPolicy.only) }),
      timeoutMs: Duration.toMillis(timeout)
    }))
})
