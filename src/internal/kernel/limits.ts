import type { PlatformError } from "@effect/platform/Error"
import { BadArgument } from "@effect/platform/Error"
import * as Either from "effect/Either"
import type * as ProcessTree from "../../ProcessTree.js"
import * as Teardown from "../../Teardown.js"

const names = Teardown.Limit.literals

const refuse = (description: string): Either.Either<never, PlatformError> =>
  Either.left(new BadArgument({ module: "Command", method: "limits", description }))

const whole = (limit: Teardown.Limit): boolean => limit !== "cpuSeconds"

/** Whether all limits are numbers that can be kept to. */
export const check = (limits: ProcessTree.Limits): Either.Either<ProcessTree.Limits, PlatformError> => {
  const wrong = names.find((name) => {
    const value = limits[name]
    return value !== undefined && !(value > 0 && (whole(name) ? Number.isSafeInteger(value) : Number.isFinite(value)))
  })
  return wrong === undefined ? Either.right(limits) : refuse(
    `${wrong} is ${limits[wrong]}, and has to be a ${
      whole(wrong) ? "whole " : ""
    }number above 0; none at all is no limit`
  )
}

interface Measured {
  readonly limits?: ProcessTree.Limits | undefined
  readonly usage?: boolean | undefined
}

/** The limits of one tree, each its own or else that of all; nothing when nobody wants to know what it uses. */
export const settle = (
  all: Measured,
  own: Measured,
  measures: boolean
): Either.Either<ProcessTree.Limits | undefined, PlatformError> => {
  const limits = Object.fromEntries(names.flatMap((name) => {
    const value = own.limits?.[name] ?? all.limits?.[name]
    return value === undefined ? [] : [[name, value]]
  }))
  const limited = Object.keys(limits).length > 0
  if (limited && !measures) return refuse("what a tree uses cannot be seen on this system, and so not be limited")
  return limited ? check(limits) : Either.right((own.usage ?? all.usage) === true && measures ? {} : undefined)
}
