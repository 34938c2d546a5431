/** Building a command line, and finding out before the spawn whether it fits. */
import * as Either from "effect/Either"
import * as AgentDriver from "../../AgentDriver.js"
import * as AgentError from "../../AgentError.js"
import type * as AgentRequest from "../../AgentRequest.js"

/** An argument and the part of the request that it comes from. */
export interface Piece {
  readonly what: string
  readonly arg: AgentDriver.Arg
}

export const flags = (...args: ReadonlyArray<string>): ReadonlyArray<Piece> =>
  args.map((arg) => ({ what: "the command line", arg }))

/** A flag and its value, bound by `=` where the value would be read as a flag. Nothing where there is no value. */
export const option = (name: string, value: string | undefined, what: string): ReadonlyArray<Piece> =>
  value === undefined
    ? []
    : value.startsWith("-")
    ? [{ what, arg: `${name}=${value}` }]
    : [{ what, arg: name }, { what, arg: value }]

/** `before`: what the CLI wants in front of a path. */
export const fileOption = (name: string, file: string, what: string, before = ""): ReadonlyArray<Piece> => [
  { what, arg: AgentDriver.file(file, `${name}=${before}`) }
]

/** Arguments of the caller may carry anything, so they are never shown. */
export const extra = (request: AgentRequest.AgentRequest): ReadonlyArray<Piece> =>
  request.extraArgs.map((arg) => ({ what: "extraArgs", arg: AgentDriver.secret(arg) }))

/** Linux takes 131072 bytes for one argument, the terminating zero included. */
const longest = 131_071
const total = 512 * 1024
/** Windows counts the whole command line, in UTF-16 units. */
const windows = 32_000

const encoder = new TextEncoder()

const sizeOf = ({ arg }: Piece): number =>
  typeof arg === "string"
    ? encoder.encode(arg).length
    : arg._tag === "Secret"
    ? encoder.encode(arg.value).length
    // The path is not known here; no path is this long.
    : (arg.prefix ?? "").length + (arg.suffix ?? "").length + 4096

/** The pieces as arguments, or the one that is too large for a command line. */
export const fit = (
  agent: string,
  pieces: ReadonlyArray<Piece>,
  platform: string
): Either.Either<ReadonlyArray<AgentDriver.Arg>, AgentError.AgentInputTooLarge> => {
  const sums = new Map<string, number>()
  const limit = platform === "win32" ? windows : total
  let sum = 0
  for (const piece of pieces) {
    const size = sizeOf(piece)
    if (platform !== "win32" && size > longest) {
      return Either.left(new AgentError.AgentInputTooLarge({ agent, what: piece.what, size, limit: longest }))
    }
    sum += size + 1
    sums.set(piece.what, (sums.get(piece.what) ?? 0) + size + 1)
  }
  if (sum <= limit) return Either.right(pieces.map(({ arg }) => arg))
  const [what, size] = [...sums].reduce((largest, next) => next[1] > largest[1] ? next : largest)
  return Either.left(new AgentError.AgentInputTooLarge({ agent, what, size, limit }))
}

export const unsupported = (
  agent: string,
  what: string,
  hint?: string
): Either.Either<never, AgentError.AgentUnsupported> =>
  Either.left(new AgentError.AgentUnsupported(hint === undefined ? { agent, what } : { agent, what, hint }))

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

export const isUuid = (text: string): boolean => uuid.test(text)
