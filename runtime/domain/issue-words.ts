/** What a schema refuses, in the caller's words: the validator's own are those of a programmer. Pure. */

/** An empty text is too short and blank at once: one of the two says it. */
export function withoutRepeats<One extends { readonly path: string }>(issues: readonly One[]): One[] {
  return issues.filter(({ path }, index) => issues.findIndex((issue) => issue.path === path) === index);
}

/** The validator's sentences speak of types and operators; what a rule of ours says stays. */
export function issueWords(message: string): string {
  for (const [pattern, words] of ISSUE_WORDS) {
    const found = pattern.exec(message);
    if (found) return words(found[1] ?? "", found[2] ?? "");
  }
  return message;
}

const ISSUE_WORDS: readonly (readonly [RegExp, (one: string, other: string) => string])[] = [
  [/^Too small: expected string to have >=1 characters$/, () => "must not be empty"],
  [
    /^Too small: expected (?:string|array) to have >=(\S+) (\w+)$/,
    (count, what) => `must have at least ${count} ${what}`,
  ],
  [/^Too big: expected (?:string|array) to have <=(\S+) (\w+)$/, (count, what) => `must have at most ${count} ${what}`],
  [/^Too small: expected \w+ to be >=?(\S+)$/, (bound) => `must be at least ${bound}`],
  [/^Too big: expected \w+ to be <=?(\S+)$/, (bound) => `must be at most ${bound}`],
  [/^Invalid input: expected (\w+), received undefined$/, (kind) => `is missing: ${kindWords(kind)}`],
  [/^Invalid input: expected (\w+), received (\w+)$/, (kind) => `must be ${kindWords(kind)}`],
  [/^Invalid option: expected one of (.+)$/, (options) => `must be one of ${options.replaceAll("|", ", ")}`],
  [/^Invalid input: expected (.+)$/, (value) => `must be ${value}`],
  [/^Unrecognized keys?: (.+)$/, (keys) => `has keys that are not known: ${keys}`],
  [/^Invalid input$/, () => "is not valid"],
];

function kindWords(kind: string): string {
  const names: Readonly<Record<string, string>> = { int: "a whole number", boolean: "true or false", string: "a text" };
  return names[kind] ?? (/^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`);
}
