/** Error codes of the operating system and the network, in words, with what helps. Pure. */

interface SystemWords {
  readonly reason: string;
  readonly hint: string;
}

const PERMISSIONS = "Run it as the user who owns that place, or correct its permissions.";
const ROOM = "Make room there, and run it again.";

const WORDS: Readonly<Record<string, SystemWords>> = {
  EACCES: { reason: "this user may not do that there", hint: PERMISSIONS },
  EPERM: { reason: "this user may not do that there", hint: PERMISSIONS },
  EROFS: {
    reason: "that file system is read-only",
    hint: "Set SERVICE_HOME or --dir to a directory that can be written.",
  },
  ENOSPC: { reason: "the disk is full", hint: ROOM },
  EDQUOT: { reason: "the quota is used up", hint: ROOM },
  ENOTDIR: {
    reason: "a part of that path is a file, no directory",
    hint: "Choose another path, or move that file out of the way.",
  },
  EISDIR: { reason: "it is a directory, no file", hint: "Name the file itself." },
  ENOENT: { reason: "it is not there", hint: "Check the path." },
  ELOOP: { reason: "its links lead in a circle", hint: "Correct the link." },
  ENAMETOOLONG: { reason: "the name is too long", hint: "Choose a shorter path." },
  EMFILE: { reason: "too many files are open", hint: "Raise the limit of open files (`ulimit -n`)." },
  EIO: { reason: "the disk does not answer as it should", hint: "Look at the system's log (`dmesg`)." },
};

/** `reason` begins with the system's own code; `hint` is undefined where nothing is known to help. */
export function systemWords(error: unknown): { readonly reason: string; readonly hint: string | undefined } {
  const code = codeOf(error) ?? "unknown error";
  const translated = Object.hasOwn(WORDS, code) ? WORDS[code] : undefined;
  return { reason: translated === undefined ? code : `${code}: ${translated.reason}`, hint: translated?.hint };
}

/** The `code` of an error of the system or of a library ("ENOENT", "28P01"); undefined where it has none. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The first `code` of an error and its causes: fetch's own error says only that it failed. */
export function causeCodeOf(error: unknown): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = innerOf(at)) {
    const code = codeOf(at);
    if (code !== undefined) return code;
  }
  return undefined;
}

/** Why a request came to nothing: the system's code (`ECONNREFUSED`, `ENOTFOUND`), else the innermost message. */
export function networkReason(error: unknown): string {
  const code = causeCodeOf(error);
  if (code !== undefined) return code;
  let reason = "connection failed";
  for (let at: unknown = error; at instanceof Error; at = innerOf(at)) reason = at.message || reason;
  return reason;
}

/** A host with several addresses fails once for each of them. */
function innerOf(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause;
}
