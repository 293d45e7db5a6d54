/** Whether a text holds LaTeX: what models write for memory is plain Unicode (specification, "Memory-quality pipeline"). */

/** Paths (`C:\temp`), variables (`$HOME`), prices (`$5 and $6`) and regular expressions are none of these. */
const LATEX = [
  /\\(?:begin|end|frac|sqrt|text|textbf|textit|texttt|mathrm|mathbf|emph|cite|ref|label|section|left|right)\s*\{/,
  /\\(?:rightarrow|leftarrow|Rightarrow|times|cdot|leq|geq|neq|approx|alpha|beta|lambda|infty|ldots|sum|pm)\b/,
  // Inline mathematics: one run without a space at its edges, with a command, an exponent, an index or an equation in it.
  /\$[^\s$][^$\n]{0,200}[\\^_=][^$\n]{0,200}[^\s$]\$(?![\w{])/,
  /\$\$[^$]+\$\$/,
  /(?:^|\s)\\\([^\n]{1,200}?\\\)/,
  /(?:^|\s)\\\[[^\n]{1,200}?\\\]/,
];

export function holdsLatex(text: string): boolean {
  return LATEX.some((pattern) => pattern.test(text));
}

/** Every piece of LaTeX in a text, as it is written there. */
export function latexIn(text: string): string[] {
  return LATEX.flatMap((pattern) => [...text.matchAll(new RegExp(pattern, "g"))].map(([found]) => found));
}
