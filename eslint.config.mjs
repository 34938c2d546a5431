import tseslint from "typescript-eslint"

// Only these may touch the globals of Node.
const nodeFiles = ["src/NodeProcessTree.ts", "src/internal/kernel/**/*.ts", "src/internal/node*/**/*.ts"]

const syntax = (selector, message) => ({ selector, message })

const effects = [
  syntax(":function[async=true]", "No async functions: use Effect."),
  syntax("AwaitExpression", "No await: use Effect."),
  syntax("NewExpression[callee.name='Promise']", "No promises: use Effect.async."),
  syntax(":function[generator=true] TryStatement", "No try in a generator: use the error channel."),
  syntax(
    "MemberExpression[object.name=/^(Effect|Runtime)$/][property.name=/^(run|unsafeRun)/]",
    "Nothing is run inside the library: return the effect."
  ),
  syntax("ThrowStatement", "Do not throw: fail or die.")
]

const clocks = [
  syntax("MemberExpression[object.name='Date'][property.name='now']", "Use Clock."),
  syntax("NewExpression[callee.name='Date'][arguments.length=0]", "Use Clock or DateTime."),
  syntax("MemberExpression[object.name='Math'][property.name='random']", "Use Random.")
]

const globals = [
  "clearInterval",
  "clearTimeout",
  "console",
  "crypto",
  "fetch",
  "performance",
  "process",
  "setImmediate",
  "setInterval",
  "setTimeout"
].map((name) => ({ name, message: "Only the Node layers touch the globals of Node." }))

const barrels = ["effect", "@effect/platform", "@effect/platform-node"].map((name) => ({
  name,
  message: "Import the module itself, as a namespace."
}))

export default tseslint.config(
  { ignores: ["dist/**", "coverage/**", ".check/**", "node_modules/**"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["src/**/*.ts", "test/**/*.ts", "examples/**/*.ts"],
    extends: [tseslint.configs.base],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/array-type": ["error", { default: "generic", readonly: "generic" }],
      "@typescript-eslint/await-thenable": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/no-unnecessary-type-assertion": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true }
      ],
      "eqeqeq": ["error", "smart"],
      "no-debugger": "error",
      "no-empty": ["error", { allowEmptyCatch: false }],
      "no-fallthrough": "error",
      "no-var": "error",
      "object-shorthand": ["error", "properties"],
      "prefer-const": "error"
    }
  },
  {
    files: ["src/**/*.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "error",
      "max-lines": ["error", { max: 500, skipComments: true, skipBlankLines: true }],
      "no-restricted-globals": ["error", ...globals],
      "no-restricted-imports": ["error", {
        paths: barrels,
        patterns: [{
          regex: "^(node:|child_process$|fs$|os$|process$|timers$)",
          message: "Only the Node layers import modules of Node."
        }]
      }],
      "no-restricted-syntax": ["error", ...effects, ...clocks]
    }
  },
  {
    files: nodeFiles,
    rules: {
      "no-restricted-globals": ["error", ...globals.filter((global) => ["console", "fetch"].includes(global.name))],
      "no-restricted-imports": ["error", { paths: barrels }],
      "no-restricted-syntax": ["error", ...effects.filter((rule) => rule.selector !== "ThrowStatement")]
    }
  },
  {
    files: ["src/index.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        syntax("ExportAllDeclaration[exported=null]", "The barrel exports namespaces.")
      ]
    }
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        syntax(
          "MemberExpression[object.name=/^(it|test|describe)$/][property.name=/^(only|skip|todo|fails)$/]",
          "Every test runs, and none is expected to fail."
        ),
        syntax(
          "MemberExpression[property.name=/^(only|skip|todo|fails)$/] > MemberExpression[object.name=/^(it|test|describe)$/]",
          "Every test runs, and none is expected to fail."
        )
      ]
    }
  }
)
