// Builds, packs and looks at the package as its user will get it: publint, attw, and an import of every entry.
import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { packageJson, publicModules, report, root } from "./files.mjs"

const work = join(root, ".check", "package")
const problems = []

const run = (command, args, options = {}) => {
  const { status, stdout } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    shell: process.platform === "win32",
    stdio: ["ignore", "pipe", "inherit"],
    ...options
  })
  if (status !== 0) problems.push(`${stdout}\n${[command, ...args].join(" ")} failed (${status})`)
  return status === 0 ? stdout : undefined
}

rmSync(work, { force: true, recursive: true })
mkdirSync(join(work, "node_modules", packageJson.name), { recursive: true })
if (run("npm", ["run", "build"]) !== undefined) {
  const packed = run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", work])
  if (packed !== undefined) {
    const [{ filename, files }] = JSON.parse(packed)
    const tarball = join(work, filename)
    for (const { path } of files) {
      if (!/^(dist|src)\/|^(README\.md|LICENSE|package\.json)$/.test(path)) problems.push(`${path} is packed`)
    }
    const declarations = readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".d.ts")
    )
    for (const file of declarations) {
      // Types of a development dependency are not there for the user.
      const text = readFileSync(join(root, "dist", file), "utf8")
      if (text.includes("@agentclientprotocol")) problems.push(`dist/${file} names a development dependency`)
    }
    for (const path of ["README.md", "LICENSE"]) {
      if (!files.some((file) => file.path === path)) problems.push(`${path} is not packed`)
    }
    run("npx", ["--no-install", "publint", "run", tarball, "--strict"])
    run("npx", ["--no-install", "attw", tarball, "--profile", "esm-only", "--no-emoji", "--format", "ascii"])
    run("tar", ["-xzf", tarball, "--strip-components=1", "-C", join(work, "node_modules", packageJson.name)])
    // The peers are found in node_modules of the repository, further up.
    const entries = [
      packageJson.name,
      `${packageJson.name}/testing`,
      ...publicModules.map(({ name }) => `${packageJson.name}/${name}`)
    ]
    writeFileSync(
      join(work, "import.mjs"),
      `import assert from "node:assert"
for (const entry of ${JSON.stringify(entries)}) assert(Object.keys(await import(entry)).length >= 0, entry)
await assert.rejects(import("${packageJson.name}/internal/anything"), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" })
const barrel = await import("${packageJson.name}")
assert.deepStrictEqual(Object.keys(barrel).sort(), ${JSON.stringify(publicModules.map(({ name }) => name).sort())})
`
    )
    run(process.execPath, [join(work, "import.mjs")])
  }
}

report("package", problems)
