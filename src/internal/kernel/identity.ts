/**
 * Who this host is: the part of the marks that all its trees have in common, by which the guard and later hosts know what
 * it left behind. One for every thread, shared by all copies of this module.
 */
import { globalValue } from "effect/GlobalValue"
import * as Crypto from "node:crypto"

const identity = globalValue(
  Symbol.for("effect-agents/identity"),
  () => ({ host: Crypto.randomBytes(12).toString("hex"), trees: 0 })
)

/** The id that every mark in an environment begins with. */
export const host: string = identity.host

/** An id for one more tree, of the same length as all others: none is the beginning of another. */
export const nextTree = (): string => `${identity.host}${(identity.trees++).toString(16).padStart(8, "0")}`
