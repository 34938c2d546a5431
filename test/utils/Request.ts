import * as AgentDriver from "effect-agents/AgentDriver"
import * as AgentRequest from "effect-agents/AgentRequest"

/** A request as drivers get it. */
export const make = (fields: Parameters<typeof AgentRequest.make>[0]): AgentDriver.Request => {
  const request = AgentRequest.make(fields)
  if (AgentDriver.isRequest(request)) return request
  throw new Error("no driver looks a session up by its name")
}
