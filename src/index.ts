/**
 * Running coding agents: `start`, `run`, `object`, `stream`, `conversation`, `plan`, `probe`, and the service behind them.
 *
 * @since 0.1.0
 */
export * as Agent from "./Agent.js"

/**
 * The contract of an adapter: what it takes to drive one more agent CLI.
 *
 * @since 0.1.0
 */
export * as AgentDriver from "./AgentDriver.js"

/**
 * What went wrong with a run: one tagged union for all agents.
 *
 * @since 0.1.0
 */
export * as AgentError from "./AgentError.js"

/**
 * What happens during a run: one tagged union for all agents.
 *
 * @since 0.1.0
 */
export * as AgentEvent from "./AgentEvent.js"

/**
 * How a run ended well: the answer, what it used, where to continue, and the report of its teardown.
 *
 * @since 0.1.0
 */
export * as AgentOutcome from "./AgentOutcome.js"

/**
 * What is asked of an agent: plain data, the same for all of them.
 *
 * @since 0.1.0
 */
export * as AgentRequest from "./AgentRequest.js"

/**
 * A run that is going on, and its options.
 *
 * @since 0.1.0
 */
export * as AgentRun from "./AgentRun.js"

/**
 * The questions that an agent asks, and the answers.
 *
 * @since 0.1.0
 */
export * as Approval from "./Approval.js"

/**
 * Claude Code (`claude -p`).
 *
 * @since 0.1.0
 */
export * as Claude from "./drivers/Claude.js"

/**
 * Codex (`codex exec`).
 *
 * @since 0.1.0
 */
export * as Codex from "./drivers/Codex.js"

/**
 * How far a teardown reaches on which system.
 *
 * @since 0.1.0
 */
export * as Containment from "./Containment.js"

/**
 * Several turns with one agent.
 *
 * @since 0.1.0
 */
export * as Conversation from "./Conversation.js"

/**
 * GitHub Copilot (`copilot`).
 *
 * @since 0.1.0
 */
export * as Copilot from "./drivers/Copilot.js"

/**
 * Many runs: race, fan-out, a pool with a queue, supervision, private config homes.
 *
 * @since 0.1.0
 */
export * as Fleet from "./Fleet.js"

/**
 * What is known of an agent on this machine: version, login, models, quota.
 *
 * @since 0.1.0
 */
export * as Installation from "./Installation.js"

/**
 * Process trees on Node: the layers that agents and commands run on.
 *
 * @since 0.1.0
 */
export * as NodeProcessTree from "./NodeProcessTree.js"

/**
 * A process and everything it starts, as one scoped resource.
 *
 * @since 0.1.0
 */
export * as ProcessTree from "./ProcessTree.js"

/**
 * Which conversation a run belongs to: new, resumed, forked, or the one of a name.
 *
 * @since 0.1.0
 */
export * as Session from "./Session.js"

/**
 * Where named sessions are remembered.
 *
 * @since 0.1.0
 */
export * as SessionStore from "./SessionStore.js"

/**
 * How a process tree is ended, as data: the policy before, the report after.
 *
 * @since 0.1.0
 */
export * as Teardown from "./Teardown.js"

/**
 * Rules for the tools of an agent: what it may use without asking, what it may not use.
 *
 * @since 0.1.0
 */
export * as ToolRule from "./ToolRule.js"

/**
 * A git worktree as a scoped resource.
 *
 * @since 0.1.0
 */
export * as Worktree from "./Worktree.js"
