/** The memory as an operator reads it: sessions, single rows, the agents' wikis. */

import type { Database } from "../contracts/database.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { SessionRecord, SessionsQuery, ShownRow, WikiList, WikiPage } from "../contracts/reading.ts";
import type { Recover } from "./recall/disk/recover.ts";
import { listSessions } from "./recall/sessions.ts";
import { type ShowRequest, showRow } from "./recall/show.ts";
import type { WikiPages } from "./wiki/pages.ts";

export interface MemoryReading {
  /** Those that were written to last first. */
  sessions(query: SessionsQuery): Promise<readonly SessionRecord[]>;
  /** MEMORY_NOT_FOUND, or MEMORY_INVALID_ARGUMENT for the beginning of several ids. */
  show(request: ShowRequest): Promise<ShownRow>;
  /** RUNTIME_AGENT_UNKNOWN, RUNTIME_NOT_FOUND where the agent's workspace is on another node. */
  wiki(agent: string): Promise<WikiList>;
  /** By its name or its title. RUNTIME_NOT_FOUND where there is no such page. */
  wikiPage(agent: string, page: string): Promise<WikiPage>;
}

export interface MemoryReadingDeps {
  readonly database: Database;
  /** Follows the disk pointers of captured rows. */
  readonly recover?: Recover;
  /** By the agent; null where its workspace is on another node. */
  readonly wikis: ReadonlyMap<string, Pick<WikiPages, "list" | "read"> | null>;
  readonly wikiEnabled: boolean;
}

export function createMemoryReading({ database, recover, wikis, wikiEnabled }: MemoryReadingDeps): MemoryReading {
  function pagesOf(agent: string): Pick<WikiPages, "list" | "read"> {
    const pages = wikis.get(agent);
    if (pages === undefined) {
      throw new RuntimeError("RUNTIME_AGENT_UNKNOWN", `There is no agent "${agent}".`, {
        hint: `Agents: ${[...wikis.keys()].join(", ")}.`,
      });
    }
    if (pages === null) {
      throw new RuntimeError("RUNTIME_NOT_FOUND", `The workspace of ${agent}, and so its wiki, is on another node.`, {
        hint: "Ask that node: `--node NAME`.",
      });
    }
    return pages;
  }

  return {
    sessions: (query) => listSessions(database, query),
    show: (request) => showRow(database, request, recover),
    async wiki(agent) {
      return { agent, enabled: wikiEnabled, pages: await pagesOf(agent).list() };
    },
    async wikiPage(agent, page) {
      const found = await pagesOf(agent).read(page);
      if (found !== null) return { agent, ...found };
      throw new RuntimeError("RUNTIME_NOT_FOUND", `The wiki of ${agent} has no page "${page}".`, {
        hint: "`cairn memory wiki` lists the pages.",
      });
    },
  };
}
