/** Reports of teardowns that never were, for what is told beside them. */
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
