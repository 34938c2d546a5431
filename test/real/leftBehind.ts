/**
 * What a tool call leaves behind: a shell script that starts every kind of descendant the real CLIs were measured with,
 * and an MCP server that does not want to end. All of them carry the mark in their arguments.
 */
import * as Effect from "effect/Effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { aliveWith, type Seen, waitUntil } from "../utils/Processes.js"
import type { Place } from "./rig.js"

const quiet = "</dev/null >/dev/null 2>&1"

/** Each sleeps for a number of seconds like no other in the system. */
const kinds: ReadonlyArray<readonly [name: string, command: (sleep: string) => string]> = [
  ["job", (sleep) => `${sleep} &`],
  ["nohup", (sleep) => `nohup ${sleep} ${quiet} &`],
  ["orphan in the group", (sleep) => `(${sleep} &)`],
  ["own session", (sleep) => `setsid ${sleep} &`],
  ["own session, empty environment", (sleep) => `env -i setsid ${sleep} ${quiet} &`],
  ["daemon", (sleep) => `setsid sh -c '${sleep} ${quiet} &'`],
  ["daemon, empty environment", (sleep) => `env -i setsid sh -c '${sleep} ${quiet} &'`],
  ["deaf to signals", (sleep) => `(trap '' TERM INT HUP; setsid ${sleep} ${quiet} &)`]
]

const sleep = (place: Place, index: number): string => `sleep 600.${place.mark}${index + 10}`

/** Of the background processes, and one more where the command itself goes on in the foreground. */
const background = kinds.length

/**
 * Writes the script, and returns the command that runs it. It is sourced, because Claude Code refuses commands that
 * begin with a long sleep.
 */
export const write = (place: Place, then: "return" | "stay"): string => {
  const file = join(place.home, "leave.sh")
  writeFileSync(
    file,
    [
      ...kinds.map(([, command], index) => command(sleep(place, index))),
      then === "stay" ? sleep(place, kinds.length) : "echo left"
    ].join("\n")
  )
  return `. ${file}`
}

/** The MCP server, as a command and its arguments. */
export const mcp = (place: Place): ReadonlyArray<string> => [
  process.execPath,
  fileURLToPath(new URL("stubborn-mcp.mjs", import.meta.url)),
  place.mark
]

/** Who of them lives now. */
export const alive = (place: Place): Effect.Effect<ReadonlyArray<Seen>> =>
  Effect.map(
    aliveWith(place.mark),
    (seen) => seen.filter(({ command }) => command.startsWith("sleep 600.") || command.includes("stubborn-mcp.mjs"))
  )

/** Waits until the command in the foreground, all the others and the MCP server are there. */
export const complete = (place: Place): Effect.Effect<ReadonlyArray<Seen>> =>
  waitUntil(
    "the whole tree of the tool call",
    Effect.map(alive(place), (seen) => seen.length >= background + 2),
    { deadline: "30 seconds" }
  ).pipe(Effect.zipRight(alive(place)))
