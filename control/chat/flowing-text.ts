/**
 * Text that comes in pieces, broken between words for a terminal: a word is shown once its end has come. Code between fences stays as it
 * is, so that it can be copied.
 */

export interface FlowingText {
  /** The text to show now; the last word of it may wait. */
  push(piece: string): string;
  /** What waits still; the next text begins a line. */
  end(): string;
}

/** Longer words are an address or have no blanks at all: they are shown as they come, and the terminal breaks them. */
const LONGEST_HELD = 60;
/** Narrower than this nothing can be read anyway. */
const NARROWEST = 24;
const FENCE = /^\s*(?:```|~~~)/;
/** Characters of two columns, behind each of which a line may be broken. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff00-\uff60]/u;
const NO_COLUMN = /[\p{Mark}\p{Default_Ignorable_Code_Point}]/u;
const TAB = 8;

/** `columns`: of the terminal, undefined or 0 where there is none: then nothing is broken. */
export function flowingText(columns: () => number | undefined): FlowingText {
  let column = 0;
  /** Blanks before the word that waits: they are left out where the line is broken there. */
  let blanks = "";
  let word = "";
  /** Of this line, to know a fence. */
  let line = "";
  let fenced = false;
  /** The beginning of the word is on the screen already. */
  let begun = false;

  const placeWord = (): string => {
    if (word === "") return "";
    const width = columnsOf(word);
    const room = Math.max(NARROWEST, columns() || Number.POSITIVE_INFINITY);
    const fits = column + columnsOf(blanks) + width <= room;
    const breaks = !fits && !fenced && !begun && !FENCE.test(line) && column > 0 && width <= room;
    const placed = breaks ? `\n${word}` : blanks + word;
    column = breaks ? width : column + columnsOf(blanks) + width;
    blanks = "";
    word = "";
    return placed;
  };
  const endLine = (): void => {
    if (FENCE.test(line)) fenced = !fenced;
    line = "";
    column = 0;
    blanks = "";
    begun = false;
  };

  return {
    push(piece) {
      if (!columns()) return piece;
      let shown = "";
      for (const letter of piece) {
        if (letter === "\n") {
          // Blanks at the end of a line are kept: two of them mean something in Markdown.
          shown += `${placeWord()}${blanks}\n`;
          endLine();
          continue;
        }
        line += letter;
        if (letter === " " || letter === "\t") {
          shown += placeWord();
          begun = false;
          blanks += letter;
        } else {
          if (WIDE.test(letter)) {
            shown += placeWord();
            begun = false;
          }
          word += letter;
          if (word.length > LONGEST_HELD) {
            shown += placeWord();
            begun = true;
          }
        }
      }
      return shown;
    },
    end() {
      const rest = placeWord() + blanks;
      endLine();
      fenced = false;
      return rest;
    },
  };
}

function columnsOf(text: string): number {
  let width = 0;
  for (const letter of text) {
    if (letter === "\t") width += TAB;
    else if (!NO_COLUMN.test(letter)) width += WIDE.test(letter) ? 2 : 1;
  }
  return width;
}
