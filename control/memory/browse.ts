/** Pages of the transcript in the order of time. */

import type { Client } from "../../runtime/client/index.ts";
import { UsageError } from "../output/failure.ts";
import type { Mark } from "../output/terminal.ts";
import { type MessageRow, renderMessage } from "./render-rows.ts";
import { nameOf } from "./render-sessions.ts";

/** What the tool `memory_browse` returns. */
export interface BrowseResult {
  readonly messages: readonly (MessageRow & { readonly conversation_id: string })[];
  /** Null at the end. */
  readonly next_cursor: string | null;
  readonly looked_until?: string;
}

const MOST_SESSIONS = 1_000;

/** The key of the session of this name, or of this key. UsageError where there is none, or several have the name. */
export async function sessionKeyOf(
  client: Pick<Client, "sessions">,
  wanted: { readonly session: string; readonly agent: string | undefined },
  signal: AbortSignal,
): Promise<string> {
  const { session, agent } = wanted;
  // A name may have a colon, too; a key always has.
  const all = await client.sessions({ of: "conversation", agent, limit: MOST_SESSIONS }, { signal });
  const named = new Map(
    all.filter((one) => nameOf(one) === session || one.session_key === session).map((one) => [one.session_key, one]),
  );
  const [key, other] = named.keys();
  if (key !== undefined && other === undefined) return key;
  if (key !== undefined) {
    throw new UsageError(
      `Several sessions are called ${session}: ${[...named.keys()].join(", ")}.`,
      "Pass one of these keys, or --agent NAME.",
    );
  }
  // Older than those that were listed, or not there at all.
  if (session.includes(":")) return session;
  throw new UsageError(`There is no session ${session}.`, "See `cairn sessions` and `cairn memory sessions`.");
}

/** The page from its oldest row to its newest, whichever way it was read. */
export function renderPage({ messages, next_cursor: cursor, looked_until: until }: BrowseResult, mark: Mark): string {
  const rows = messages.toSorted((a, b) => (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0));
  const newestFirst = rows[0] !== messages[0];
  const shown = (newestFirst ? messages.toReversed() : messages).map((row) => renderMessage(row, mark));
  const reached = until === undefined ? "" : ` This page ends at ${until}.`;
  const more = cursor === null ? [] : [mark.dim(`There is more:${reached} --cursor ${cursor}`)];
  if (shown.length === 0)
    return [cursor === null ? "Nothing was found." : "Nothing was found yet.", ...more].join("\n");
  return [...shown, ...more].join("\n\n");
}
