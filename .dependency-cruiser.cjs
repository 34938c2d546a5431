// The rooms of src from the lowest to the highest. A room imports itself and lower ones, never a higher one.
// What a driver is made of (plan and protocol) stands below the run loop; its public module, which makes an agent of
// it, stands above.
const modules = (...names) => names.map((name) => `^src/${name}[.]ts$`)
const rooms = {
  data: modules("Agent(Error|Event|Outcome|Request)", "Approval", "Installation", "Session", "Teardown", "ToolRule"),
  kernel: modules("(Node)?ProcessTree", "Containment", "internal/(kernel|node).*"),
  contract: modules("AgentDriver"),
  plans: modules("internal/drivers/.*"),
  agents: modules("Agent(Run)?", "Conversation", "SessionStore", "internal/(run|session)/.*"),
  drivers: modules("drivers/.*"),
  fleet: modules("Fleet", "Worktree", "internal/(fleet|worktree)/.*"),
  testing: modules("testing/.*", "internal/testing/.*"),
  barrel: modules("index")
}
const names = Object.keys(rooms)
const shared = modules("internal/[^/]+")
const kernel = [...rooms.kernel, ...modules("Teardown")]

const rule = (name, comment, from, to) => ({ name, comment, severity: "error", from, to })

module.exports = {
  forbidden: [
    ...names.slice(0, -1).map((name, index) =>
      rule(`${name}-imports-upwards`, "Dependencies point from a higher room to a lower one.", { path: rooms[name] }, {
        path: names.slice(index + 1).flatMap((higher) => rooms[higher])
      })
    ),
    rule("kernel-imports-agents", "The kernel is useful alone: it knows nothing of agents, not even their data.", {
      path: kernel
    }, { path: "^src/", pathNot: [...kernel, ...shared] }),
    rule("shared-imports-room", "What stands in src/internal itself is for every room: it uses none.", {
      path: shared,
      pathNot: rooms.kernel
    }, { path: "^src/", pathNot: shared }),
    rule("module-without-room", "A new module is given its room in .dependency-cruiser.cjs.", {
      path: "^src/",
      pathNot: [...Object.values(rooms).flat(), ...shared]
    }, {}),
    rule("agent-imports-driver", "The run loop is the same for every driver: it knows none.", { path: rooms.agents }, {
      path: rooms.plans
    }),
    rule("driver-imports-driver", "Each driver stands alone.", { path: "^src/drivers/([^/]+)[.]ts$" }, {
      path: "^src/drivers/",
      pathNot: "^src/drivers/$1[.]ts$"
    }),
    rule("outside-imports-internal", "Internal modules may change at any time.", { pathNot: "^(src|test)/" }, {
      path: "^src/internal/"
    }),
    rule("example-imports-by-path", "An example imports the package by its name, as its reader will.", {
      path: "^examples/"
    }, { path: "^(src|test)/", dependencyTypesNot: ["aliased"] }),
    rule("src-imports-outside", "The library stands alone.", { path: "^src/" }, { path: "^(test|examples|scripts)/" }),
    rule("not-a-dependency", "The library uses Node and its peers, nothing else.", { path: "^src/" }, {
      path: "^node_modules/",
      pathNot: "^node_modules/(effect|@effect/platform|@effect/platform-node|@agentclientprotocol/sdk)/"
    }),
    rule("protocol-at-run-time", "Of the protocol's package the types alone are used: they check what is said.", {
      path: "^src/"
    }, { path: "^node_modules/@agentclientprotocol/", dependencyTypesNot: ["type-only"] }),
    rule("not-resolvable", "The import leads nowhere.", {}, { couldNotResolve: true }),
    rule("cycle", "No cycles.", {}, { circular: true })
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      conditionNames: ["import", "types", "node", "default"],
      exportsFields: ["exports"],
      extensions: [".ts", ".d.ts", ".mjs", ".js", ".json"]
    }
  }
}
