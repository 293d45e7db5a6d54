/** Whether an English sentence is in the past tense. By its words alone: a guard against wrong answers, not a grammar. */

/** Past forms that do not end in "ed". */
const IRREGULAR = new Set(
  (
    "was were did had ran reran began gave forgave went underwent came became overcame saw wrote rewrote overwrote read reread " +
    "found got forgot took undertook made remade sent resent built rebuilt set reset preset put cut kept left lost met paid said " +
    "sold told thought understood held withheld hit led let brought bought caught chose drew withdrew fell felt fetched froze " +
    "grew heard hid knew laid rose shook showed shut slept spent split spun stood stopped stole stuck swept swung taught threw " +
    "tore undid won woke sought spread broke quit shrank sank sprang swam bound unbound rebound found fed fled flew fought hung " +
    "bent bet burst cast cost dealt drove fit forbade lent lit meant rode sang sat shot slid spoke struck swore wore wound"
  ).split(" "),
);
/** End in "ed" and are no past. */
const NOT_PAST = new Set(
  "need feed seed speed indeed embed red bed hundred shed exceed proceed succeed unneeded breed bleed weed reed deed heed greed creed agreed-upon unrelated wicked naked sacred kindred".split(
    " ",
  ),
);
const PRESENT = new Set(
  "is are am will shall can may must has have does do would should wants needs isn't aren't won't can't doesn't".split(
    " ",
  ),
);
/** What a sentence in the present or an instruction begins with. */
const TOOL_VERBS =
  /^(?:run|execute|search|call|use|invoke|fetch|open|create|delete|remove|edit|update|find|get|list|make|send|show|check|try|return|retrieve|install|perform|query|look|load|save|print|write|start|stop|add|append|apply|ask|analy[sz]e|attempt|commit|copy|download|explain|inspect|move|provide|push|pull|request|review|summari[sz]e|verify|view)(?:e?s)?$/;

/** The first verb that is recognised decides. What is quoted or in backticks is ignored. */
export function isPastTense(sentence: string): boolean {
  const words = withoutQuotes(sentence)
    .toLowerCase()
    .replace(/[’]/g, "'")
    .match(/[a-z][a-z']*(?:-[a-z]+)*|[^\s]+/g);
  if (words === null) return false;
  for (const [index, word] of words.entries()) {
    if (isPast(word)) return true;
    if (PRESENT.has(word)) return false;
    const subject = words[index - 1];
    const begins =
      index === 0 ||
      (subject !== undefined && /^(?:agent|assistant|tool|it|user|model|he|she|they|i|we|you)$/.test(subject));
    // "The tool calls made ..." is no present: its verb comes next.
    const next = words[index + 1];
    if (begins && TOOL_VERBS.test(word) && !(next !== undefined && isPast(next))) return false;
  }
  return false;
}

function isPast(word: string): boolean {
  return IRREGULAR.has(word) || (/^[a-z]{2,}(?:-[a-z]+)?ed$/.test(word) && !NOT_PAST.has(word));
}

function withoutQuotes(text: string): string {
  return text.replace(/`[^`]*`/g, "x").replace(/"[^"]*"|“[^”]*”|(?<!\w)'[^']*'(?!\w)/g, "x");
}
