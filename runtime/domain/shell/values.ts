/** Texts as far as they are known without running anything: what is not is a mark in them. */

/** Mark of text that is computed while the command runs: it may be anything, and what depends on it is asked about. */
export const COMPUTED = "\u{e000}";
/**
 * Mark of a value that is not known and hides nothing: a number, a date, a revision, a name out of a listing, a variable
 * of the owner's. It may be empty.
 */
export const VALUE = "\u{e003}";
/** What stands for a process substitution. */
export const PROCESS = "\u{e001}";
/** The home directory, wherever it is. */
export const HOME = "/\u{e002}";

/** One of the marks, as it is or as an escape: nobody writes them. */
export const WRITTEN_MARK = /[\ue000-\ue003]|\\[uU]0*e00[0-3]/i;
/** A longer path names nothing: every program fails on it. */
export const MAX_PATH_CHARS = 4_096;

export function isMarked(text: string): boolean {
  return text.includes(COMPUTED) || text.includes(VALUE);
}
