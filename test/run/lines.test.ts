import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { makeSplitter, makeTail, parseLine } from "../../src/internal/run/lines.js"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const cut = (data: Uint8Array, sizes: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  let at = 0
  for (let index = 0; at < data.byteLength; index++) {
    const size = Math.max(1, sizes[index % sizes.length] ?? 1)
    chunks.push(data.subarray(at, at + size))
    at += size
  }
  return chunks
}

const split = (chunks: ReadonlyArray<Uint8Array>, maxBytes = 1 << 20) => {
  const splitter = makeSplitter(maxBytes)
  const lines: Array<string> = []
  for (const chunk of chunks) {
    if (!splitter.push(chunk, (line) => lines.push(line))) return "too-long"
  }
  return { lines, rest: splitter.rest() }
}

describe("lines", () => {
  it("cuts at line feeds only, whatever the borders of the chunks", () => {
    const text = FastCheck.array(
      FastCheck.oneof(FastCheck.fullUnicodeString(), FastCheck.constantFrom("é漢😀", "\r", "\u2028", "")).map((line) =>
        line.replaceAll("\n", "")
      )
    )
    FastCheck.assert(
      FastCheck.property(
        text,
        FastCheck.string(),
        FastCheck.array(FastCheck.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (lines, last, sizes) => {
          const rest = last.replaceAll("\n", "")
          const data = bytes(lines.map((line) => `${line}\n`).join("") + rest)
          assert.deepStrictEqual(split(cut(data, sizes)), { lines, rest })
          assert.deepStrictEqual(split([data]), { lines, rest })
        }
      )
    )
  })

  it("refuses a line beyond the limit wherever the chunks are cut, and takes one at the limit", () => {
    for (const size of [1, 3, 7, 100]) {
      const fits = bytes(`a\n${"x".repeat(10)}\nb\n`)
      assert.deepStrictEqual(split(cut(fits, [size]), 10), { lines: ["a", "x".repeat(10), "b"], rest: "" })
      assert.strictEqual(split(cut(bytes(`a\n${"x".repeat(11)}\nb\n`), [size]), 10), "too-long")
      assert.strictEqual(split(cut(bytes(`a\n${"x".repeat(11)}`), [size]), 10), "too-long")
    }
  })

  it("counts the limit in bytes, not in characters", () => {
    assert.strictEqual(split([bytes(`${"漢".repeat(4)}\n`)], 11), "too-long")
    assert.deepStrictEqual(split([bytes(`${"漢".repeat(4)}\n`)], 12), { lines: ["漢漢漢漢"], rest: "" })
  })

  it("does not copy a long line again for every chunk", () => {
    const splitter = makeSplitter(1 << 28)
    const chunk = new Uint8Array(65536).fill(120)
    const began = performance.now()
    for (let index = 0; index < 1024; index++) assert.isTrue(splitter.push(chunk, () => assert.fail()))
    const lines: Array<string> = []
    splitter.push(bytes("\n"), (line) => lines.push(line))
    assert.deepStrictEqual(lines.map(({ length }) => length), [1 << 26])
    // Copying at every chunk would move 32 GiB.
    assert.isBelow(performance.now() - began, 5000)
  })

  it("reads records through what terminals and shells put around them", () => {
    const record = { _tag: "Record", record: { type: "x" } }
    for (
      const line of [
        "{\"type\":\"x\"}",
        "{\"type\":\"x\"}\r",
        "\ufeff{\"type\":\"x\"}",
        "  {\"type\":\"x\"}  ",
        "\u001b[?2004l{\"type\":\"x\"}",
        "\u001b]0;title\u0007\u001b[1m{\"type\":\"x\"}\u001b[0m"
      ]
    ) assert.deepStrictEqual<unknown>(parseLine(line), record)
  })

  it("tells noise from blank lines, and never takes for a record what is none", () => {
    for (const line of ["", "\r", "   ", "\u001b[0m"]) assert.strictEqual(parseLine(line)._tag, "Blank")
    for (const line of ["hello", "{\"type\":", "[1,2]", "\"text\"", "42", "null", "warn: {\"type\":\"x\"}"]) {
      assert.strictEqual(parseLine(line)._tag, "Noise")
    }
    assert.deepStrictEqual<unknown>(parseLine("\u001b[31mwarning\u001b[0m"), { _tag: "Noise", text: "warning" })
  })
})

describe("tail", () => {
  it("keeps the end, however it came", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.string({ maxLength: 40 })),
        FastCheck.integer({ min: 1, max: 50 }),
        (pieces, limit) => {
          const ascii = pieces.map((piece) => piece.replace(/[^ -Z]/g, "."))
          const tail = makeTail(limit)
          for (const piece of ascii) tail.push(bytes(piece))
          assert.strictEqual(tail.text(), ascii.join("").slice(-limit))
        }
      )
    )
  })

  it("does not begin in the middle of a character", () => {
    const tail = makeTail(4)
    tail.push(bytes("漢漢"))
    assert.strictEqual(tail.text(), "漢")
  })
})
