import type { ClientBase, QueryResult as DriverResult, QueryConfig } from "pg";
import type { QueryResult } from "../../../contracts/database.ts";

/** What the shared Database needs of a backend: connections, handed out one user at a time. */

/** A connection while it is checked out. */
export interface Lease {
  readonly client: ClientBase;
  /**
   * Called when a statement got no answer within its deadline and the server did not end it by itself:
   * makes the connection fail now, so that every statement on it rejects.
   */
  abandon(): void;
  /**
   * Commits until the release need not reach the disk. Where it is missing, `synchronous_commit` is set (the server keeps what was
   * committed when it ends unexpectedly; without its own process nothing would write it later).
   */
  relax?(): void;
  /** What is sent until the running callback has ended leaves as one packet. */
  gather(): void;
  /** Gives the connection back; `broken` when its session must not be used again. */
  release(broken?: boolean): void;
}

export interface Connections {
  /** Waits its turn, first come first served; MEMORY_UNAVAILABLE when none is free or reachable within the deadline. */
  acquire(): Promise<Lease>;
  /** True when the server keeps a connection's session between transactions: settings and prepared statements hold. */
  readonly sessions: boolean;
  /**
   * Milliseconds that a statement's answer may come later than its own deadline before the connection is abandoned:
   * zero where nothing else enforces the deadline.
   */
  readonly graceMs: number;
  /** Whether the database is known to be there, without asking it: it may be busy. */
  alive(): boolean;
  /** Waits for the connections that are in use, for a while; then ends them. */
  close(): Promise<void>;
}

/** How long `close` waits for the work that is under way. */
export const CLOSE_TIMEOUT_MS = 10_000;

/** SQL and values as the driver takes them, with the answer in the contract's form. */
export function resultOf<Row>(answer: Answer): QueryResult<Row> {
  const parts = Array.isArray(answer) ? answer : [answer];
  // The caller declares what its SQL returns; the driver has no types.
  const rows = (parts.length === 1 ? (parts[0]?.rows ?? []) : parts.flatMap((part) => part.rows)) as Row[];
  const count = parts.reduce((sum, part) => sum + (part.rowCount ?? 0), 0);
  return { rows, count };
}

export type Statement = QueryConfig<unknown[]>;
/** An array for a message of several statements. */
export type Answer = DriverResult | DriverResult[];
