/** What a search is, and what its thread answers. */

/** Where a search looks, and at what. */
export interface SearchScope {
  /** The workspace, resolved. */
  readonly root: string;
  /** Of the directory or file below the root that is searched. */
  readonly components: readonly string[];
  readonly isFile: boolean;
  /** Also hidden files, and those that .gitignore leaves out. */
  readonly all: boolean;
  /** Of paths below the directory; without a slash of names at any depth. Absent: every file. */
  readonly glob?: string;
  /** Absolute paths of the service's own files and directories: never entered. */
  readonly protectedPaths: readonly string[];
  /** Paths below the root, with `/`: only these files can match. Absent: every one can. */
  readonly only?: readonly string[];
}

export interface TextPattern {
  /** Of a regular expression with the flag `u`. */
  readonly source: string;
  readonly ignoreCase: boolean;
  /** A text that every match holds; null where none is certain. */
  readonly literal: string | null;
}

/** Which of the files a thread opens where several search together. */
export interface SearchShare {
  /** From 0. */
  readonly index: number;
  readonly of: number;
}

export type SearchTask = { readonly scope: SearchScope; readonly limit: number; readonly deadlineMs: number } & (
  | { readonly kind: "files" }
  | { readonly kind: "lines"; readonly pattern: TextPattern; readonly context: number; readonly filesOnly: boolean }
);

/** A line of a file, counting from 1; `isMatch` is false for one that only surrounds a match. */
export interface FoundLine {
  readonly number: number;
  readonly text: string;
  readonly isMatch: boolean;
}

export interface FoundFile {
  /** Below the root. */
  readonly components: readonly string[];
  /** Of a file with a second name: whether it is one of the service's own is still to be checked. */
  readonly linked?: { readonly dev: number; readonly ino: number; readonly nlink: number };
  readonly matches: number;
  /** Empty where only files are asked for. */
  readonly lines: readonly FoundLine[];
}

export interface SearchResult {
  readonly files: readonly FoundFile[];
  /** Matching lines that are shown; of a search for files, files that match in all. */
  readonly matches: number;
  /** Why there may be more: the limit was reached, the time was over. */
  readonly cut: "limit" | "time" | null;
  /** Files that were too large to be searched. */
  readonly large: number;
}
