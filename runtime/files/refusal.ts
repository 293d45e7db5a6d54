/** Why a file below a directory that others may write to is not used. */

import { codeOf } from "../contracts/system-errors.ts";

/** In words that fit after the file's name and a colon. */
const WORDS = {
  symlink: "it is a symbolic link, or is reached through one",
  hard_link: "it has a second name (hard link), which may lie elsewhere",
  directory: "it is a directory",
  special: "it is a device, a pipe or a socket",
  too_large: "it is too large",
  not_text: "it is no text",
} as const;

export type RefusalReason = keyof typeof WORDS;

/** Carries no content of the file. */
export class FileRefused extends Error {
  override name = "FileRefused";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string = WORDS[reason]) {
    super(message);
    this.reason = reason;
  }
}

/** Words for the log: the reason of a refusal, or the system's code. Rethrows what is neither. */
export function refusalOf(error: unknown): string {
  if (error instanceof FileRefused) return error.message;
  const code = codeOf(error);
  if (code === undefined) throw error;
  // A directory that is opened without following links is met with one of these where a link took its place.
  if (code === "ELOOP" || code === "ENOTDIR") return "a part of its path is a symbolic link or no directory";
  return `it cannot be read (${code})`;
}
