/**
 * A model behind a loopback address, which answers as scripted. Every script has its own address (`/s/<name>-<n>`),
 * so that one server serves many runs and each of them can count its own requests and read their bodies.
 *
 * The same address is also a forward proxy that lets nothing through: CLIs are given it as `HTTP_PROXY`, so that a
 * request which tries to leave the machine is seen (`outside`) instead of sent.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import type * as Net from "node:net"
import * as Wire from "./wire.js"

export type Script =
  | { readonly _tag: "Text"; readonly text: string }
  /** The next of these with every turn, as the call of a tool where one for values is offered. */
  | { readonly _tag: "Answers"; readonly texts: ReadonlyArray<string> }
  /** One call of the shell tool, then `text`. */
  | { readonly _tag: "Shell"; readonly command: string; readonly text: string }
  /** These calls, one after the other, then `text`. */
  | { readonly _tag: "Calls"; readonly calls: ReadonlyArray<Wire.Call>; readonly text: string }
  | { readonly _tag: "Status"; readonly status: number; readonly retryAfter?: number }
  /** The connection is cut after the first words. */
  | { readonly _tag: "Truncated"; readonly text: string }
  /** The first words, then silence on an open connection. */
  | { readonly _tag: "Stall"; readonly text: string }

interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
  /** Asks the model for a turn, as opposed to look-ups and side requests such as titles. */
  readonly turn: boolean
}

export interface Route {
  /** Without `/v1`, which Claude and Copilot add and Codex wants in its configuration. */
  readonly url: string
  readonly requests: Effect.Effect<ReadonlyArray<Request>>
  /** Bodies of the requests which asked for a turn, in order. */
  readonly turns: Effect.Effect<ReadonlyArray<string>>
}

export interface ModelServer {
  readonly proxy: string
  readonly open: (name: string, script: Script) => Effect.Effect<Route>
  /** Everything that was not addressed to a script: what a CLI tried to send elsewhere. */
  readonly outside: Effect.Effect<ReadonlyArray<string>>
}

const parse = (body: string): Wire.Json => {
  // A body that is not JSON asks for nothing: it is recorded as it came.
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

const wireOf = (path: string): Wire.Wire | undefined =>
  path.endsWith("/messages") ? Wire.messages : path.endsWith("/responses") ? Wire.responses : undefined

const sendJson = (response: Http.ServerResponse, status: number, json: Wire.Json, headers = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(json))
}

const sendEvents = (response: Http.ServerResponse, events: ReadonlyArray<string>): void => {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  events.forEach((event) => response.write(event))
}

const answer = (
  response: Http.ServerResponse,
  wire: Wire.Wire,
  script: Script,
  asked: Wire.Asked,
  serial: number,
  turn: number
): void => {
  const say = (text: string): void => {
    sendEvents(response, wire.text(serial, text))
    response.end()
  }
  const call = (next: Wire.Call | undefined, done: boolean, text: string): void => {
    if (asked.tools.length === 0) return say("side")
    if (next === undefined || done) return say(text)
    const made = next(asked.tools)
    if (made === undefined) return say("no such tool was offered")
    sendEvents(response, wire.toolCall(serial, made))
    response.end()
  }
  switch (script._tag) {
    case "Text":
      return say(script.text)
    case "Answers": {
      const text = script.texts[Math.min(turn, script.texts.length) - 1] ?? ""
      return call(Wire.value(parse(text)), asked.tools.every(({ name }) => name !== Wire.valueTool), text)
    }
    case "Shell":
      return call(Wire.shell(script.command), asked.afterTool, script.text)
    case "Calls":
      return call(script.calls[asked.results], asked.results >= script.calls.length, script.text)
    case "Status":
      return sendJson(
        response,
        script.status,
        wire.failure(script.status),
        script.retryAfter === undefined ? {} : { "retry-after": String(script.retryAfter) }
      )
    case "Truncated": {
      sendEvents(response, wire.text(serial, script.text).slice(0, 3))
      // After the words are on the wire: a reset that overtakes them would be a failed connection.
      setTimeout(() => response.destroy(), 100)
      return
    }
    case "Stall":
      return sendEvents(response, wire.text(serial, script.text).slice(0, 3))
  }
}

export const make: Effect.Effect<ModelServer, Error, Scope.Scope> = Effect.gen(function*() {
  const routes = new Map<string, { readonly script: Script; readonly requests: Array<Request> }>()
  const outside: Array<string> = []
  const sockets = new Set<Net.Socket>()
  let serial = 0

  const server = Http.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const method = request.method ?? ""
      const url = request.url ?? ""
      const path = url.split("?")[0] ?? ""
      const route = routes.get(/^\/s\/([^/]+)/.exec(path)?.[1] ?? "")
      if (route === undefined) {
        outside.push(`${method} ${url}`)
        return sendJson(response, 403, { error: { message: "nothing leaves this machine" } })
      }
      const body = Buffer.concat(chunks).toString("utf8")
      const wire = method === "POST" ? wireOf(path) : undefined
      const asked = wire?.read(parse(body))
      route.requests.push({
        method,
        path,
        headers: request.headers,
        body,
        turn: asked !== undefined && asked.tools.length > 0
      })
      if (wire === undefined || asked === undefined) {
        return path.endsWith("/models")
          ? sendJson(response, 200, { object: "list", data: [], models: [] })
          : sendJson(response, 404, { error: { type: "not_found_error", message: "not scripted" } })
      }
      serial += 1
      answer(response, wire, route.script, asked, serial, route.requests.filter(({ turn }) => turn).length)
    })
    // Killed clients reset their connections; that is what these tests are about.
    request.on("error", () => {})
    response.on("error", () => {})
  })
  server.on("connect", (request: Http.IncomingMessage, socket: Net.Socket) => {
    outside.push(`CONNECT ${request.url ?? ""}`)
    socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
  })

  yield* Effect.acquireRelease(
    Effect.async<void, Error>((resume) => {
      server.once("error", (error) => resume(Effect.fail(error)))
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        sockets.forEach((socket) => socket.destroy())
      })
  )
  const address = server.address()
  if (address === null || typeof address === "string") {
    return yield* Effect.die(new Error("the model server has no port"))
  }
  const origin = `http://127.0.0.1:${address.port}`
  let opened = 0

  return {
    proxy: origin,
    outside: Effect.sync(() => outside.slice()),
    open: (name, script) =>
      Effect.sync(() => {
        opened += 1
        const key = `${name}-${opened}`
        const requests: Array<Request> = []
        routes.set(key, { script, requests })
        return {
          url: `${origin}/s/${key}`,
          requests: Effect.sync(() => requests.slice()),
          turns: Effect.sync(() => requests.filter((request) => request.turn).map((request) => request.body))
        }
      })
  }
})
