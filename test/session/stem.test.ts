/**
 * Names of any form become names of files, each its own.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { stemOf } from "../../src/internal/session/stem.js"

const odd = [
  "",
  "%",
  "%%",
  " ",
  ".",
  "..",
  "../../etc/passwd",
  "/",
  "a/b",
  "a\\b",
  "a",
  "A",
  "%61",
  "é",
  "e\u0301",
  "É",
  "ß",
  "İ",
  "\ud800",
  "\udfff",
  "\ufffd",
  "😀",
  "\0",
  "a\nb",
  "con",
  "CON",
  "con.json",
  "%63on",
  "com1",
  "com10",
  "lpt9",
  "a.json",
  "a.lease",
  "-",
  "--help",
  "x".repeat(150),
  "x".repeat(151),
  "x".repeat(10_000),
  `${"x".repeat(10_000)}y`,
  "é".repeat(5_000)
]

const text = FastCheck.oneof(
  FastCheck.constantFrom(...odd),
  FastCheck.string({ unit: "binary" }),
  FastCheck.string({ unit: FastCheck.constantFrom("a", "A", "%", ".", "/", "\ud800", "\udc00", "é") }),
  FastCheck.string({ minLength: 140, maxLength: 200, unit: FastCheck.constantFrom("a", "é", "%") })
)

describe("names of files", () => {
  it("are their own for each of the odd ones", () => {
    assert.strictEqual(new Set(odd.map(stemOf)).size, odd.length)
  })

  it("are one only for the same text, fit every file system, and mean nothing to it", () => {
    FastCheck.assert(
      FastCheck.property(text, text, (a, b) => {
        assert.strictEqual(stemOf(a) === stemOf(b), a === b)
        assert.match(stemOf(a), /^[a-z0-9_%-]{1,150}$/)
        assert.notMatch(stemOf(a), /^(con|prn|aux|nul|com\d|lpt\d)$/)
      }),
      { numRuns: 5000 }
    )
  })

  it("can be read where they are plain", () => {
    assert.strictEqual(stemOf("my-app_2"), "my-app_2")
    assert.strictEqual(stemOf("My App"), "%4dy%20%41pp")
  })
})
