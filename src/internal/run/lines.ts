/**
 * Bytes into lines, lines into records. Cuts at LF bytes, which no other character of UTF-8 contains, so that no
 * character is ever cut; what belongs together is decoded once.
 */
import type { JsonRecord } from "../../AgentDriver.js"

export interface Splitter {
  /** Hands on each line that a chunk completes; `false` when one is longer than the limit, which ends it. */
  readonly push: (chunk: Uint8Array, onLine: (line: string) => void) => boolean
  /** What is left behind the last LF. */
  readonly rest: () => string
}

const LF = 10

/** No string is much longer, in Node; with room for what else the chunk holds that ends the line. */
export const longestLine = 0x1f000000

const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

export const makeSplitter = (maxBytes: number): Splitter => {
  let pieces: Array<Buffer> = []
  let size = 0
  const take = (last: Buffer): string => {
    const whole = Buffer.concat([...pieces, last])
    pieces = []
    size = 0
    return whole.toString("utf8")
  }
  return {
    push: (chunk, onLine) => {
      const bytes = bufferOf(chunk)
      let from = 0
      for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, from)) {
        if (size + end - from > maxBytes) return false
        // One by one: a line with wide characters does not widen the others, and none outlives its reading.
        onLine(size === 0 ? bytes.toString("utf8", from, end) : take(bytes.subarray(from, end)))
        from = end + 1
      }
      size += bytes.byteLength - from
      if (from < bytes.byteLength) pieces.push(from === 0 ? bytes : bytes.subarray(from))
      return size <= maxBytes
    },
    rest: () => take(Buffer.alloc(0))
  }
}

/** Colours, cursor movement, titles, bracketed paste, and the byte order mark. */
const escapes = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\^_]|\ufeff/g

export type Line =
  | { readonly _tag: "Record"; readonly record: JsonRecord }
  | { readonly _tag: "Noise"; readonly text: string }
  | { readonly _tag: "Blank" }

const blank: Line = { _tag: "Blank" }

const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parse = (text: string): JsonRecord | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const parseLine = (line: string): Line => {
  // The common case first: JSON.parse takes the CR and spaces around the object itself.
  const record = line.startsWith("{") ? parse(line) : undefined
  if (record !== undefined) return { _tag: "Record", record }
  const text = line.replace(escapes, "").trim()
  if (text.length === 0) return blank
  const cleaned = text.startsWith("{") ? parse(text) : undefined
  return cleaned === undefined ? { _tag: "Noise", text } : { _tag: "Record", record: cleaned }
}

/** The end of a byte stream, at most `limit` bytes of it. */
export const makeTail = (limit: number) => {
  let pieces: Array<Uint8Array> = []
  let size = 0
  const join = (): Uint8Array => {
    const joined = Buffer.concat(pieces)
    let from = Math.max(0, joined.byteLength - limit)
    // Not from the middle of a character.
    while (from > 0 && ((joined[from] ?? 0) & 0xc0) === 0x80) from++
    return joined.subarray(from)
  }
  return {
    push: (chunk: Uint8Array): void => {
      pieces.push(chunk)
      size += chunk.byteLength
      // Joined now and then, so that neither many small nor a few large chunks pile up.
      if (size > limit * 2) {
        pieces = [Uint8Array.from(join())]
        size = limit
      }
    },
    text: (): string => Buffer.from(join()).toString("utf8").replace(escapes, "")
  }
}
