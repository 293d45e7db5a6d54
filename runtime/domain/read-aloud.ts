/**
 * What of a reply is read aloud, sentence by sentence: no code blocks and no table lines of dashes, links by their names, addresses by
 * their hosts, and no marks of Markdown. Of a reply that comes anew only what is new is said. Pure.
 */

import { closes, type FenceLine, fenceLine, staysIn } from "./fence-lines.ts";
import { SentenceSplitter } from "./sentences.ts";

export class ReadAloud {
  #splitter = new SentenceSplitter();
  /** Of the code block that is open. */
  #fence: FenceLine | null = null;
  #atLineStart = true;
  readonly #said: string[] = [];
  /** What was said before the reply began anew, with how often. */
  #earlier = new Map<string, number>();

  push(text: string): string[] {
    return this.#speakable(this.#splitter.push(text));
  }

  /** Of the text until now, whose end is the end of a sentence. */
  end(): string[] {
    const rest = this.#speakable(this.#splitter.end());
    this.#fence = null;
    this.#atLineStart = true;
    return rest;
  }

  /** The reply comes anew: what was said of it is not said again. */
  restart(): void {
    this.#splitter = new SentenceSplitter();
    this.#fence = null;
    this.#atLineStart = true;
    this.#earlier = new Map([...Map.groupBy(this.#said, (said) => said)].map(([said, all]) => [said, all.length]));
  }

  #speakable(sentences: readonly string[]): string[] {
    return sentences.flatMap((sentence) => {
      const words = this.#isCode(sentence) ? "" : wordsOf(sentence, this.#atLineStart);
      this.#atLineStart = sentence.endsWith("\n");
      if (words === "") return [];
      const remaining = this.#earlier.get(words) ?? 0;
      this.#earlier.set(words, remaining - 1);
      if (remaining > 0) return [];
      this.#said.push(words);
      return [words];
    });
  }

  /** A sentence ends with its line at the latest. */
  #isCode(sentence: string): boolean {
    if (!this.#atLineStart) return this.#fence !== null;
    if (this.#fence !== null && !staysIn(sentence, this.#fence)) this.#fence = null;
    const before = this.#fence;
    const fence = fenceLine(sentence.trimEnd());
    if (fence === undefined) return before !== null;
    if (before === null) this.#fence = fence;
    else if (closes(fence, before)) this.#fence = null;
    return true;
  }
}

/** Empty where there is nothing to be said: no letter and no digit. */
function wordsOf(sentence: string, atLineStart: boolean): string {
  const line = atLineStart ? sentence.replace(/^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+)+/, "") : sentence;
  const words = line
    // A link or a picture is read by its name, also where its name is in another sentence.
    .replace(/\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"]*")?\)/g, "")
    .replace(/<(https?:[^\s<>]+)>/gi, "$1")
    .replace(/https?:\/\/(?:www\.)?([^\s/?#<>"')\]]+)[^\s<>"')\]]*?(?=[.,;:!?]*(?:[\s<>"')\]]|$))/gi, "$1")
    .replace(/!?\[|[\]|`]|\*+(?=\S)|(?<=\S)\*+|~~|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, "")
    .replace(/\s+/g, " ")
    .trim();
  return /[\p{L}\p{N}]/u.test(words) ? words : "";
}
