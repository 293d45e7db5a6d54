/** Reasoning that a model writes into its answer: servers that support the model separate it, the others do not. */

const NAMES = "think|thinking|thought|reasoning";
const LEADING = new RegExp(`^\\s*[<[](${NAMES})[>\\]](?:[\\s\\S]*?[<[]/\\1[>\\]]|[\\s\\S]*$)`, "i");
const ON_OWN_LINES = new RegExp(`^[ \\t]*<(${NAMES})>[ \\t]*\\n[\\s\\S]*?\\n[ \\t]*</\\1>[ \\t]*$`, "gim");
/** Where the prompt's template has opened the block already, the answer begins inside it. */
const OPENED_BEFORE = new RegExp(`^[\\s\\S]*?(?:^|\\n)[ \\t]*</(?:${NAMES})>[ \\t]*(?:\\n|$)`, "i");
const OPENING = new RegExp(`<(?:${NAMES})>`, "i");

/**
 * The answer without its reasoning: blocks at its beginning, an unfinished one included, and blocks on lines of their own.
 * A tag in the middle of a sentence is part of the answer, which may be about such tags.
 */
export function withoutReasoning(answer: string): string {
  let text = answer;
  const before = OPENED_BEFORE.exec(text);
  if (before !== null && !OPENING.test(before[0])) text = text.slice(before[0].length);
  for (let found = LEADING.exec(text); found !== null; found = LEADING.exec(text)) text = text.slice(found[0].length);
  return text.replaceAll(ON_OWN_LINES, "").trim();
}
