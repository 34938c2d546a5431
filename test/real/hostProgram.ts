/** A host as any program might be one: one run with the default layers, in a process of its own. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "effect-agents/Agent"
import * as AgentRequest from "effect-agents/AgentRequest"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import * as NodeProcessTree from "effect-agents/NodeProcessTree"
import type * as ProcessTree from "effect-agents/ProcessTree"
import { readFileSync } from "node:fs"

const agents = { claude: Claude.layer, codex: Codex.layer, copilot: Copilot.layer }

export interface Input {
  readonly agent: keyof typeof agents
  readonly program: string
  readonly seal: ProcessTree.Seal
  /** For its temporary files, which a host that is killed cannot remove. */
  readonly temporary: string
  readonly request: typeof AgentRequest.AgentRequest.Encoded
}

const input: Input = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"))
process.env.TMPDIR = input.temporary

Schema.decode(AgentRequest.AgentRequest)(input.request).pipe(
  Effect.flatMap((request) => Agent.run(request)),
  Effect.flatMap((outcome) => Console.log(`ended with ${outcome.text}`)),
  Effect.provide(
    Layer.provide(agents[input.agent]({ program: input.program, seal: input.seal }), NodeProcessTree.layer)
  ),
  NodeRuntime.runMain
)
