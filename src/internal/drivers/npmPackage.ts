/** Where npm and its kin put the native binary of a package whose `bin` is only a launcher. */

/**
 * Given the real path of a file inside the package `name`, the places of `file` of its platform packages: nested in the
 * package, then in every `node_modules` above, as Node itself would look. None for a file that is not in the package.
 */
export const nativePlaces = (
  realPath: string,
  name: string,
  packages: ReadonlyArray<{ readonly name: string; readonly file: string }>
): ReadonlyArray<string> => {
  const path = realPath.replaceAll("\\", "/")
  const inside = `/node_modules/${name}/`
  const at = path.lastIndexOf(inside)
  if (at < 0) return []
  const root = path.slice(0, at + inside.length - 1)
  const homes = [`${root}/node_modules`, path.slice(0, at + "/node_modules".length)]
  const segments = path.slice(0, at).split("/")
  segments.forEach((_, index) => {
    const home = segments.slice(0, segments.length - index).join("/")
    homes.push(home.endsWith("/node_modules") ? home : `${home}/node_modules`)
  })
  return packages.flatMap((found) => homes.map((home) => `${home}/${found.name}/${found.file}`))
}
