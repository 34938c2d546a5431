/** What the benches must show, and what they did. */
const peers = [
  "readline",
  "execa 9",
  "tinyexec",
  "Command of Effect 3, Schema",
  "ChildProcess of Effect 4, Schema",
  "codex-sdk",
  "claude-agent-sdk",
  "agent-abstraction"
]

const times = (ratio) => `${ratio.toFixed(2)} ×`

export const targets = (tables) => {
  const rowsOf = (bench, name) => tables.filter((table) => table.bench === bench && table.case.includes(name))
  const metric = (table, arm, name) => table?.rows.find((row) => row.arm === arm)?.metrics[name]
  const of = (bench, name, arm, what) => metric(rowsOf(bench, name)[0], arm, what)
  const target = (what, limit, values, most, told) =>
    values.some((value) => value === undefined) || values.length === 0
      ? { what, limit, reached: "–" }
      : { what, limit, reached: values.map(told).join(", "), met: values.every((value) => value <= most) }
  const lines = rowsOf("events", "lines of 500 B")
  const ratios = (tables, name) => tables.map((table) => metric(table, "ours: events", name)?.ratio)
  const slower = lines.flatMap((table) =>
    peers.filter((peer) => metric(table, peer, "wall")?.median < metric(table, "ours: events", "wall")?.median)
      .map((peer) => `${table.case.split(":")[0]}: ${peer}`)
  )
  const first = ["ours", "spawn and readline"].map((arm) => of("first event", "", arm, "warm")?.median)
  const three = rowsOf("teardown", "2 in the group")[0]
  const returned = (arm) => metric(three, arm, "returned")?.median
  const scale = ["100 at", "1 at"].map((name) =>
    tables.find((table) => table.bench === "scale" && table.case.startsWith(name))
  ).map((table) => metric(table, "ours", "cpu")?.median)
  const grown = ["descriptors", "children", "ledgers", "heap", "guard"].map((what) =>
    of("endurance", "", "ours", what)?.median
  )
  return [
    target("events, wall, against bytes split by hand", "1.3 ×", ratios(lines, "wall"), 1.3, times),
    target("events, processor", "1.3 ×", ratios(lines, "cpu"), 1.3, times),
    target("the same, the fifth time in a process", "1.3 ×", ratios(lines, "again"), 1.3, times),
    target(
      "events, peers that are faster",
      "none",
      lines.length === 0 ? [] : [slower.length],
      0,
      (n) => n === 0 ? "none" : slower.join("; ")
    ),
    target("events, memory above the imports", "1.15 ×", ratios(lines, "memory"), 1.15, times),
    target("one line of 20 MB, wall", "1.3 ×", ratios(rowsOf("events", "one line"), "wall"), 1.3, times),
    target("the same, processor, the fifth time", "1.3 ×", ratios(rowsOf("events", "one line"), "again"), 1.3, times),
    target(
      "slow consumer of 1 GB, growth",
      "16 MB",
      [of("back-pressure", "", "ours", "memory")?.median],
      16e6,
      (n) => `${(n / 1e6).toFixed(1)} MB`
    ),
    target(
      "first event, beyond spawn and readline",
      "3 ms",
      first.includes(undefined) ? [] : [first[0] - first[1]],
      3,
      (n) => `${n.toFixed(1)} ms`
    ),
    target(
      "polite teardown of 3, to verified empty, against kill(-pgid)",
      "3 ×",
      [
        metric(three, "ours", "returned")?.ratio
      ],
      3,
      times
    ),
    target(
      "the same against tree-kill and acpx",
      "less",
      three === undefined ? [] : ["tree-kill", "acpx"].map(returned).filter(Boolean).map((n) => returned("ours") / n),
      1,
      times
    ),
    target(
      "teardown of 1,000, against kill(-pgid)",
      "4 ×",
      [
        of("teardown", "1,000 in the group", "ours", "returned")?.ratio
      ],
      4,
      times
    ),
    target(
      "100 runs at a time, processor per run, against one at a time",
      "1.2 ×",
      scale.includes(undefined) ? [] : [scale[0] / scale[1]],
      1.2,
      times
    ),
    target(
      "import, against what it needs of others, wall and processor",
      "1.25 ×",
      ["import", "importCpu"].map((what) => of("start-up", "", "ours", what)?.ratio),
      1.25,
      times
    ),
    target(
      "endurance, growth of descriptors, children, ledgers, heap and guard (MB)",
      "none; memory within 4 MB",
      grown,
      4e6,
      (n) => Math.abs(n) < 1000 ? `${n}` : `${(n / 1e6).toFixed(1)}`
    )
  ].map((target) =>
    target.what.startsWith("endurance") && target.met
      ? { ...target, met: grown.slice(0, 3).every((n) => n <= 0) }
      : target
  )
}
