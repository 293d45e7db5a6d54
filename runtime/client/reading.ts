/** The routes that read the memory row by row as functions. */

import { type Connection, call, queryOf } from "./http.ts";
import type { CallOptions, SessionKind, SessionRecord, ShownRow, WikiList, WikiPage } from "./types.ts";

export interface ReadingCalls {
  /** Those that were written to last first. */
  sessions(
    query: { readonly of: SessionKind; readonly agent?: string | undefined; readonly limit?: number | undefined },
    options?: CallOptions,
  ): Promise<readonly SessionRecord[]>;
  /** A message or a summary by its id or the beginning of it, with `around` neighbours on each side of a message. */
  showRow(id: string, query?: { readonly around?: number | undefined }, options?: CallOptions): Promise<ShownRow>;
  wiki(agent: string, options?: CallOptions): Promise<WikiList>;
  /** By its slug or its title. */
  wikiPage(agent: string, page: string, options?: CallOptions): Promise<WikiPage>;
}

export function readingCalls(connection: Connection): ReadingCalls {
  const wiki = (agent: string) => `/api/admin/memory/wiki/${encodeURIComponent(agent)}`;
  return {
    async sessions({ limit, ...query }, given) {
      const path = `/api/admin/memory/sessions${queryOf({ ...query, limit: limit?.toString() })}`;
      const { sessions } = await call<{ sessions: readonly SessionRecord[] }>(connection, path, given);
      return sessions;
    },
    showRow: (id, { around } = {}, given) =>
      call(
        connection,
        `/api/admin/memory/rows/${encodeURIComponent(id)}${queryOf({ around: around?.toString() })}`,
        given,
      ),
    wiki: (agent, given) => call(connection, wiki(agent), given),
    wikiPage: (agent, page, given) => call(connection, `${wiki(agent)}/${encodeURIComponent(page)}`, given),
  };
}
