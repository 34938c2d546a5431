/** Reports and outcomes of what never was, for what is told beside them. */
import * as AgentOutcome from "effect-agents/AgentOutcome"
import * as Session from "effect-agents/Session"
import * as Teardown from "effect-agents/Teardown"

export const empty = Teardown.TeardownReport.make({
  pid: 2,
  command: "fake",
  reason: "completed",
  steps: [],
  killed: [],
  survivors: [],
  verified: "empty",
  layers: [],
  notes: [],
  looks: 6,
  outputHeld: false,
  durationMs: 1
})

export const outcome = (fields: Partial<AgentOutcome.AgentOutcome> = {}): AgentOutcome.AgentOutcome =>
  AgentOutcome.AgentOutcome.make({
    agent: "fake",
    session: Session.SessionRef.make({ agent: "fake", id: "s1", cwd: "/" }),
    text: "",
    usage: {},
    attempts: [],
    filesChanged: [],
    stop: "completed",
    exit: { code: 0, signal: null },
    stderrTail: "",
    unparsed: 0,
    durationMs: 1,
    teardown: empty,
    ...fields
  })
