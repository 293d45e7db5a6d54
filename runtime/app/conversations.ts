/** A session's conversations: /new closes the active one, the next message opens another with the same settings. */

import type { Database } from "../contracts/database.ts";
import type { HookPipeline } from "./hooks.ts";
import { lockSession } from "./transcript/writer.ts";

export interface Conversations {
  /** The id of the conversation that was closed, or null when the session had none open. Its messages stay as they are. */
  close(sessionKey: string, agent: string): Promise<string | null>;
}

export function createConversations(deps: { database: Database; hooks: HookPipeline }): Conversations {
  return {
    async close(sessionKey, agent) {
      const id = await deps.database.transaction(async (tx) => {
        await lockSession(tx, sessionKey);
        const { rows } = await tx.query<{ id: string }>(
          "/* conversation:close */ update conversations set active = false, updated_at = now() where session_key = $1 and active returning id",
          [sessionKey],
        );
        return rows[0]?.id ?? null;
      });
      if (id !== null) await deps.hooks.run("session:end", { agent, sessionKey, conversationId: id });
      return id;
    },
  };
}
