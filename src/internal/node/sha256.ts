import * as Crypto from "node:crypto"

/** The SHA-256 of a text, in lower case. */
export const sha256 = (text: string): string => Crypto.createHash("sha256").update(text).digest("hex")
