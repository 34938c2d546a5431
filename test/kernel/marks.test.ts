/**
 * The arithmetic of the marks: no two hosts share a value, an inner tree lies within the outer one.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as mark from "../../src/internal/kernel/mark.js"
import * as slots from "../../src/internal/kernel/slots.js"

const limits = (hard: string, soft = hard): string =>
  `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max file locks            ${soft.padEnd(20)} ${hard.padEnd(20)} locks     
Max pending signals       7823                 7823                 signals   
`

const thread = FastCheck.integer({ min: 1, max: 2 ** 22 - 1 })
const slot = FastCheck.integer({ min: 0, max: mark.slots - 1 })
const place = FastCheck.tuple(thread, slot)

const outermost = (thread: number, slot: number): mark.Rlimit => {
  const made = mark.rlimitFor("unlimited", thread, slot)
  if (made === undefined) throw new Error("an unmarked host has room for every tree")
  return made
}

const carried = (value: string, by: mark.Rlimit) => mark.carriesRlimit(mark.hardLocksLimit(limits(value)), by)

describe("the limit as a mark", () => {
  it.prop("fits into what every shell can set, and is carried by itself alone", [place, place], ([one, other]) => {
    const a = outermost(...one)
    const b = outermost(...other)
    assert.isTrue(BigInt(a.value) < 2n ** 62n && BigInt(a.value) > 0n)
    assert.isTrue(carried(a.value, a))
    if (one[0] !== other[0] || one[1] !== other[1]) {
      assert.isFalse(carried(a.value, b))
      assert.isTrue(a.to < b.from || b.to < a.from, "their ranges are apart")
    }
  })

  it.prop(
    "of a tree inside another lies below it and within its range, and apart from that of any other",
    [place, place, place],
    ([outerPlace, onePlace, otherPlace]) => {
      const outer = outermost(...outerPlace)
      const one = mark.rlimitFor(outer.value, ...onePlace)
      const other = mark.rlimitFor(outer.value, ...otherPlace)
      // The highest place of all would need the value of the outer tree itself.
      if (one === undefined || other === undefined) {
        return assert.isAtLeast(Math.max(onePlace[0], otherPlace[0]), 2 ** 22 - 1)
      }
      assert.isTrue(BigInt(one.value) < BigInt(outer.value), "a limit can only be lowered")
      assert.isTrue(carried(one.value, outer))
      assert.isFalse(carried(outer.value, one))
      assert.strictEqual(carried(one.value, other), onePlace[0] === otherPlace[0] && onePlace[1] === otherPlace[1])
    }
  )

  it.prop("has no room inside an inner tree, whose mark its trees keep", [place, place, place], ([a, b, c]) => {
    const inner = mark.rlimitFor(outermost(...a).value, ...b)
    if (inner !== undefined) assert.isUndefined(mark.rlimitFor(inner.value, ...c))
  })

  it("has no room below a limit that somebody else has set", () => {
    for (const limit of ["0", "1", "1024", "9223372036854775807", "18446744073709551614", "nonsense", ""]) {
      assert.isUndefined(mark.rlimitFor(limit, 4242, 0), limit)
    }
  })

  it("is the hard limit, whatever the soft one is", () => {
    const own = outermost(4242, 7)
    assert.strictEqual(mark.hardLocksLimit(limits(own.value, "5")), own.value)
    assert.isTrue(mark.carriesRlimit(mark.hardLocksLimit(limits(own.value, "5")), own))
    assert.isFalse(mark.carriesRlimit(mark.hardLocksLimit(limits("5", own.value)), own))
    for (const text of ["", "Max cpu time unlimited unlimited seconds\n", limits("unlimited"), limits("odd")]) {
      assert.isFalse(mark.carriesRlimit(mark.hardLocksLimit(text), own))
    }
  })
})

describe("the environment as a mark", () => {
  it("is any occurrence of the id, also among those of trees around", () => {
    const own = { id: "00112233445566778899aabbccddeeff", rlimit: undefined }
    const carries = (text: string) => mark.carriesEnvironment(Buffer.from(text), own)
    assert.isTrue(carries(`A=1\0${mark.variable}=${own.id}\0B=2\0`))
    assert.isTrue(carries(`${mark.variable}=ffffffffffffffffffffffffffffffff:${own.id}:0000\0`))
    assert.isFalse(carries(`${mark.variable}=ffffffffffffffffffffffffffffffff\0`))
    assert.isFalse(carries(""))
  })
})

describe("the slots", () => {
  it("are given to one tree each, and again when it is empty", () => {
    const taken: Array<number> = []
    for (let free = slots.free(); free !== undefined; free = slots.free()) {
      slots.take(free)
      taken.push(free)
    }
    assert.strictEqual(new Set(taken).size, mark.slots)
    assert.isUndefined(slots.free())
    for (const slot of taken.slice(1)) slots.release(slot)
    for (let time = 0; time < 2 * mark.slots; time++) assert.notStrictEqual(slots.free(), taken[0])
    slots.release(taken[0] ?? 0)
  })

  it("belong to a thread, whose id nobody else has", () => {
    assert.strictEqual(slots.thread(), process.pid)
  })
})
