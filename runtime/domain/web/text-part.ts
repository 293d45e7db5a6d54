/** A part of a long text, from an offset on, and where the next one begins. Offsets are in UTF-16 units. Pure. */

export interface TextPart {
  readonly text: string;
  /** Null at the end. */
  readonly next: number | null;
}

/** The last fifth of a part is searched for the end of a paragraph, or of a line, to end there. */
const SEARCHED = 0.2;

export function textPart(text: string, offset: number, maxChars: number): TextPart {
  const start = isTrail(text, offset) ? offset + 1 : offset;
  if (text.length - start <= maxChars) return { text: text.slice(start), next: null };
  const most = start + maxChars;
  const least = most - Math.floor(maxChars * SEARCHED);
  const end = ["\n\n", "\n", " "].map((gap) => text.lastIndexOf(gap, most)).find((at) => at >= least);
  const next = end ?? (isTrail(text, most) ? most - 1 : most);
  return { text: text.slice(start, next), next };
}

/** Whether a pair of surrogates would be cut here. */
function isTrail(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return index > 0 && unit >= 0xdc00 && unit <= 0xdfff;
}
