/**
 * One arm of one bench, in a process of its own, which lives until whoever started it has looked at what it left. The
 * case comes as a message: those who look for the directory of the benches in the arguments of processes do not find
 * this one.
 *
 * node --expose-gc bench/arm.mjs <bench> <arm>
 */
const [bench, arm] = process.argv.slice(2)
process.once("disconnect", () => process.exit())
process.once("message", async (given) => {
  try {
    const { arms } = await import(`./${bench}.mjs`)
    process.send({ result: await arms[arm](given) })
  } catch (error) {
    process.send({ failure: error instanceof Error ? error.stack ?? error.message : String(error) })
  }
})
