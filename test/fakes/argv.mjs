// The command lines that the fakes accept: the flags of the versions that the drivers are written for, and how many
// values each one takes. Everything else is refused in the words of the CLI that is faked.

const table = (none, one) => ({
  ...Object.fromEntries(none.split(" ").map((flag) => [flag, 0])),
  ...Object.fromEntries(one.split(" ").map((flag) => [flag, 1]))
})

const flags = {
  claude: table(
    "-p --print --verbose --include-partial-messages --include-hook-events --replay-user-messages --fork-session "
      + "--dangerously-skip-permissions --strict-mcp-config --no-session-persistence --bare --safe-mode --restricted "
      + "--forward-subagent-text --exclude-dynamic-system-prompt-sections",
    "--output-format --input-format --model --fallback-model --effort --system-prompt --system-prompt-file "
      + "--append-system-prompt --append-system-prompt-file --system-prompt-snapshot --permission-mode "
      + "--permission-prompts --permission-prompt-tool --allowedTools --disallowedTools --tools --session-id --resume "
      + "--resume-session-at --name --max-turns --max-budget-usd --json-schema --mcp-config --add-dir --settings "
      + "--setting-sources --agents --plugin-dir --thinking"
  ),
  codex: table(
    "--json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --approve-for-me --ephemeral "
      + "--ignore-user-config --ignore-rules --strict-config --oss --last --all",
    "-c --config --enable --disable -i --image -m --model -p --profile -s --sandbox -C --cd --add-dir --output-schema "
      + "-o --output-last-message --color"
  ),
  copilot: table(
    "--allow-all-tools --allow-all-paths --allow-all-urls --allow-all --yolo --autopilot --plan --no-ask-user "
      + "--no-auto-update --no-color --no-remote --disable-builtin-mcps --no-custom-instructions --trust-folder "
      + "--assisted-approval -s --silent --no-experimental --disable-parallel-tools-execution",
    "-p --prompt --output-format --log-level --log-dir --model --reasoning-effort --effort --agent --mode "
      + "--max-autopilot-continues --max-ai-credits --allow-tool --deny-tool --available-tools --excluded-tools --allow-url --deny-url "
      + "--secret-env-vars --session-id --resume --name --additional-mcp-config --add-dir -C --attachment --stream "
      + "--usage-output-file"
  )
}

// What `codex exec resume` and `codex exec fork` do not take although `codex exec` does.
const notAfterSubcommand = ["-s", "--sandbox", "-C", "--cd", "--add-dir"]

export const refusal = {
  claude: (flag) => ({ stderr: `error: unknown option '${flag}'\n`, code: 1 }),
  codex: (flag) => ({
    stderr: `error: unexpected argument '${flag}' found\n\n  tip: to pass '${flag}' as a value, use '-- ${flag}'\n\n`
      + "Usage: codex exec [OPTIONS] [PROMPT]\n\nFor more information, try '--help'.\n",
    code: 2
  }),
  copilot: () => ({
    stderr: "error: Invalid command format.\n\nIt looks like your prompt was not quoted, so the extra words were "
      + "treated as separate arguments.\n\nTry 'copilot --help' for more information.\n",
    code: 1
  })
}

const scan = (wire, argv) => {
  const known = flags[wire]
  const found = { options: {}, rest: [], unknown: undefined }
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index]
    if (word === "--") {
      found.rest.push(...argv.slice(index + 1))
      break
    }
    if (!word.startsWith("-") || word === "-") {
      found.rest.push(word)
      continue
    }
    const equals = word.startsWith("--") ? word.indexOf("=") : -1
    const flag = equals < 0 ? word : word.slice(0, equals)
    const arity = known[flag]
    if (arity === undefined) {
      found.unknown = found.unknown ?? flag
      continue
    }
    const value = equals >= 0 ? word.slice(equals + 1) : arity === 0 ? true : argv[++index]
    ;(found.options[flag] ??= []).push(value)
  }
  return found
}

const first = (options, ...names) => names.map((name) => options[name]?.[0]).find((value) => value !== undefined)

const conversation = {
  claude: ({ options, rest }) => {
    const resumed = first(options, "--resume")
    return {
      session: resumed !== undefined
        ? { kind: options["--fork-session"] === undefined ? "resume" : "fork", id: resumed }
        : { kind: "new", id: first(options, "--session-id") },
      prompt: rest[0],
      stdin: rest[0] === undefined
    }
  },
  codex: ({ options, rest }) => {
    const words = rest[0] === "exec" ? rest.slice(1) : rest
    const kind = words[0] === "resume" || words[0] === "fork" ? words[0] : "new"
    const prompt = kind === "new" ? words[0] : words[2]
    return {
      session: { kind, id: kind === "new" ? undefined : words[1] },
      prompt: prompt === "-" ? undefined : prompt,
      stdin: prompt === undefined || prompt === "-",
      misplaced: kind === "new" ? undefined : notAfterSubcommand.find((flag) => options[flag] !== undefined)
    }
  },
  copilot: ({ options }) => {
    const resumed = first(options, "--resume")
    const prompt = first(options, "-p", "--prompt")
    return {
      session: resumed !== undefined
        ? { kind: "resume", id: resumed }
        : { kind: "new", id: first(options, "--session-id") },
      prompt,
      stdin: prompt === undefined
    }
  }
}

/** What a command line asks of the CLI; `unknown` is the first flag that this version does not have. */
export const read = (wire, argv) => {
  const found = scan(wire, argv)
  const { misplaced, ...asked } = conversation[wire](found)
  return { ...asked, options: found.options, unknown: found.unknown ?? misplaced }
}
