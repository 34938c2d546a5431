/**
 * The zoo as data: who is let loose, how the run ends, and what must have become of them then.
 */

/**
 * - `dies`: nothing of it is left, and the report says so.
 * - `named`: it may not be ended, and the report names it.
 * - `escapes`: out of the reach that is promised; nobody sees it, and it is ended by the zoo.
 * - `cannot`: the seal does not let it become what it is.
 */
export type Fate = "dies" | "named" | "escapes" | "cannot"

export const endings = ["close", "interrupt", "timeout", "exit", "throw", "SIGTERM", "SIGKILL"] as const
export type Ending = typeof endings[number]

/** The seal that is asked of the library for a run. */
export const columns = ["none", "namespace", "cgroup"] as const
export type Column = typeof columns[number]

export interface Row {
  readonly name: string
  /**
   * Run by `sh`: `$L` is the ledger, `$S` a script that says in it that it is there and stays, `stay` runs that one,
   * `adversary` what `adversary.c` has, by its words.
   */
  readonly script: string
  /** How many processes have said so when it is complete, by default one. */
  readonly count?: number
  /** A state of the process table that one of them takes only after that. */
  readonly state?: string
  readonly trees?: number
  /** Where it does not die. */
  readonly fate?: { readonly [column in Column]?: Fate }
  /** Needs what this machine may not have. */
  readonly needs?: ReadonlyArray<"cc" | "private" | "root" | "namespaces" | "tmux">
  /** Born again and again: a look that finds nobody may have come between two of them. */
  readonly respawns?: boolean
  /** The host runs as root. */
  readonly root?: boolean
  /** Served by a process that was there before the run. */
  readonly served?: boolean
  /** Ends before the guard can be there. */
  readonly early?: boolean
  /** Kills host and guard itself: the next host is to end it. */
  readonly killsHost?: boolean
}

const c = (name: string, words: string, more?: Partial<Row>): Row => ({
  name,
  script: `adversary "${words}" &`,
  ...more,
  needs: ["cc", ...(more?.needs ?? [])]
})

const respawning = (name: string, words: string): Row => c(name, words, { respawns: true, needs: ["private"] })

const own = "unshare --user --map-root-user --pid --fork"

/** Finds the guard of the host, which is the parent of the leader. */
const findGuard = "guard=; until [ -n \"$guard\" ]; do for f in $(grep -ls guardMai[n] /proc/[0-9]*/cmdline); do "
  + "p=${f#/proc/}; p=${p%/cmdline}; grep -qs \"^PPid:.$host$\" /proc/$p/status && guard=$p; done; done"

export const rows: ReadonlyArray<Row> = [
  { name: "a child", script: "stay &" },
  { name: "deaf to every polite signal", script: "(trap '' TERM INT HUP QUIT; stay) &" },
  { name: "under nohup", script: "nohup \"$S\" \"$L\" >/dev/null 2>&1 &" },
  { name: "an orphan in the group", script: "(stay &)" },
  c("in a group of its own", "group"),
  c("an orphan in a group of its own", "orphan group"),
  c("with another title, over arguments and environment", "title"),
  c("stopped", "stop", { state: "T" }),
  c("the parent of zombies", "zombies"),
  c("without its first thread", "headless"),
  { name: "in a session of its own", script: "setsid \"$S\" \"$L\" >/dev/null 2>&1 &" },
  c("stopped and deaf, in a session of its own", "session deaf stop", { state: "T" }),
  { name: "holding the output of the run", script: "setsid \"$S\" \"$L\" &" },
  c("traced", "session trace"),
  c("traced and stopped by it", "session trace-stopped", { state: "t" }),
  {
    name: "in a user and pid namespace of its own",
    script: `${own} "$S" "$L" >/dev/null 2>&1 &`,
    needs: ["namespaces"]
  },
  {
    name: "a container: user, pid, mount, host name and own /proc",
    script: `${own} --mount --uts --ipc --mount-proc sh -c '"$0" "$1" & setsid "$0" "$1" & exec "$0" "$1"' "$S" "$L" `
      + ">/dev/null 2>&1 &",
    count: 3,
    needs: ["namespaces"]
  },
  { name: "without environment", script: "env -i setsid \"$S\" \"$L\" >/dev/null 2>&1 &" },
  {
    name: "a server of its own (tmux)",
    script: "SHELL=/bin/sh tmux -S \"$L.socket\" -f /dev/null new-session -d \"exec '$S' '$L'\"",
    needs: ["tmux"]
  },
  { name: "a daemon", script: "(cd /; setsid sh -c '\"$0\" \"$1\" >/dev/null 2>&1 &' \"$S\" \"$L\" &)" },
  c("a daemon with another title", "daemon title"),
  c("a daemon that cannot be looked into", "daemon undumpable"),
  {
    name: "a ghost: a daemon without environment",
    script: "(cd /; env -i setsid sh -c '\"$0\" \"$1\" >/dev/null 2>&1 &' \"$S\" \"$L\" &)"
  },
  {
    name: "a ghost, while the guard still starts",
    script: "(cd /; env -i setsid sh -c '\"$0\" \"$1\" >/dev/null 2>&1 &' \"$S\" \"$L\" &)",
    early: true
  },
  c("a tree of 1,000", "tree=1000", { count: 1000 }),
  c("a tree of 5,000", "tree=5000", { count: 5000, needs: ["private"] }),
  { name: "100 trees at once", script: "stay & setsid \"$S\" \"$L\" >/dev/null 2>&1 &", count: 200, trees: 100 },
  respawning("a re-spawner", "runaway"),
  respawning("a re-spawner, each in a new group", "runaway-group"),
  respawning("a re-spawner, each in a new session", "orphan runaway-session"),
  respawning("a re-spawner, each in a new session, 1 ms", "orphan slow runaway-session"),
  respawning("a re-spawner without environment, each in a new session", "bare session orphan runaway-session"),
  {
    name: "a fork every 5 ms, into new sessions, deaf",
    script: "sh -c 'trap \"\" TERM INT HUP; echo $$ >> \"$0\"; while :; do setsid sleep 5 & sleep 0.005; done' \"$L\" "
      + ">/dev/null 2>&1 &",
    respawns: true,
    needs: ["private"]
  },
  {
    name: "one that answers SIGTERM by becoming a ghost",
    script: "sh -c 'trap \"(env -i setsid \\\"$1\\\" \\\"$0\\\" &); exit\" TERM; echo $$ >> \"$0\"; "
      + "while :; do sleep 0.01; done' \"$L\" \"$S\" >/dev/null 2>&1 &"
  },
  {
    name: "one that stops the host for a second",
    script:
      "setsid sh -c 'kill -STOP \"$1\"; echo $$ >> \"$0\"; sleep 1; kill -CONT \"$1\"; exec sleep 1800' \"$L\" $PPID "
      + ">/dev/null 2>&1 &"
  },
  {
    name: "an assassin of the guard",
    // It is there when its victim has been replaced.
    script: `(host=$PPID; ${findGuard}; kill -KILL $guard; ${findGuard}; stay) >/dev/null 2>&1 &`,
    fate: { namespace: "cannot" }
  },
  {
    name: "an assassin of guard and host",
    script: `(host=$PPID; ${findGuard}; kill -KILL $guard $host; stay) >/dev/null 2>&1 &`,
    fate: { namespace: "cannot" },
    killsHost: true
  },
  c("without the limit that marks it, in the group", "lower"),
  c("a daemon without the limit that marks it", "daemon lower"),
  c("a ghost without the limit that marks it", "bare daemon lower", { fate: { none: "escapes" } }),
  {
    name: "the same, which has left its cgroup",
    script: "(m=/sys/fs/cgroup/unified; [ -e $m ] || m=/sys/fs/cgroup; p=$(sed -n 's/^0:://p' /proc/self/cgroup)\n"
      + "echo 0 > \"$m${p%/*/*}/cgroup.procs\"; adversary \"bare daemon lower\") 2>/dev/null &",
    fate: { none: "escapes", cgroup: "escapes" },
    needs: ["cc"]
  },
  {
    name: "of another user",
    script: "\"$A.other\" \"$L\" user zoo >/dev/null 2>&1 &",
    fate: { none: "named", namespace: "cannot" },
    needs: ["cc", "root"]
  },
  {
    name: "of another user, the host of root",
    script: "setpriv --reuid 65533 --clear-groups \"$S\" \"$L\" >/dev/null 2>&1 &",
    root: true,
    needs: ["root"]
  },
  {
    name: "the work of a server that was there before",
    script: "echo \"$S $L\" > \"$L.door\"",
    fate: { none: "escapes", namespace: "escapes", cgroup: "escapes" },
    served: true
  }
]
