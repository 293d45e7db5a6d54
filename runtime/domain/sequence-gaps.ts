/** Numbers that a sequence gave out and that were passed by without their rows, as spans. Pure. */

export interface Span {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** What lies between `from` (exclusive) and the last of the numbers, and is none of them. `seqs` ascend. */
export function spansBetween(from: number, seqs: readonly number[]): Span[] {
  const spans: Span[] = [];
  let before = from;
  for (const seq of seqs) {
    if (seq > before + 1) spans.push({ first: before + 1, last: seq - 1 });
    before = seq;
  }
  return spans;
}

/** The parts of the span that remain without the numbers, which may lie anywhere. */
export function withoutSeqs(span: Span, seqs: Iterable<number>): Span[] {
  const inside = [...seqs].filter((seq) => seq >= span.first && seq <= span.last).sort((a, b) => a - b);
  return spansBetween(span.first - 1, [...inside, span.last + 1]);
}
