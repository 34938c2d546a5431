/**
 * Programs that no shell can play: `adversary.c`, compiled by whoever asks first.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

interface Adversary {
  readonly program: string
  /** Why there is none. */
  readonly missing: string | undefined
}

/** Compiles it to `program`. */
export const compile = (program: string): Adversary => {
  const source = fileURLToPath(new URL("./adversary.c", import.meta.url))
  const done = spawnSync("cc", ["-O1", "-pthread", "-o", program, source], { encoding: "utf8" })
  return {
    program,
    missing: done.status === 0 ? undefined : done.error === undefined ? done.stderr : "no C compiler here"
  }
}

/** In a folder that goes with this process. */
export const make = (): Adversary => {
  const folder = mkdtempSync(join(tmpdir(), "effect-agents-adversary-"))
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
  return compile(join(folder, "adversary"))
}
