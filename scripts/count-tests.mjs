// Prints "passed failed" of a report of vitest's JSON reporter. A test that did not run has not passed, and neither
// has a file that could not be loaded; the names of both go to stderr.
import { readFileSync } from "node:fs"

const { testResults } = JSON.parse(readFileSync(process.argv[2], "utf8"))
let passed = 0
let failed = 0
for (const { assertionResults, message, name, status } of testResults) {
  if (assertionResults.length === 0 || (status === "failed" && assertionResults.every((_) => _.status === "passed"))) {
    failed++
    console.error(`failed file: ${name} ${message}`)
  }
  for (const { fullName, status } of assertionResults) {
    if (status === "passed") passed++
    else {
      failed++
      console.error(`${status}: ${fullName}`)
    }
  }
}
if (testResults.length === 0) {
  failed++
  console.error("no tests")
}
console.log(`${passed} ${failed}`)
