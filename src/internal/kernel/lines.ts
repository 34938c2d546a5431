import type { Readable } from "node:stream"

/** What a guard says first. Until then the host looks at its trees itself. */
export const ready = "ready"

/** Calls for every line that has its end. */
export const onLines = (readable: Readable, act: (line: string) => void): void => {
  let rest = ""
  readable.setEncoding("utf8")
  readable.on("data", (text: string) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    lines.forEach(act)
  })
}
