/** Milliseconds on a clock that nobody sets, and that all processes of the machine share. */
export const now = (): number => {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
