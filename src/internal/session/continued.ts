/** How a conversation that was begun goes on: one of a name by its name, which is then held and remembered again. */
import * as Session from "../../Session.js"

export const continued = (asked: Session.Session | undefined, reached: Session.SessionRef): Session.Session =>
  asked?._tag === "Named" ? Session.named(asked.project, asked.name) : Session.resume(reached)
