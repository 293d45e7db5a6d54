/**
 * Identifiers in system messages (specification, "Memory-quality pipeline"): pull requests, commits, skills, line counts,
 * versions, paths and their like. A summary has to repeat them character for character.
 */

const PATTERNS: readonly RegExp[] = [
  /\bhttps?:\/\/[^\s<>"'`)\]}]+[^\s<>"'`)\]}.,;:!?]/g,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  // Pull requests and issues: `#12`, `PR 12`, `owner/name#12`, `!12`.
  /(?<![\w&#])(?:[\w.-]+\/[\w.-]+)?#\d{1,7}\b/g,
  /\b(?:PR|MR|pull request|merge request|issue)s? \d{1,7}\b/gi,
  // Tickets: `ABC-123`.
  /(?<![\w-])[A-Z][A-Z0-9]{1,9}-\d{1,7}\b(?!-)/g,
  // Commits: hexadecimal, with a digit and a letter in it, unless it is a whole hash.
  /(?<![\w-])(?:sha(?:1|256):)?(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b(?!-)/g,
  // Versions: `v1.2`, `1.2.3`, `1.2.3-rc.1`.
  /(?<![\w.])v\d+(?:\.\d+){1,3}(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?(?:\+[\w.]+)?\b/g,
  /(?<![\w.-])\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?(?:\+[\w.]+)?\b(?!\.\d)/g,
  // Counts of lines, files and changes: `120 lines`, `3 files changed`, `+12/-3`, `+12 -3`.
  /(?<![\w,.])\d[\d,]{0,11} (?:lines?|files?|insertions?|deletions?|additions?|commits?|tests?)(?: (?:changed|added|removed|deleted|passed|failed))?\b/gi,
  /(?<![\w+])\+\d+ ?\/? ?[-\u2212]\d+\b/g,
  /\b[Ll]ines? \d+(?:[-\u2013]\d+)?\b|\bL\d+(?:-L?\d+)?\b/g,
  // Skills, by the text around their names.
  /(?<=\bskills?:? ["'`\u201c])[\w][\w.:/-]*(?=["'`\u201d])/gi,
  /(?<=["'`\u201c])[\w][\w.:/-]*(?=["'`\u201d] skill\b)/gi,
  /(?<=\bskills?(?: named| called)?:? )[a-z0-9]+(?:[-_:][a-z0-9]+)+/g,
  /(?<![\w-])[a-z0-9]{1,40}(?:[-_][a-z0-9]{1,40}){1,8}(?= skill\b)/g,
  // Paths: absolute, relative, of a home directory, of Windows; and files in directories.
  /(?<![\w/:.~-])(?:~|\.{1,2})?\/(?:[\w.@+-]+\/)*[\w.@+-]*[\w@+-]/g,
  /\b[A-Za-z]:\\(?:[\w.@+ -]+\\)*[\w.@+-]+/g,
  /(?<![\w/:.@~+-])(?:[\w.@+-]+\/)+[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}\b/g,
  // Files by their usual endings.
  /(?<![\w/.@+-])[\w@+-][\w.@+-]*\.(?:ts|tsx|js|jsx|mjs|cjs|json|jsonl|ya?ml|toml|md|py|rb|go|rs|java|kt|c|h|cpp|hpp|cs|sh|sql|html|css|txt|log|csv|lock|ini|conf|env)\b/g,
];

/** A single slash, and words that only join two others. */
const NO_IDENTIFIER = /^(?:\/|\/\w|and\/or|n\/a)$/i;

interface Found {
  readonly at: number;
  readonly text: string;
}

/** Longer runs without a blank are data (base64, minified code), which the patterns need not be tried on. */
const DATA = /\S{400,}/g;

/** Every identifier of a text once, as it is written there, in order of appearance; a part of a longer one is left out. */
export function identifiersIn(text: string): string[] {
  const scanned = text.replaceAll(DATA, (run) => " ".repeat(run.length));
  const found: Found[] = PATTERNS.flatMap((pattern) =>
    [...scanned.matchAll(pattern)].map((match) => ({ at: match.index, text: match[0] })),
  ).filter((one) => !NO_IDENTIFIER.test(one.text) && isSeparate(scanned, one.at, one.text));
  found.sort((a, b) => a.at - b.at || b.text.length - a.text.length);
  const result = new Set<string>();
  let end = -1;
  for (const one of found) {
    if (one.at < end) continue;
    end = one.at + one.text.length;
    result.add(one.text);
  }
  return [...result];
}

/** Those that the text does not hold character for character, as whole identifiers: `#12` is not in `#123`. */
export function missingFrom(text: string, identifiers: readonly string[]): string[] {
  const flat = text.replaceAll(/\s+/g, " ");
  return identifiers.filter((identifier) => !holds(flat, identifier.replaceAll(/\s+/g, " ")));
}

function holds(text: string, identifier: string): boolean {
  for (let at = text.indexOf(identifier); at >= 0; at = text.indexOf(identifier, at + 1)) {
    if (isSeparate(text, at, identifier)) return true;
  }
  return false;
}

function isSeparate(text: string, at: number, part: string): boolean {
  return !joins(text[at - 1], part[0]) && !joins(part.at(-1), text[at + part.length]);
}

/** Whether two characters side by side belong to one word. */
function joins(left: string | undefined, right: string | undefined): boolean {
  return left !== undefined && right !== undefined && /[\p{L}\p{N}_]/u.test(left) && /[\p{L}\p{N}_]/u.test(right);
}

/** What a model can only make up: links, hashes and long numbers that its input does not hold. */
const EXACT: readonly RegExp[] = PATTERNS.slice(0, 2);
const HASH = /(?<![\w-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b(?!-)/g;
const NUMBERED = /(?<![\w&])#(\d{2,7})\b/g;

/** Identifiers of an answer that occur nowhere in what it was made from. */
export function inventedIn(answer: string, source: string): string[] {
  const lowered = source.toLowerCase();
  const claimed = [
    ...[...EXACT, HASH].flatMap((pattern) => [...answer.matchAll(pattern)].map(([text]) => [text, text] as const)),
    ...[...answer.matchAll(NUMBERED)].map(([text, digits = ""]) => [text, digits] as const),
  ];
  return [...new Set(claimed.filter(([, core]) => !lowered.includes(core.toLowerCase())).map(([text]) => text))];
}
