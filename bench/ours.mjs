/** What the arms of this library have in common. It is loaded where it is used, so that no other arm carries it. */
export const load = async (agent, options = {}) => {
  const [Agent, AgentRequest, NodeProcessTree, ProcessTree, Teardown, driver] = await Promise.all([
    import("effect-agents/Agent"),
    import("effect-agents/AgentRequest"),
    import("effect-agents/NodeProcessTree"),
    import("effect-agents/ProcessTree"),
    import("effect-agents/Teardown"),
    import(`effect-agents/${agent}`)
  ])
  const [Deferred, Effect, Exit, Fiber, Layer, Scope, Stream, Command] = await Promise.all([
    ...["Deferred", "Effect", "Exit", "Fiber", "Layer", "Scope", "Stream"].map((name) => import(`effect/${name}`)),
    import("@effect/platform/Command")
  ])
  const machine = NodeProcessTree.layerWith({ sweepStale: false, ...options })
  const layer = (settings) => Layer.provideMerge(driver.layer(settings), machine)
  /** A host builds its layer once, as it imports once: neither belongs to a run. */
  const host = async (settings) => {
    const context = await Effect.runPromise(Layer.buildWithScope(layer(settings), Effect.runSync(Scope.make())))
    return (effect) => Effect.provide(effect, context)
  }
  const request = AgentRequest.make({ prompt: "go on" })
  return {
    Agent,
    Command,
    Deferred,
    Effect,
    Exit,
    Fiber,
    Layer,
    ProcessTree,
    Scope,
    Stream,
    Teardown,
    host,
    layer,
    request
  }
}
