/**
 * What is known of an agent on this machine: where it is, which version, whether it is logged in, which models it offers.
 * Found by `Agent.probe`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A model that an agent offers: `id` is what `AgentRequest.model` takes, `efforts` what `AgentRequest.effort` may be.
 *
 * `name` is for people. What the agent does not tell is absent.
 *
 * **Example**
 *
 * ```ts
 * import { Installation } from "effect-agents"
 *
 * const thinksHard = ({ efforts = [] }: Installation.Model) => efforts.includes("high")
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Model = Schema.Struct({
  id: Schema.String,
  name: Schema.optional(Schema.String),
  efforts: Schema.optional(Schema.Array(Schema.String)),
  isDefault: Schema.optional(Schema.Boolean)
})

/**
 * A value of the schema `Model`.
 *
 * @since 0.1.0
 * @category models
 */
export type Model = typeof Model.Type

/**
 * A part of the account's quota: `usedPercent` from 0 to 100, `resetsAt` in milliseconds since the epoch.
 *
 * `name` is the agent's own word for it. So far only Codex tells.
 *
 * **Example**
 *
 * ```ts
 * import { Installation } from "effect-agents"
 *
 * const isNearlyUsedUp = ({ usedPercent }: Installation.Quota) => usedPercent > 90
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Quota = Schema.Struct({
  name: Schema.String,
  usedPercent: Schema.Number,
  resetsAt: Schema.optional(Schema.Number)
})

/**
 * A value of the schema `Quota`.
 *
 * @since 0.1.0
 * @category models
 */
export type Quota = typeof Quota.Type

/**
 * What the agent says of its account: `login` is `unknown` where it does not tell. `by` is its own word for how.
 *
 * **Example**
 *
 * ```ts
 * import { Installation } from "effect-agents"
 *
 * const mayRun = ({ login }: Installation.Account) => login !== "no"
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Account = Schema.Struct({
  login: Schema.Literal("yes", "no", "unknown"),
  by: Schema.optional(Schema.String),
  models: Schema.optional(Schema.Array(Model)),
  quota: Schema.optional(Schema.Array(Quota))
})

/**
 * A value of the schema `Account`.
 *
 * @since 0.1.0
 * @category models
 */
export type Account = typeof Account.Type

/**
 * What can be asked of an agent: a field of `AgentRequest` by its name, its `session` as `resume` and `fork`, and
 * `approvals` by the caller.
 *
 * **Example**
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Installation } from "effect-agents"
 *
 * // Of a configuration: what a job needs.
 * const Needs = Schema.Array(Installation.Capability)
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export const Capability = Schema.Literal(
  "addDirs",
  "approvals",
  "attachments",
  "command",
  "effort",
  "fork",
  "interactive",
  "mcpServers",
  "outputSchema",
  "resume",
  "system",
  "systemReplace",
  "thinking",
  "tools"
)

/**
 * A value of the schema `Capability`.
 *
 * @since 0.1.0
 * @category models
 */
export type Capability = typeof Capability.Type

const major = (version: string): number => Number.parseInt(version, 10)

const minor = (version: string): number => Number.parseInt(version.split(".")[1] ?? "", 10)

/**
 * An agent on this machine.
 *
 * - `program`: the path of what a run would start.
 * - `version`: what it says of itself; absent when it does not.
 * - `verified`: the version that the driver was written for and tried with; absent when a driver does not tell.
 * - `capabilities`: of what its driver can ask, what this very version offers by its own help; absent when it does not
 *   tell.
 * - `problems`: what could not be found out, and why.
 *
 * **Example**
 *
 * ```ts
 * import { Console, Effect } from "effect"
 * import { Agent } from "effect-agents"
 *
 * const doctor = Effect.flatMap(Agent.probe(), ({ account, agent, verification, verified, version }) =>
 *   Console.log(`${agent} ${version} (${verification}: ${verified}), logged in: ${account.login}`))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export class Installation extends Schema.Class<Installation>("effect-agents/Installation")({
  agent: Schema.String,
  program: Schema.String,
  version: Schema.optional(Schema.String),
  verified: Schema.optional(Schema.String),
  account: Account,
  capabilities: Schema.optional(Schema.Array(Capability)),
  problems: Schema.Array(Schema.String)
}) {
  /**
   * How the version stands to the one that the driver was tried with, not counting the last number: with another one, an
   * argument may be refused (`AgentFlagRejected`), and what it says anew comes as `Unknown` events.
   *
   * @since 0.1.0
   */
  get verification(): "verified" | "newer" | "older" | "unknown" {
    const { verified, version } = this
    if (version === undefined || verified === undefined) return "unknown"
    const difference = major(version) - major(verified) || minor(version) - minor(verified)
    return difference === 0 ? "verified" : difference > 0 ? "newer" : "older"
  }
}
