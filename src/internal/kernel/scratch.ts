/**
 * One directory for the temporary files of all that a host starts, which its guard, or a later host, removes after it.
 * Imports nothing of Effect: the guard must stay small.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** A short name: programs put their sockets there, and the path of a socket has 108 bytes at most. */
export const nameOf = (host: string): string => `ea-${host.slice(0, 12)}`

export const directoryOf = (host: string): string => path.join(os.tmpdir(), nameOf(host))

/** Whether it is a directory of this user's own, no link that another has put in its place. */
const isOwn = (directory: string): boolean => {
  const stat = fs.lstatSync(directory, { throwIfNoEntry: false })
  return stat?.isDirectory() === true && (process.getuid === undefined || stat.uid === process.getuid())
}

/** Makes the directory of a host, once. What is left empty goes with the process; what is not is for the guard. */
export const make = (host: string): string => {
  const directory = directoryOf(host)
  if (isOwn(directory)) return directory
  fs.mkdirSync(directory, { mode: 0o700 })
  process.once("exit", () => {
    try {
      fs.rmdirSync(directory)
    } catch {
      return
    }
  })
  return directory
}

/** What cannot be removed stays: nobody is worse off for it. */
export const remove = (directory: string): void => {
  try {
    if (isOwn(directory)) fs.rmSync(directory, { recursive: true, force: true })
  } catch {
    return
  }
}
