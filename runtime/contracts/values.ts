/** Looking into values of unknown shape: what was parsed, and what was thrown. Pure. */

/** An object that is no array: something with keys to look at. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The `code` of an error of the system or of a library ("ENOENT"); undefined where it has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** The first `code` in the chain of causes: fetch says "fetch failed" and hides the rest in the cause. */
export function causeCodeOf(error: unknown): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = codeOf(at);
    if (code !== undefined) return code;
  }
  return undefined;
}
