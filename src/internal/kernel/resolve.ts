/**
 * Finds the program before it is started. The shim in front of it would turn a missing one into exit code 127 of a
 * shell, and the operating system reports a missing working directory as a missing program.
 */
import type { PlatformError, SystemErrorReason } from "@effect/platform/Error"
import { SystemError } from "@effect/platform/Error"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as fs from "node:fs"
import * as path from "node:path"

const failure = (
  reason: SystemErrorReason,
  method: string,
  pathOrDescriptor: string,
  description: string,
  cause?: unknown
): PlatformError => new SystemError({ module: "Command", method, reason, pathOrDescriptor, description, cause })

const reasons: { readonly [code: string]: SystemErrorReason } = {
  ENOENT: "NotFound",
  ENOTDIR: "NotFound",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  EAGAIN: "Busy",
  EMFILE: "Busy",
  ENFILE: "Busy",
  ENOMEM: "Busy",
  ELOOP: "BadResource",
  E2BIG: "BadResource",
  ERR_INVALID_ARG_VALUE: "InvalidData"
}

/** What an error of Node says of itself that is no input of ours. */
class SystemCause extends Data.TaggedError("effect-agents/internal/kernel/resolve/SystemCause")<{
  readonly code: string
  readonly syscall: string | undefined
  readonly message: string
}> {}

/**
 * An error of Node as a `PlatformError` of the module `Command`. Node hangs the whole command line on its errors, and
 * quotes values that it refuses: both may be secret, so only the code, the call and a message without them go on.
 */
export const fromErrno = (method: string, program: string) => (error: unknown): PlatformError => {
  const fields: { readonly [key: string]: unknown } = error instanceof Error ? { ...error } : {}
  const code = typeof fields["code"] === "string" ? fields["code"] : "UNKNOWN"
  const syscall = typeof fields["syscall"] === "string" ? fields["syscall"].split(" ")[0] : undefined
  const description = code === "ERR_INVALID_ARG_VALUE"
    ? "an argument or a variable holds a NUL byte"
    : error instanceof Error && code !== "UNKNOWN"
    ? `${code}${syscall === undefined ? "" : `, ${syscall}`}`
    : "an error without a code"
  return failure(
    reasons[code] ?? "Unknown",
    method,
    program,
    description,
    new SystemCause({ code, syscall, message: description })
  )
}

/** The working directory of the host, which may have been removed. */
export const currentDirectory = (): Either.Either<string, PlatformError> =>
  Either.try({ try: () => process.cwd(), catch: fromErrno("cwd", ".") })

export const directory = (cwd: string): Either.Either<string, PlatformError> =>
  Either.try({
    try: () => {
      const stat = fs.statSync(cwd)
      if (stat.isDirectory()) fs.accessSync(cwd, fs.constants.X_OK)
      return stat
    },
    catch: fromErrno("cwd", cwd)
  }).pipe(
    Either.flatMap((stat) =>
      stat.isDirectory() ? Either.right(cwd) : Either.left(failure("BadResource", "cwd", cwd, "not a directory"))
    )
  )

type Candidate = "executable" | "not-executable" | "no-file" | "missing"

const inspect = (file: string): Candidate => {
  try {
    if (!fs.statSync(file).isFile()) return "no-file"
    fs.accessSync(file, fs.constants.X_OK)
    return "executable"
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES" ? "not-executable" : "missing"
  }
}

/** The interpreter of a script, when it is named in the first line and does not exist. */
const missingInterpreter = (file: string): string | undefined => {
  let fd: number
  try {
    fd = fs.openSync(file, "r")
  } catch {
    return undefined
  }
  try {
    const head = Buffer.alloc(256)
    const text = head.subarray(0, fs.readSync(fd, head, 0, head.length, 0)).toString("latin1")
    const interpreter = /^#![ \t]*(\S+)/.exec(text)?.[1]
    return interpreter === undefined || fs.existsSync(interpreter) ? undefined : interpreter
  } catch {
    return undefined
  } finally {
    fs.closeSync(fd)
  }
}

const runnable = (program: string, file: string): Either.Either<string, PlatformError> => {
  const interpreter = missingInterpreter(file)
  return interpreter === undefined
    ? Either.right(file)
    : Either.left(failure("NotFound", "spawn", program, `its interpreter ${interpreter} does not exist`))
}

/** The file that `program` names, by the search path of the child, as exec would find it. */
export const executable = (
  program: string,
  cwd: string,
  searchPath: string | undefined
): Either.Either<string, PlatformError> => {
  if (program.length === 0 || program.includes("\0")) {
    return Either.left(failure("InvalidData", "spawn", program, "not the name of a program"))
  }
  if (program.includes("/")) {
    const file = path.resolve(cwd, program)
    const found = inspect(file)
    return found === "executable"
      ? runnable(program, file)
      : Either.left(
        found === "missing"
          ? failure("NotFound", "spawn", program, "no such program")
          : failure("PermissionDenied", "spawn", program, found === "no-file" ? "not a file" : "not executable")
      )
  }
  let refused: string | undefined
  for (const entry of (searchPath ?? "/usr/local/bin:/usr/bin:/bin").split(":")) {
    const file = path.resolve(cwd, entry, program)
    const found = inspect(file)
    if (found === "executable") return runnable(program, file)
    if (found === "not-executable") refused ??= file
  }
  return Either.left(
    refused === undefined
      ? failure("NotFound", "spawn", program, "no such program on PATH")
      : failure("PermissionDenied", "spawn", program, `${refused} is not executable`)
  )
}
