/** File names for names of any form. */
import { sha256 } from "../node/sha256.js"

const plain = /^[a-z0-9_-]$/

/** Names that Windows keeps for devices, whatever their extension. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)$/

/** With a suffix and the name of a temporary file, still within the 255 bytes of every file system. */
const longest = 150

const utf8 = new TextEncoder()

const hex = (byte: number): string => `%${byte.toString(16).padStart(2, "0")}`

const encode = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (plain.test(character)) return character
  // Half of a pair has no bytes of its own in UTF-8.
  return code >= 0xd800 && code <= 0xdfff ? `%u${code.toString(16)}` : Array.from(utf8.encode(character), hex).join("")
}

/**
 * A name of a file that no other text has, also where case does not count: nothing but lower case, digits, `_` and `-`,
 * all else as the hexadecimal bytes of its UTF-8. `%` alone is the empty text, and `%%` comes only before the digest of a
 * long one.
 */
export const stemOf = (text: string): string => {
  if (text === "") return "%"
  const whole = device.test(text) ? hex(text.charCodeAt(0)) + text.slice(1) : Array.from(text, encode).join("")
  return whole.length <= longest ? whole : `${whole.slice(0, longest - 66)}%%${sha256(whole)}`
}
