import type { ClientConfig } from "pg";
import { MemoryError } from "../../../contracts/errors.ts";
import {
  DEFAULT_LOCK_TIMEOUT_MS,
  DEFAULT_STATEMENT_TIMEOUT_MS,
  IDLE_IN_TRANSACTION_TIMEOUT_MS,
} from "../wire/session.ts";
import { columnTypes } from "../wire/types.ts";

/** How a client is configured; nothing here ever repeats the connection string, which holds a password. */

const SESSION_OPTIONS = [
  ["statement_timeout", DEFAULT_STATEMENT_TIMEOUT_MS],
  ["lock_timeout", DEFAULT_LOCK_TIMEOUT_MS],
  ["idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_TIMEOUT_MS],
  ["timezone", "UTC"],
  // Statements here are short: compiling one takes longer than running it, up to seconds where the planner guesses high.
  ["jit", "off"],
] as const;

/** Settings of a session that is ours alone: the server applies them before the first statement. */
export function directSettings(connectionString: string): ClientConfig {
  const url = new URL(connectionString);
  const given = url.searchParams.getAll("options");
  url.searchParams.delete("options");
  const own = SESSION_OPTIONS.map(([name, value]) => `-c ${name}=${value}`);
  return { ...common(url.href), options: [...given, ...own].join(" ") };
}

/** Settings of a session that a pooler lends: poolers refuse startup options, so each transaction sets its own. */
export function pooledSettings(connectionString: string): ClientConfig {
  return common(connectionString);
}

/** Refuses what is no PostgreSQL URL, without showing it. */
export function assertConnectionString(value: string, name: string): void {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol === "postgres:" || url?.protocol === "postgresql:") return;
  throw new MemoryError("MEMORY_INVALID_ARGUMENT", `${name} is not a URL of the form postgresql://user@host/database.`);
}

function common(connectionString: string): ClientConfig {
  return {
    connectionString,
    application_name: "cairn",
    types: columnTypes(),
    keepAlive: true,
    // Statements are sent without waiting for the answers of the ones before: BEGIN costs no round trip.
    pipeline: true,
  };
}
