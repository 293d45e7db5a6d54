/** What flows between commands. */

/** What a command reads or prints. */
export type Stream =
  | { readonly kind: "none" }
  /** Possible texts; with the mark of unknown text where only a run could show it. */
  | { readonly kind: "text"; readonly texts: readonly string[] }
  /** The content of a file that was there before. */
  | { readonly kind: "file" }
  /** What a program prints, of which nothing is known, or only what the names in it may look like (`find`, `ls`). */
  | { readonly kind: "program"; readonly program: string; readonly names?: string };

export const NOTHING: Stream = { kind: "none" };
export const SILENCE: Stream = { kind: "text", texts: [""] };

export function textStream(...texts: readonly string[]): Stream {
  return { kind: "text", texts };
}
