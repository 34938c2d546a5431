/** The files of an agent without processes: its program, whatever folder is asked for, and every attachment. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export const program = "/scripted/agent"

export const make = (): FileSystem.FileSystem => {
  // Attachments are looked for before they are looked at, folders are not.
  const attachments = new Set([program])
  return FileSystem.makeNoop({
    access: (path) => Effect.sync(() => void attachments.add(path)),
    stat: (path) =>
      Effect.sync((): FileSystem.File.Info => ({
        type: attachments.has(path) ? "File" : "Directory",
        mtime: Option.none(),
        atime: Option.none(),
        birthtime: Option.none(),
        dev: 0,
        ino: Option.none(),
        mode: 0o755,
        nlink: Option.none(),
        uid: Option.none(),
        gid: Option.none(),
        rdev: Option.none(),
        size: FileSystem.Size(0),
        blksize: Option.none(),
        blocks: Option.none()
      })),
    realPath: Effect.succeed,
    makeTempDirectory: () => Effect.succeed("/scripted/run"),
    writeFileString: () => Effect.void,
    remove: () => Effect.void
  })
}
