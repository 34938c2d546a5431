/**
 * The marks by which the descendants of a tree are known for ever.
 *
 * Environment: a variable with an unguessable id, lost by `env -i` and by programs that overwrite their environment.
 * Hard limit on file locks (Linux): RLIMIT_LOCKS has had no effect since 2.4.25, is inherited by every fork and exec,
 * can be read in /proc/PID/limits by anybody, and cannot be raised by a descendant without privilege.
 */

/** The variable: ids of this tree and, before it, of the trees around it, separated by `:`. */
export const variable = "EFFECT_AGENTS_TREE"

export interface Mark {
  readonly id: string
  readonly rlimit: Rlimit | undefined
}

/**
 * `value` is the hard limit that the leader gets. A tree inside this one takes a value from `from` up to `value` for
 * itself: the whole range is ours, the exact value of the inner one is only its own.
 */
export interface Rlimit {
  readonly value: string
  readonly from: bigint
  readonly to: bigint
}

/** How many trees of one host can be alive with a value of their own. */
export const slots = 512

// 62 bits: one half for a host that nobody marked, the other for a host that runs inside a tree. Each half holds the
// id of the host's thread (22 bits, the kernel's largest) and a slot (9 bits): no two live threads share a value.
const bits = 31n
const half = (1n << bits) - 1n
const local = (thread: number, slot: number): bigint => (BigInt(thread) << 9n) | BigInt(slot)

/**
 * The mark of the tree in a slot of a host whose own hard limit is `hostLimit`, as /proc shows it. A host in the second
 * level of nesting has no room left for a value of its own; its trees keep the mark of the tree around them.
 */
export const rlimitFor = (hostLimit: string, thread: number, slot: number): Rlimit | undefined => {
  if (hostLimit === "unlimited") {
    const from = local(thread, slot) << bits
    return { value: String(from | half), from, to: from | half }
  }
  const limit = /^\d+$/.test(hostLimit) ? BigInt(hostLimit) : 0n
  const own = local(thread, slot)
  if (limit >> bits === 0n || limit >> (2n * bits) !== 0n || (limit & half) !== half || own >= half) return undefined
  const value = limit - half + own
  return { value: String(value), from: value, to: value }
}

/** All values that trees of a host can have: what `rlimitFor` makes of any of its slots. */
export const rangeFor = (hostLimit: string, thread: number): Pick<Rlimit, "from" | "to"> | undefined => {
  const first = rlimitFor(hostLimit, thread, 0)
  const last = rlimitFor(hostLimit, thread, slots - 1)
  return first === undefined || last === undefined ? undefined : { from: first.from, to: last.to }
}

const locksLine = "Max file locks"

/** The hard limit on file locks in the text of /proc/PID/limits. */
export const hardLocksLimit = (limits: string): string | undefined => {
  const at = limits.indexOf(locksLine)
  if (at < 0) return undefined
  return limits.slice(at + locksLine.length, limits.indexOf("\n", at)).trim().split(/\s+/)[1]
}

export const carriesRlimit = (limits: string, rlimit: Rlimit): boolean => {
  const hard = hardLocksLimit(limits)
  if (hard === undefined || hard === "unlimited") return false
  if (hard === rlimit.value) return true
  if (rlimit.from === rlimit.to || !/^\d+$/.test(hard)) return false
  const value = BigInt(hard)
  return value >= rlimit.from && value <= rlimit.to
}

export const carriesEnvironment = (environ: Buffer, mark: Mark): boolean => environ.includes(mark.id)

/** Sets the hard limit. dash takes `-w` for locks, bash and busybox `-x`. */
export const limiting = "ulimit -w \"$0\" 2>/dev/null || ulimit -x \"$0\" 2>/dev/null;"

/** Becomes the program. */
export const becoming = "exec \"$@\""
