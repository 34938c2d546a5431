/**
 * Trees behind a boundary of the kernel: who hides on purpose ends all the same.
 */
import { assert, describe, it } from "@effect/vitest"
import * as cgroup from "../../src/internal/kernel/cgroup.js"

describe("the cgroup of a host", () => {
  const mounts = (root: string, point: string) =>
    `23 1 0:5 / /proc rw - proc proc rw\n38 31 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
41 31 0:38 ${root} ${point} rw,relatime shared:9 - cgroup2 cgroup2 rw\n`

  it("is found where the second version is mounted", () => {
    const place = (root: string, own: string) => cgroup.placeOf(mounts(root, "/sys/fs/cgroup/unified"), own)
    assert.strictEqual(place("/", "8:pids:/other\n0::/\n"), "/sys/fs/cgroup/unified")
    assert.strictEqual(place("/", "0::/user.slice/a b"), "/sys/fs/cgroup/unified/user.slice/a b")
    assert.strictEqual(place("/box", "0::/box/inner"), "/sys/fs/cgroup/unified/inner")
    assert.strictEqual(place("/box", "0::/box"), "/sys/fs/cgroup/unified")
    assert.strictEqual(cgroup.placeOf(mounts("/", "/mnt/a\\040b"), "0::/x"), "/mnt/a b/x")
  })

  it("is nowhere when it is outside of what is mounted, or there is none", () => {
    assert.isUndefined(cgroup.placeOf(mounts("/box", "/x"), "0::/boxes"))
    assert.isUndefined(cgroup.placeOf(mounts("/", "/x"), "0::/../other"))
    assert.isUndefined(cgroup.placeOf(mounts("/", "/x"), "8:pids:/other"))
    assert.isUndefined(cgroup.placeOf("23 1 0:5 / /proc rw - proc proc rw", "0::/"))
  })
})
