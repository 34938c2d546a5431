// The public modules stand in three places: the files of src, `exports` of package.json, and the barrel.
// This fails when they disagree.
import { filesUnder, packageJson, publicModules, read, report } from "./files.mjs"

const problems = []
const exported = new Map(publicModules.map(({ name, source }) => [name, source]))
const moduleFile = /^src\/(drivers\/)?([A-Z]\w*)\.ts$/
const files = new Map(
  filesUnder("src", /\.ts$/).flatMap((file) => {
    const match = moduleFile.exec(file)
    return match === null ? [] : [[match[2], file]]
  })
)
const barrel = new Map(
  [...read("src/index.ts").matchAll(/^export \* as (\w+) from "\.\/(.+)\.js"$/gm)].map((match) => [
    match[1],
    `src/${match[2]}.ts`
  ])
)

const compare = (left, leftName, right, rightName) => {
  for (const [name, file] of left) {
    if (!right.has(name)) problems.push(`${name} (${file}) is in ${leftName} but not in ${rightName}`)
    else if (right.get(name) !== file) {
      problems.push(`${name} is ${file} in ${leftName} but ${right.get(name)} in ${rightName}`)
    }
  }
}
compare(files, "src", exported, "exports of package.json")
compare(exported, "exports of package.json", files, "src")
compare(files, "src", barrel, "src/index.ts")
compare(barrel, "src/index.ts", files, "src")

if (packageJson.exports["."] !== "./dist/index.js") problems.push("exports \".\" is not ./dist/index.js")
if (packageJson.exports["./internal/*"] !== null) problems.push("exports \"./internal/*\" is not closed")
for (const key of Object.keys(packageJson.exports)) {
  if (key.includes("*") && key !== "./internal/*") problems.push(`exports "${key}" is not one explicit module`)
}

report("exports", problems)
