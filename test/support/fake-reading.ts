/** What an operator reads of a memory with one session, one message, one summary of it and one wiki page. */

import type { Application } from "../../runtime/app/api.ts";
import { MemoryError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { RowSession, ShownRow } from "../../runtime/contracts/reading.ts";
import type { MessageRecord } from "../../runtime/contracts/records.ts";

export const MESSAGE_ID = "01980000-0000-7000-8000-000000000001";
export const SUMMARY_ID = "01980000-0000-7000-8000-0000000000aa";

const SESSION: RowSession = {
  session_key: "main:agent:terminal:",
  conversation_id: "01980000-0000-7000-8000-0000000000cc",
  name: "terminal",
  agent: "main",
  channel: "agent",
  user: "",
  opened_by: "turn",
};

const message = (id: string, content: string): MessageRecord => ({
  id,
  conversation_id: SESSION.conversation_id,
  agent: "main",
  channel: "agent",
  role: "user",
  content,
  tool_name: null,
  tool_args: null,
  tool_result: null,
  metadata: {},
  created_at: "2026-01-05T10:00:00.000Z",
});

const PAGE = { slug: "bees", title: "Bees", updated: "2026-01-05T10:00:00.000Z", statements: 1 };

export function createFakeReading(): Application["reading"] {
  return {
    async sessions({ of, agent = "main", limit }) {
      const counts = { conversations: 2, messages: 7 };
      const times = { created_at: "2026-01-01T10:00:00.000Z", last_at: "2026-01-05T10:00:00.000Z" };
      return [{ ...SESSION, agent, title: `${of}, at most ${limit}`, ...counts, ...times }];
    },
    async show({ id, around }): Promise<ShownRow> {
      if (id === MESSAGE_ID) {
        const after = Array.from({ length: around }, (_, n) => message(`after-${n}`, "later"));
        return { kind: "message", session: SESSION, message: message(id, "hello"), missing: null, before: [], after };
      }
      if (id !== SUMMARY_ID) throw new MemoryError("MEMORY_NOT_FOUND", "There is no such row.");
      const summary = {
        id,
        conversation_id: SESSION.conversation_id,
        parent_id: null,
        depth: 0,
        summary_kind: "leaf",
        content: "A greeting.",
        message_count: 1,
        earliest_at: "2026-01-05T10:00:00.000Z",
        latest_at: "2026-01-05T10:00:00.000Z",
        model: "tiny",
        created_at: "2026-01-05T11:00:00.000Z",
      } as const;
      return { kind: "summary", session: SESSION, summary, children: [], sources: [message(MESSAGE_ID, "hello")] };
    },
    wiki: async (agent) => ({ agent, enabled: true, pages: [PAGE] }),
    async wikiPage(agent, page) {
      if (page !== PAGE.slug) throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no such page.");
      return { agent, ...PAGE, text: "# Bees\n" };
    },
  };
}
