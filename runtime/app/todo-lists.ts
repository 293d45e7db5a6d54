/** The agents' lists of what is to be done: one a conversation, beside its settings. */

import type { Database } from "../contracts/database.ts";
import { ToolError } from "../contracts/errors.ts";
import type { TodoItem } from "../contracts/records.ts";
import { sanitizeJson } from "../domain/cap.ts";
import { lockSession } from "./transcript/writer.ts";

export interface TodoLists {
  /** Durable when it resolves. TOOL_FAILED where the session has no open conversation: /new has ended it meanwhile. */
  replace(sessionKey: string, items: readonly TodoItem[]): Promise<void>;
}

export function createTodoLists(database: Database): TodoLists {
  return {
    async replace(sessionKey, items) {
      const count = await database.transaction(async (tx) => {
        // A command that changes the settings at the same time reads and writes all of them.
        await lockSession(tx, sessionKey);
        const written = await tx.query(
          `/* todo:replace */ update conversations
           set settings = case when $2::jsonb = '[]' then settings - 'todo' else jsonb_set(settings, '{todo}', $2::jsonb) end
           where session_key = $1 and opened_by = 'turn' and active`,
          [sessionKey, JSON.stringify(sanitizeJson(items))],
        );
        return written.count;
      });
      if (count === 0)
        throw new ToolError("TOOL_FAILED", "The conversation was closed meanwhile: it has no list any more.");
    },
  };
}
