/** What kinds of files CLIs take with a prompt, told by the name. */
import type * as AgentRequest from "../../AgentRequest.js"

export type Kind = "image" | "pdf" | "binary" | "text"

const endings: ReadonlyArray<readonly [Kind, RegExp]> = [
  ["image", /\.(?:png|jpe?g|gif|webp)$/i],
  ["pdf", /\.pdf$/i],
  // What a CLI cannot make text of it leaves out without a word.
  [
    "binary",
    /\.(?:bmp|tiff?|ico|heic|avif|psd|zip|gz|tgz|bz2|xz|zst|7z|rar|tar|jar|docx?|xlsx?|pptx?|od[tsp]|mp[34]|m4a|wav|ogg|flac|mov|avi|mkv|webm|exe|dll|so|dylib|a|o|bin|wasm|class|pyc|woff2?|ttf|otf|eot|sqlite3?|db|dmg|iso)$/i
  ]
]

const kindOf = ({ path }: AgentRequest.Attachment): Kind =>
  endings.find(([, ending]) => ending.test(path))?.[0] ?? "text"

/** The first attachment of another kind. */
export const otherThan = (
  { attachments }: AgentRequest.AgentRequest,
  kinds: ReadonlyArray<Kind>
): AgentRequest.Attachment | undefined => attachments.find((attachment) => !kinds.includes(kindOf(attachment)))
