/** Values of TOML, as Codex reads them from its command line. */

/** A basic string. */
export const text = (value: string): string =>
  `"${
    value.replace(/["\\\u0000-\u001f\u007f]/g, (character) =>
      character === "\"" || character === "\\"
        ? `\\${character}`
        : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
  }"`

export const list = (values: ReadonlyArray<string>): string => `[${values.map(text).join(", ")}]`
