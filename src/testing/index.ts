/**
 * What programs that use agents are tested with.
 *
 * @since 0.1.0
 */
export * as ScriptedAgent from "./ScriptedAgent.js"
