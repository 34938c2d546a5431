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
  /** The values of all trees of this host: who has one of those, and none of `rlimit`, is in another one of them. */
  readonly siblings?: Range | undefined
}

export interface Range {
  readonly from: bigint
  readonly to: bigint
}

/**
 * `value` is the hard limit that the leader gets. A tree inside this one takes a value from `from` up to `value` for
 * itself: the whole range is ours, the exact value of the inner one is only its own.
 */
export interface Rlimit extends Range {
  readonly value: string
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
export const rangeFor = (hostLimit: string, thread: number): Range | undefined => {
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

const isWithin = (hard: string | undefined, { from, to }: Range): boolean => {
  if (hard === undefined || !/^\d+$/.test(hard)) return false
  const value = BigInt(hard)
  return value >= from && value <= to
}

export const carriesRlimit = (hard: string | undefined, rlimit: Rlimit): boolean =>
  hard === rlimit.value || (rlimit.from !== rlimit.to && isWithin(hard, rlimit))

/** Whether this is the limit of somebody in another tree of the same host. */
export const isSibling = (hard: string | undefined, { rlimit, siblings }: Mark): boolean =>
  rlimit !== undefined && siblings !== undefined && isWithin(hard, siblings) && !carriesRlimit(hard, rlimit)

export const carriesEnvironment = (environ: Buffer, mark: Mark): boolean => environ.includes(mark.id)

/** The ids in an environment, of this tree and of those around it. */
export const idsIn = (environ: Buffer): string =>
  new RegExp(`(?:^|\0)${variable}=([^\0]*)`).exec(environ.toString("latin1"))?.[1] ?? ""

/** Sets the hard limit. dash takes `-w` for locks, bash and busybox `-x`. */
export const limiting = "ulimit -w \"$0\" 2>/dev/null || ulimit -x \"$0\" 2>/dev/null;"

/** Becomes the program. */
export const becoming = "exec \"$@\""
