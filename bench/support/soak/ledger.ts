/** What was sent and acknowledged, and the comparison with what is stored, row for row. */

import { createHash } from "node:crypto";
import type pg from "pg";

/** A row as it must stand in the store. */
export interface Sent {
  /** Stands at the head of the content, or in a tool call's arguments, so that the row is known by itself. */
  readonly mark: string;
  readonly sessionKey: string;
  readonly role: string;
  /** Empty of a tool call, which gets a sentence later. */
  readonly content: string;
  readonly toolName: string | null;
  readonly toolResult: string | null;
}

export interface Comparison {
  readonly sent: number;
  readonly stored: number;
  readonly missing: readonly string[];
  readonly doubled: readonly string[];
  readonly changed: readonly string[];
  /** Marked rows that nobody sent. */
  readonly unknown: readonly string[];
  /** Rows whose turn ended with an error, which need not be there. */
  readonly uncertain: { readonly sent: number; readonly stored: number };
}

export interface Ledger {
  /** Call when the row has been acknowledged. */
  acknowledged(row: Sent): void;
  /** Call when the row's turn has ended with an error: it may be stored then, once and as it was sent. */
  failed(row: Sent): void;
  readonly size: number;
  compare(client: pg.Client): Promise<Comparison>;
}

const MARK = /^\[([a-z]+-[0-9]+-[0-9]+)\]/;
const PAGE = 5_000;
/** What the model says of every tool call. */
export const SENTENCE = "The command ran and printed some text.";

export function mark(kind: string, writer: number, n: number): string {
  return `${kind}-${writer}-${n}`;
}

export function createLedger(): Ledger {
  // Hashes, not texts: hours of rows must fit in memory.
  const expected = new Map<string, string>();
  const uncertain = new Set<string>();
  return {
    acknowledged: (row) => void expected.set(row.mark, hashOf(row)),
    failed(row) {
      expected.set(row.mark, hashOf(row));
      uncertain.add(row.mark);
    },
    get size() {
      return expected.size - uncertain.size;
    },
    async compare(client) {
      const seen = new Map<string, number>();
      const changed: string[] = [];
      const unknown: string[] = [];
      let stored = 0;
      let after = "0";
      for (;;) {
        const { rows } = await client.query<Stored>(
          `select m.seq, c.session_key, m.role, m.content, m.tool_name, m.tool_result,
             m.tool_args ->> 'of' as of_mark
           from messages m join conversations c on c.id = m.conversation_id
           where m.seq > $1 order by m.seq limit ${PAGE}`,
          [after],
        );
        for (const row of rows) {
          const found = row.of_mark ?? MARK.exec(row.content)?.[1];
          if (found === undefined) continue;
          stored += 1;
          seen.set(found, (seen.get(found) ?? 0) + 1);
          const wanted = expected.get(found);
          if (wanted === undefined) unknown.push(found);
          else if (wanted !== hashOf(sentOf(found, row))) changed.push(found);
        }
        const last = rows.at(-1);
        if (last === undefined) break;
        after = last.seq;
      }
      return {
        sent: expected.size - uncertain.size,
        stored,
        missing: [...expected.keys()].filter((one) => !seen.has(one) && !uncertain.has(one)),
        doubled: [...seen].filter(([, times]) => times > 1).map(([one]) => one),
        changed,
        unknown,
        uncertain: { sent: uncertain.size, stored: [...uncertain].filter((one) => seen.has(one)).length },
      };
    },
  };
}

interface Stored {
  /** A bigint, as text. */
  readonly seq: string;
  readonly session_key: string;
  readonly role: string;
  readonly content: string;
  readonly tool_name: string | null;
  readonly tool_result: string | null;
  readonly of_mark: string | null;
}

function sentOf(found: string, row: Stored): Sent {
  return {
    mark: found,
    sessionKey: row.session_key,
    role: row.role,
    content: row.of_mark !== null && row.content === SENTENCE ? "" : row.content,
    toolName: row.tool_name,
    toolResult: row.tool_result,
  };
}

function hashOf({ sessionKey, role, content, toolName, toolResult }: Sent): string {
  return createHash("sha256")
    .update(JSON.stringify([sessionKey, role, content, toolName, toolResult]))
    .digest("base64");
}
