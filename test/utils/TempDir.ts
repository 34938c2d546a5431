import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A folder that goes with the scope. */
export const make: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(realpathSync(tmpdir()), "effect-agents-test-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)
