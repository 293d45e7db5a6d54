/** How text of the web is put before a model: in a fence that no page can close, marked as data. Pure. */

import { markedFence } from "../marked-fence.ts";
import { fenceable } from "../prompt-data.ts";

const NAME = "web";
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const LINE_END = /\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g;

/** Text of a page, a title or an address without what is not seen and without tokens of chat templates; lines end with `\n`. */
export function webText(text: string): string {
  return fenceable(text.replace(LINE_END, "\n"), NAME);
}

/** `mark` is random and made for this call, so that no page can hold it; `text` has passed `webText`. */
export function webFence(text: string, mark: string): string {
  return markedFence({ name: NAME, from: "the web" }, text, mark);
}
