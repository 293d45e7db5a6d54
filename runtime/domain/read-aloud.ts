/**
 * What of a reply is read aloud, sentence by sentence: no code blocks and no table lines of dashes, links by their names, addresses by
 * their hosts, and no marks of Markdown. A reply that was begun anew is not repeated from its start. Pure.
 */

import { SentenceSplitter } from "./sentences.ts";

export class ReadAloud {
  #splitter = new SentenceSplitter();
  /** The marker of the code block that is open. */
  #fence: string | null = null;
  #atLineStart = true;
  /** What was given out, and how much of it this attempt at the reply has reached. */
  readonly #said: string[] = [];
  #reached = 0;

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

  /** The reply is written anew: what begins as before was said. */
  restart(): void {
    this.#splitter = new SentenceSplitter();
    this.#fence = null;
    this.#atLineStart = true;
    this.#reached = 0;
  }

  #speakable(sentences: readonly string[]): string[] {
    return sentences.flatMap((sentence) => {
      const words = this.#isCode(sentence) ? "" : wordsOf(sentence, this.#atLineStart);
      this.#atLineStart = sentence.endsWith("\n");
      if (words === "") return [];
      const wasSaid = this.#said[this.#reached] === words;
      if (!wasSaid) this.#said.splice(this.#reached, Number.POSITIVE_INFINITY, words);
      this.#reached++;
      return wasSaid ? [] : [words];
    });
  }

  /** A sentence ends with its line at the latest. */
  #isCode(sentence: string): boolean {
    const before = this.#fence;
    const [, marker, info = ""] = (this.#atLineStart && /^ {0,3}(`{3,}|~{3,})(.*)/.exec(sentence)) || [];
    if (marker === undefined) return before !== null;
    if (before === null) this.#fence = marker;
    else if (marker.startsWith(before) && info.trim() === "") this.#fence = null;
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
