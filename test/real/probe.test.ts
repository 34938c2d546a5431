/** What the real CLIs tell of themselves, without an account. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "effect-agents/Agent"
import * as Claude from "effect-agents/Claude"
import * as Codex from "effect-agents/Codex"
import * as Copilot from "effect-agents/Copilot"
import { expectGone } from "../utils/Processes.js"
import * as Rig from "./rig.js"

layer(Rig.layer, { excludeTestServices: true, timeout: "3 minutes" })("a probe", (it) => {
  for (const cli of Rig.all) {
    it.scoped(`${cli.name}: its version, that nobody is logged in, its models`, () =>
      Effect.gen(function*() {
        const place = yield* Rig.makePlace
        const { proxy } = (yield* Rig.Rig).server
        const env = { HOME: place.home, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, TEST_MARK: place.mark }
        const found = yield* Agent.probe({ cwd: place.cwd, envPolicy: { only: ["PATH"] }, env }).pipe(
          Effect.provide(Rig.agent(cli))
        )
        assert.deepStrictEqual(found.problems, [])
        assert.strictEqual(found.verification, "verified", `${found.version} is not ${found.verified}`)
        // This version has all that its driver can ask for.
        const { probe } = { claude: Claude.driver, codex: Codex.driver, copilot: Copilot.driver }[cli.name]
        const all = (probe?.help ?? []).flatMap(({ words }) => Object.keys(words))
        assert.sameMembers([...found.capabilities ?? []], all)
        assert.strictEqual(found.account.login, "no")
        if (cli.name !== "copilot") assert.isAbove(found.account.models?.length ?? 0, 1)
        yield* expectGone(place.mark)
      }))
  }
})
