/**
 * Sends one query to a PostgreSQL server, over a connection of its own: a query that breaks the connection breaks no other
 * one's. Only facts of the server are queried; the tables are left to the node.
 */

import type { Client } from "pg";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";

export interface Asking {
  readonly probeMs: number;
  readonly signal: AbortSignal;
}

/** Rejects with the error of `pg`, or with the signal's reason. */
export async function askPostgres<Row extends object>(
  connectionString: string,
  sql: string,
  { probeMs, signal }: Asking,
): Promise<readonly Row[]> {
  const { default: pg } = await import("pg");
  signal.throwIfAborted();
  const client = new pg.Client({
    connectionString,
    application_name: "cairn-doctor",
    connectionTimeoutMillis: probeMs,
    query_timeout: probeMs,
  });
  // A connection that breaks while it is idle must not end the process.
  client.on("error", () => undefined);
  const onAbort = (): void => drop(client);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await client.connect();
    const { rows } = await client.query<Row>(sql);
    return rows;
  } catch (error) {
    throw signal.aborted ? new Error("the server does not answer in time", { cause: error }) : error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    drop(client);
  }
}

/** Without a farewell: a server that hangs would not answer it. */
function drop(client: Client): void {
  client.connection.stream.destroy();
}

/** What went wrong on the way to a server, and what to do about it. */
export function explainConnection(error: unknown): { readonly reason: string; readonly fix: string } {
  const code = codeIn(error);
  const said = error instanceof Error && error.message !== "" ? error.message : String(code ?? error);
  return { reason: said, fix: (code && FIXES[code]) ?? FIXES["other"] ?? "" };
}

/** Whether the way to the server failed, and not the query: a refusal of the query has a SQLSTATE of another class. */
export function isConnectionError(error: unknown): boolean {
  const code = codeIn(error);
  return code === undefined || !SQLSTATE.test(code) || CONNECTION_STATE.test(code);
}

const SQLSTATE = /^[0-9FHPX][0-9A-Z]{4}$/;
/** Connection exceptions, refused authorization, no such database, no connections left, the server ends. */
const CONNECTION_STATE = /^(?:08|28|3D000|53300|57P)/;

const FIXES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Start the PostgreSQL server, or correct host and port of the connection string (SERVICE_PG_URL).",
  ENOTFOUND: "Correct the host of the connection string (SERVICE_PG_URL): its name is not known here.",
  EAI_AGAIN: "The host's name cannot be looked up now: check the network and the name server.",
  "28P01": "Correct the password in the connection string (SERVICE_PG_URL).",
  "28000": "Let this user in by the server's pg_hba.conf, or correct the user of the connection string.",
  "3D000": "Create the database (`createdb NAME`), or correct its name in the connection string.",
  "53300": "Raise max_connections of the server, or lower memory.postgres.pool of its nodes.",
  "57P03": "The server is starting or stopping: wait, and look at its log.",
  other: "Check whether the server runs and whether this machine may reach it, and at the server's log.",
};

function codeIn(error: unknown): string | undefined {
  if (error instanceof AggregateError) return codeIn(error.errors[0]);
  return codeOf(error);
}
