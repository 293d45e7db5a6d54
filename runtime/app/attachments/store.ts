/** Attachments of messages and replies: the bytes are in the store, which all nodes share, and only a turn that names them has them. */

import type { Database } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";
import { readAttachment } from "./chunks.ts";
import { moveHomeFiles, readHomeFile } from "./home-files.ts";
import type { AttachmentRef } from "./refs.ts";

export interface AttachmentStore {
  /**
   * Of the message or of a reply of this turn, and so of its agent and user; RUNTIME_FORBIDDEN for any other. Null when neither the
   * store nor this node's home has the bytes.
   */
  load(ref: Pick<AttachmentRef, "sha256">, turnId: string): Promise<Buffer | null>;
  /** Brings what earlier versions wrote to this node's home into the store. */
  moveHomeFiles(signal?: AbortSignal): Promise<void>;
}

export function createAttachmentStore(deps: {
  readonly database: Database;
  /** Of earlier versions' files. */
  readonly directory: string;
  readonly logger: Logger;
}): AttachmentStore {
  const { database, directory } = deps;
  return {
    async load({ sha256 }, turnId) {
      const { rows } = await database.query(NAMED, [turnId, JSON.stringify([{ sha256 }])]);
      if (rows.length === 0) {
        throw new RuntimeError("RUNTIME_FORBIDDEN", "The attachment is not one of this turn's.");
      }
      return (await readAttachment(database, sha256)) ?? (await readHomeFile(directory, sha256));
    },
    moveHomeFiles: (signal) => moveHomeFiles(deps, signal),
  };
}

const NAMED = `/* attachments:named */ select from turns t join inbox i on i.id = t.inbox_id
  where t.id = $1 and (i.attachments @> $2::jsonb
    or exists (select from outbox o where o.turn_id = t.id and o.payload -> 'attachments' @> $2::jsonb))`;
