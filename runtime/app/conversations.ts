/** A session's conversations: /new closes the active one, the next message opens another with the same settings. */

import type { Database } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import type { SessionSettings } from "../contracts/records.ts";
import { sanitizeJson } from "../domain/cap.ts";
import { parseSessionKey } from "../domain/session-key.ts";
import type { HookPipeline } from "./hooks.ts";
import { lockSession, type Writer } from "./transcript/writer.ts";

export interface Conversations {
  /** Changes the session's settings in one step, so that of two commands at once none is lost; opens a conversation if need be. */
  changeSettings(
    session: { readonly key: string; readonly owner: boolean },
    change: (settings: SessionSettings) => SessionSettings,
  ): Promise<SessionSettings>;
  /** The id of the conversation that was closed, or null when the session had none open. Its messages stay as they are. */
  close(sessionKey: string, agent: string): Promise<string | null>;
}

export interface ConversationsDeps {
  readonly database: Database;
  readonly hooks: HookPipeline;
  readonly writer: Writer;
}

export function createConversations(deps: ConversationsDeps): Conversations {
  return {
    async changeSettings({ key: sessionKey, owner }, change) {
      const parts = parseSessionKey(sessionKey);
      if (parts === null) throw new MemoryError("MEMORY_NOT_FOUND", "There is no such session.");
      const { agent, channel, conversation, user } = parts;
      const opened = await deps.database.transaction(async (tx) => {
        // Opens the conversation where there is none, and holds the session's lock from here on.
        const { conversationId, created } = await deps.writer.writeIn(tx, {
          sessionKey,
          agent,
          channel,
          channelId: conversation,
          user,
          openedBy: "turn",
          byOwner: owner,
          entries: [],
        });
        const { rows } = await tx.query<{ settings: SessionSettings }>(
          "/* conversation:settings */ select settings from conversations where id = $1",
          [conversationId],
        );
        const settings = change(rows[0]?.settings ?? {});
        await tx.query("update conversations set settings = $2, updated_at = now() where id = $1", [
          conversationId,
          JSON.stringify(sanitizeJson(settings)),
        ]);
        return { settings, conversationId, created };
      });
      const { settings, conversationId, created } = opened;
      if (created) await deps.hooks.run("session:start", { agent, sessionKey, conversationId });
      return settings;
    },
    async close(sessionKey, agent) {
      const id = await deps.database.transaction(async (tx) => {
        await lockSession(tx, sessionKey);
        const { rows } = await tx.query<{ id: string }>(
          "/* conversation:close */ update conversations set active = false, updated_at = now() where session_key = $1 and opened_by = 'turn' and active returning id",
          [sessionKey],
        );
        const closed = rows[0]?.id ?? null;
        if (closed !== null) await tx.query("delete from prompt_summaries where conversation_id = $1", [closed]);
        return closed;
      });
      if (id !== null) await deps.hooks.run("session:end", { agent, sessionKey, conversationId: id });
      return id;
    },
  };
}
