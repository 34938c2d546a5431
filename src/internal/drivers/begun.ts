/** The bookkeeping about work that has begun and not ended. */

/** An agent that never ends what it begins must not make the bookkeeping grow for ever. */
const limit = 1024

/** One entry more, at the cost of the oldest. */
export const kept = <A>(entries: ReadonlyMap<string, A>, key: string, value: A): ReadonlyMap<string, A> => {
  const next = new Map(entries).set(key, value)
  const [oldest] = next.keys()
  if (next.size > limit && oldest !== undefined) next.delete(oldest)
  return next
}

export const without = <A>(entries: ReadonlyMap<string, A>, key: string | undefined): ReadonlyMap<string, A> => {
  if (key === undefined || !entries.has(key)) return entries
  const left = new Map(entries)
  left.delete(key)
  return left
}
