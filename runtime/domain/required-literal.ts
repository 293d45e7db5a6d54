/**
 * The longest text that everything that a regular expression matches must hold: a file without it needs no further search.
 * Only ASCII, which is the same bytes in every encoding of a text file but UTF-16. Pure.
 */

/** A shorter one is in nearly every file. */
const SHORTEST = 3;

/** `pattern`: valid with the flag `u`. Null where nothing long enough is certain. */
export function requiredLiteral(pattern: string): string | null {
  let longest = "";
  let run = "";
  const close = (): void => {
    if (run.length > longest.length) longest = run;
    run = "";
  };
  for (let at = 0; at < pattern.length; ) {
    const unit = pattern[at] ?? "";
    if (unit === "|") return null;
    const atom = atomAt(pattern, at);
    const quantifier = /^(?:[*+?]|\{(\d+)(?:,\d*)?\})\??/.exec(pattern.slice(atom.end));
    at = atom.end + (quantifier?.[0].length ?? 0);
    const isOptional = quantifier !== null && (/^[*?]/.test(quantifier[0]) || Number(quantifier[1]) === 0);
    if (atom.literal === null || isOptional) {
      close();
    } else {
      run += atom.literal;
      if (quantifier !== null) close();
    }
  }
  close();
  return longest.length >= SHORTEST ? longest : null;
}

interface Atom {
  /** The character that it stands for; null for anything else. */
  readonly literal: string | null;
  readonly end: number;
}

function atomAt(pattern: string, at: number): Atom {
  const unit = pattern[at] ?? "";
  if (unit === "\\") return escapeAt(pattern, at);
  if (unit === "[") return { literal: null, end: endOfClass(pattern, at) };
  if (unit === "(") return { literal: null, end: endOfGroup(pattern, at) };
  const isPlain = /[\x20-\x7e\t]/.test(unit) && !/[.^$]/.test(unit);
  return { literal: isPlain ? unit : null, end: at + 1 };
}

function escapeAt(pattern: string, at: number): Atom {
  const [whole = "\\"] =
    /^\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|[pP]\{[^}]*\}|k<[^>]*>|c[a-z]|\d+|.)/isu.exec(pattern.slice(at)) ??
    [];
  const isLiteral = whole.length === 2 && /[\^$\\.*+?()[\]{}|/-]/.test(whole[1] ?? "");
  return { literal: isLiteral ? (whole[1] ?? null) : null, end: at + whole.length };
}

function endOfClass(pattern: string, start: number): number {
  for (let at = start + 1; at < pattern.length; at += 1) {
    if (pattern[at] === "\\") at += 1;
    else if (pattern[at] === "]") return at + 1;
  }
  return pattern.length;
}

function endOfGroup(pattern: string, start: number): number {
  let depth = 0;
  for (let at = start; at < pattern.length; at += 1) {
    const unit = pattern[at];
    if (unit === "\\") at += 1;
    else if (unit === "[") at = endOfClass(pattern, at) - 1;
    else if (unit === "(") depth += 1;
    else if (unit === ")" && --depth === 0) return at + 1;
  }
  return pattern.length;
}
