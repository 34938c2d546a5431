/** What the reading of an agent's output has come to, line by line. No effects: the run loop has them. */
import type * as AgentDriver from "../../AgentDriver.js"
import type * as AgentEvent from "../../AgentEvent.js"
import type * as AgentOutcome from "../../AgentOutcome.js"
import * as changes from "./changes.js"
import * as lines from "./lines.js"

const noiseKept = 20
export const attemptsKept = 32
const noticeLength = 8192

/** The driver's state and the counts beside it. Only ever changed within one tick, so plain variables do. */
export interface Reading<S> {
  state: S
  seq: number
  records: number
  unparsed: number
  started: boolean
  named: boolean
  cut: boolean
  /** When output was last read, or handed on; on a clock that nobody sets. */
  lastAt: number
  /** The reader of the events is being waited for. */
  blocked: boolean
  rateLimit: AgentOutcome.RateLimit | undefined
  attempts: ReadonlyArray<AgentOutcome.Attempt>
  readonly changes: changes.Changes
  readonly noise: Array<string>
  /** Events that did not come of output: they go with the next that do. */
  readonly aside: Array<AgentEvent.Unstamped>
}

export const make = <S>(driver: AgentDriver.AgentDriver<S>, state: S): Reading<S> => ({
  state,
  seq: 0,
  records: 0,
  unparsed: 0,
  started: false,
  named: false,
  cut: false,
  lastAt: 0,
  blocked: false,
  rateLimit: undefined,
  attempts: [],
  changes: changes.make(driver.writes),
  noise: [],
  aside: []
})

/** What belongs to one turn begins anew. */
export const begin = <S>(reading: Reading<S>): void => {
  reading.attempts = []
  changes.begin(reading.changes)
}

/** A piece of a string that does not keep the whole of it in memory. */
const copyOf = (piece: string): string => Buffer.from(piece).toString()

/** Takes a step into the state, and adds its events. */
export const take = <S>(
  reading: Reading<S>,
  step: AgentDriver.Step<S>,
  events: Array<AgentEvent.Unstamped>
): AgentDriver.Step<S> => {
  reading.state = step.state
  for (const event of step.events) {
    if (event._tag === "Started") reading.started = true
    if (event._tag === "RateLimit") {
      const { _tag, ...rateLimit } = event
      reading.rateLimit = rateLimit
    }
    if (event._tag === "Retry") {
      const { _tag, ...attempt } = event
      reading.attempts = [...reading.attempts.slice(-attemptsKept + 1), attempt]
    }
    changes.note(reading.changes, event)
    events.push(event)
  }
  return step
}

/**
 * In place, which costs a tenth of a copy: an event is new, unless a driver has one for ever, and then it is stamped
 * already or frozen.
 */
export const stamp = (event: AgentEvent.Unstamped, at: number, seq: number): AgentEvent.AgentEvent => {
  const own: AgentEvent.Unstamped & { at?: number; seq?: number } = event
  if (own.seq !== undefined || !Object.isExtensible(own)) return { ...event, at, seq }
  own.at = at
  own.seq = seq
  return own as AgentEvent.AgentEvent
}

/** Reads one line into the state, and adds the events that it makes. */
export const readLine = <S>(
  driver: AgentDriver.AgentDriver<S>,
  reading: Reading<S>,
  line: string,
  events: Array<AgentEvent.Unstamped>
): AgentDriver.Step<S> | undefined => {
  const parsed = lines.parseLine(line)
  if (parsed._tag === "Blank") return undefined
  if (parsed._tag === "Noise") {
    reading.unparsed++
    const text = parsed.text.length > noticeLength ? `${copyOf(parsed.text.slice(0, noticeLength))} …` : parsed.text
    if (reading.noise.length < noiseKept) reading.noise.push(text)
    events.push({ _tag: "Notice", level: parsed.text.startsWith("{") ? "error" : "warning", text })
    return undefined
  }
  reading.records++
  return take(reading, driver.protocol.step(reading.state, parsed.record), events)
}
