/**
 * Cuts a text that is being written into sentences, each as soon as it is complete. The pieces joined are the text. By the rules of
 * Unicode (UAX 29), which need no language; every line is a piece of its own. Pure.
 */

/** UTF-16 units; what is shorter is spoken with the sentence behind it. */
const SHORTEST = 16;
/** A sentence without an end is cut before that. */
const LONGEST = 1_000;

const segmenter = new Intl.Segmenter("und", { granularity: "sentence" });

export class SentenceSplitter {
  #rest = "";

  /** What is complete now. */
  push(text: string): string[] {
    const sentences: string[] = [];
    // In pieces, so that the rest which is segmented again stays short, however much comes at once.
    for (let at = 0; at < text.length; at += LONGEST) {
      this.#rest += text.slice(at, at + LONGEST);
      sentences.push(...this.#complete());
    }
    return sentences;
  }

  /** The rest, and it begins anew. */
  end(): string[] {
    const rest = this.#rest;
    this.#rest = "";
    return rest === "" ? [] : [rest];
  }

  #complete(): string[] {
    const segments = [...segmenter.segment(this.#rest)].map(({ segment }) => segment);
    const sentences: string[] = [];
    // The last one may go on, unless its line has ended.
    const last = this.#rest.endsWith("\n") ? "" : (segments.pop() ?? "");
    let open = "";
    for (const segment of segments) {
      open += segment;
      // A question mark within an address ends nothing.
      if (/[!-~]$/.test(open)) continue;
      if (open.length < SHORTEST && !open.endsWith("\n")) continue;
      sentences.push(open);
      open = "";
    }
    this.#rest = open + last;
    while (this.#rest.length > LONGEST) {
      const cut = cutOf(this.#rest);
      sentences.push(this.#rest.slice(0, cut));
      this.#rest = this.#rest.slice(cut);
    }
    return sentences;
  }
}

/** After the last space within the limit, else at it, and never within a surrogate pair. */
function cutOf(text: string): number {
  const space = text.slice(0, LONGEST).search(/\s\S*$/);
  if (space > 0) return space + 1;
  return /[\uD800-\uDBFF]/.test(text.charAt(LONGEST - 1)) ? LONGEST - 1 : LONGEST;
}
