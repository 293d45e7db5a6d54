import { type ErrorDetails, MemoryError } from "../../../contracts/errors.ts";
import { codeOf } from "../../../contracts/system-errors.ts";

/** The one place where a driver's failure becomes a MemoryError; the driver's own error stays its cause. */

const NETWORK_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
]);

/** The driver raises these without a code. */
const CONNECTION_MESSAGES = [
  "Connection terminated",
  "timeout exceeded when trying to connect",
  "timeout expired",
  "Client has encountered a connection error and is not queryable",
  "Client was closed and is not queryable",
  "Cannot use a pool after calling end on the pool",
  "The server does not support SSL connections",
];

export function toMemoryError(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const code = codeOf(error);
  const details: ErrorDetails = { cause: error };
  const said = error instanceof Error ? error.message : String(error);

  if (code === "57014")
    return new MemoryError("MEMORY_TIMEOUT", "The statement ran into its deadline and was ended.", details);
  if (code === "25P03" || code === "25P04") {
    return new MemoryError("MEMORY_TIMEOUT", "The transaction was open for too long and was rolled back.", details);
  }
  if (code === "55P03") return new MemoryError("MEMORY_LOCK_TIMEOUT", "A lock was not released in time.", details);
  if (code === "40P01" || code === "40001") {
    return new MemoryError("MEMORY_LOCK_TIMEOUT", "The transaction gave way to another one.", details);
  }
  if (code === "53100" || code === "ENOSPC" || code === "EDQUOT") {
    return storeFull(details.cause);
  }
  if (isConnectionLoss(code, said)) {
    return new MemoryError("MEMORY_UNAVAILABLE", `The database cannot be reached: ${firstLine(said)}`, {
      ...details,
      ...hintFor(code),
    });
  }
  return new MemoryError("MEMORY_QUERY_FAILED", `The database refused a statement: ${firstLine(said)}`, details);
}

/** SQLSTATE of the driver's error behind a MemoryError (or of the error itself), where there is one. */
export function sqlStateOf(error: unknown): string | undefined {
  if (error instanceof MemoryError) return sqlStateOf(error.details.cause);
  const code = codeOf(error);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !NETWORK_CODES.has(code) ? code : undefined;
}

function isConnectionLoss(code: string | undefined, message: string): boolean {
  if (code === undefined) return CONNECTION_MESSAGES.some((prefix) => message.startsWith(prefix));
  return (
    NETWORK_CODES.has(code) ||
    code.startsWith("08") ||
    code.startsWith("28") ||
    code.startsWith("57P0") ||
    code === "53300" ||
    code === "3D000"
  );
}

function hintFor(code: string | undefined): ErrorDetails {
  if (code?.startsWith("28")) return { hint: "Check user and password of the connection string." };
  if (code === "3D000") return { hint: "Create the database that the connection string names." };
  if (code === "53300") return { hint: "Raise max_connections of the server, or lower the pools of the nodes." };
  return {};
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] || "no reason given";
}

/** No room on the disk of the database: what asked is refused, and nothing of what was accepted is lost. */
export function storeFull(cause: unknown): MemoryError {
  const hint = "Make room there: nothing is accepted until then, and what was accepted is kept.";
  return new MemoryError("MEMORY_STORE_FULL", "The disk of the store is full.", { cause, hint });
}
