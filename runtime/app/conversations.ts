/** A session's conversations: /new closes the active one, the next message opens another with the same settings. */

import type { Database } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import type { SessionEnd, SessionInfo } from "../contracts/hooks.ts";
import type { SessionSettings } from "../contracts/records.ts";
import { sanitizeJson } from "../domain/cap.ts";
import { parseSessionKey, type SessionParts } from "../domain/session-key.ts";
import type { HookPipeline } from "./hooks.ts";
import { lockSession, type Writer } from "./transcript/writer.ts";

export interface Conversations {
  /** Changes the session's settings in one step, so that of two commands at once none is lost; opens a conversation if need be. */
  changeSettings(session: Session, change: (settings: SessionSettings) => SessionSettings): Promise<SessionSettings>;
  /** The id of the conversation that was closed, or null when the session had none open. Its messages stay as they are. */
  close(session: Session, reason: SessionEnd): Promise<string | null>;
}

export interface Session {
  readonly key: string;
  /** Whether it is the owner who speaks in it. */
  readonly owner: boolean;
  /** Absolute path: where its turns work. */
  readonly workspace: string;
}

export interface ConversationsDeps {
  readonly database: Database;
  readonly hooks: HookPipeline;
  readonly writer: Writer;
}

export function createConversations(deps: ConversationsDeps): Conversations {
  return {
    async changeSettings(session, change) {
      const { key: sessionKey, owner } = session;
      const { agent, channel, conversation, user } = partsOf(session);
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
      if (created) await deps.hooks.run("session:start", infoOf(session, conversationId));
      return settings;
    },
    async close(session, reason) {
      const { key: sessionKey } = session;
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
      if (id !== null) await deps.hooks.run("session:end", { ...infoOf(session, id), reason });
      return id;
    },
  };
}

function partsOf({ key }: Session): SessionParts {
  const parts = parseSessionKey(key);
  if (parts === null) throw new MemoryError("MEMORY_NOT_FOUND", "There is no such session.");
  return parts;
}

function infoOf(session: Session, conversationId: string): SessionInfo {
  const { key: sessionKey, owner, workspace } = session;
  const { agent, channel, user } = partsOf(session);
  return { agent, sessionKey, conversationId, channel, user, owner, workspace };
}
