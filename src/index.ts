/**
 * @since 0.1.0
 */
export * as Agent from "./Agent.js"

/**
 * @since 0.1.0
 */
export * as AgentDriver from "./AgentDriver.js"

/**
 * @since 0.1.0
 */
export * as AgentError from "./AgentError.js"

/**
 * @since 0.1.0
 */
export * as AgentEvent from "./AgentEvent.js"

/**
 * @since 0.1.0
 */
export * as AgentOutcome from "./AgentOutcome.js"

/**
 * @since 0.1.0
 */
export * as AgentRequest from "./AgentRequest.js"

/**
 * @since 0.1.0
 */
export * as AgentRun from "./AgentRun.js"

/**
 * @since 0.1.0
 */
export * as Claude from "./drivers/Claude.js"

/**
 * @since 0.1.0
 */
export * as Codex from "./drivers/Codex.js"

/**
 * @since 0.1.0
 */
export * as Containment from "./Containment.js"

/**
 * @since 0.1.0
 */
export * as Copilot from "./drivers/Copilot.js"

/**
 * @since 0.1.0
 */
export * as NodeProcessTree from "./NodeProcessTree.js"

/**
 * @since 0.1.0
 */
export * as ProcessTree from "./ProcessTree.js"

/**
 * @since 0.1.0
 */
export * as Session from "./Session.js"

/**
 * @since 0.1.0
 */
export * as Teardown from "./Teardown.js"
