/** A row of a table of parity: what is wanted, what has become of it here, and where that is proven. */

/**
 * - `works`: it is there, or the defect is not.
 * - `differs`: it is met in another way, or in part; `why` says how.
 * - `not yet`: it is wanted and is not there.
 * - `out of scope`: it will not be, for the reason given.
 */
export const states = ["works", "differs", "not yet", "out of scope"] as const
export type State = typeof states[number]

/** A test by its file below `test/` and words of its title, or a check of `npm run check` by its name. */
export type Proof =
  | { readonly file: string; readonly title: string }
  | { readonly check: string }

export interface Row {
  readonly id: string
  readonly what: string
  readonly state: State
  readonly why?: string
  readonly proofs: ReadonlyArray<Proof>
}

/** Proofs in one file. */
const at = (file: string) => (title: string): Proof => ({ file: `test/${file}.test.ts`, title })

export const fleet = { pool: at("fleet/pool"), race: at("fleet/race"), supervise: at("fleet/supervise") }
export const worktree = at("worktree/worktree")

export const conformance = {
  detach: at("conformance/detach"),
  dialogue: at("conformance/dialogue"),
  endings: at("conformance/endings"),
  environment: at("conformance/environment"),
  host: at("conformance/host"),
  object: at("conformance/object"),
  pressure: at("conformance/pressure"),
  request: at("conformance/request"),
  sessions: at("conformance/sessions"),
  situations: at("conformance/situations"),
  vocabulary: at("conformance/vocabulary")
}

export const drivers = {
  claude: at("drivers/claude"),
  claudeDialogue: at("drivers/claudeDialogue"),
  codex: at("drivers/codex"),
  codexServer: at("drivers/codexServer"),
  copilot: at("drivers/copilot"),
  dialogues: at("drivers/dialogues"),
  fields: at("drivers/fields"),
  lenient: at("drivers/lenient"),
  output: at("drivers/output"),
  plan: at("drivers/plan"),
  tools: at("drivers/tools")
}

export const kernel = {
  acquisition: at("kernel/acquisition"),
  commandExecutor: at("kernel/commandExecutor"),
  descendants: at("kernel/descendants"),
  errors: at("kernel/errors"),
  detach: at("kernel/detach"),
  environment: at("kernel/environment"),
  guard: at("kernel/guard"),
  host: at("kernel/host"),
  limits: at("kernel/limits"),
  seal: at("kernel/seal"),
  start: at("kernel/start"),
  tables: at("kernel/tables"),
  teardown: at("kernel/teardown")
}

export const run = {
  conclude: at("run/conclude"),
  conversation: at("run/conversation"),
  dialogue: at("run/dialogue"),
  everyLimit: at("run/everyLimit"),
  finalizers: at("run/finalizers"),
  hostile: at("run/hostile"),
  limits: at("run/limits"),
  lines: at("run/lines"),
  probe: at("run/probe"),
  properties: at("run/properties"),
  retryPolicy: at("run/retryPolicy"),
  run: at("run/run"),
  usage: at("run/usage")
}

export const session = {
  lease: at("session/lease"),
  named: at("session/named"),
  processes: at("session/processes"),
  stem: at("session/stem"),
  store: at("session/store")
}

export const fakes = at("fakes/fakes")
export const parity = at("parity/parity")
export const zoo = at("zoo/zoo")
export const real = {
  dialogue: at("real/dialogue"),
  hostDeath: at("real/hostDeath"),
  limits: at("real/limits"),
  sessions: at("real/sessions"),
  tools: at("real/tools")
}
export const check = (name: string): Proof => ({ check: `check:${name}` })

const row = (state: State) => (id: string, what: string, ...rest: ReadonlyArray<string | Proof>): Row => {
  const why = rest.filter((part) => typeof part === "string").join(" ")
  const proofs = rest.filter((part) => typeof part !== "string")
  return { id, what, state, ...(why === "" ? {} : { why }), proofs }
}

export const works = row("works")
export const differs = row("differs")
export const notYet = row("not yet")
export const outOfScope = row("out of scope")

/** `C1` to `C89` as ids. */
export const range = (letter: string, last: number): ReadonlyArray<string> =>
  Array.from({ length: last }, (_, index) => `${letter}${index + 1}`)
