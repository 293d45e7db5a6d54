/** Texts as far as they are known without running anything: what is not is a mark in them. */

/** Mark of text that is computed while the command runs: it may be anything, and what depends on it is asked about. */
export const COMPUTED = "\u{e000}";
/**
 * Mark of a value that is not known and hides nothing: a number, a date, a revision, a name out of a listing, a variable
 * of the owner's. It may be empty.
 */
export const VALUE = "\u{e003}";
/** Begins the value of a process substitution; the text that it yields follows, as far as it is known. */
export const PROCESS = "\u{e001}";
/** The home directory, wherever it is. */
export const HOME = "/\u{e002}";

/** One of the marks, as it is or as an escape: nobody writes them. */
export const WRITTEN_MARK = /[\ue000-\ue003]|\\[uU]0*e00[0-3]/i;

/** More possible values than this are not kept apart. */
const MAX_ALTERNATIVES = 32;
const MAX_CHARS = 20_000;
/** A longer path names nothing: every program fails on it. */
export const MAX_PATH_CHARS = 4_096;

/** Without repetitions; too many, and texts that are too long to be followed, become computed. */
export function bounded(values: readonly string[]): readonly string[] {
  const distinct = [...new Set(values.map((value) => (value.length > MAX_CHARS ? COMPUTED : value)))];
  return distinct.length <= MAX_ALTERNATIVES ? distinct : [COMPUTED];
}

/** Every choice of one item a list; null when these are more than can be followed. */
export function choicesOf<Item>(lists: readonly (readonly Item[])[]): readonly (readonly Item[])[] | null {
  if (lists.reduce((product, { length }) => product * length, 1) > MAX_ALTERNATIVES) return null;
  let choices: Item[][] = [[]];
  for (const list of lists) {
    const [only] = list;
    // Most lists have one item: appended in place, a word of very many pieces does not take quadratic time.
    if (list.length === 1 && only !== undefined) for (const choice of choices) choice.push(only);
    else choices = choices.flatMap((choice) => list.map((item) => [...choice, item]));
  }
  return choices;
}

export function isMarked(text: string): boolean {
  return text.includes(COMPUTED) || text.includes(VALUE);
}
