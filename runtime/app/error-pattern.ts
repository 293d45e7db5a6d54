import type { Database } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import { codeOf } from "../contracts/system-errors.ts";

/**
 * Rejects with MEMORY_INVALID_ARGUMENT when PostgreSQL takes the pattern for no regular expression. Without a failed row nothing
 * would look at it, and a typing error would pass for "nothing matched".
 */
export async function assertErrorPattern(database: Database, pattern: string): Promise<void> {
  try {
    await database.query("select '' ~* $1", [pattern]);
  } catch (error) {
    const cause = error instanceof MemoryError ? error.details.cause : undefined;
    // 22021: it holds what PostgreSQL's text cannot, such as NUL.
    if (!["2201B", "22021"].includes(codeOf(cause) ?? "")) throw error;
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", "The pattern is not a regular expression.", {
      cause,
      issues: [{ path: "error", message: "must be a regular expression" }],
    });
  }
}
