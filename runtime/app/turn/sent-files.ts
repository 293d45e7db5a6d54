/** Files that turns send: in the store with the result of the call that sends them, and given out to those who may follow the turn. */

import type { Queryable, Transaction } from "../../contracts/database.ts";
import { RuntimeError, ToolError } from "../../contracts/errors.ts";
import type { NewId } from "../../contracts/ports.ts";
import type { SentAttachment } from "../../contracts/stream.ts";
import type { OutgoingFile } from "../../contracts/tool.ts";
import { sanitize } from "../../domain/cap.ts";
import { type FileLimits, fileProblem, MAX_FILES } from "../../domain/outgoing-file.ts";
import { readChunks, writeAttachments } from "../attachments/chunks.ts";
import { type AttachmentRef, hashOf, type ReceivedAttachment, SHA256 } from "../attachments/refs.ts";
import { type ClaimedTurn, type OutboxPayload, toJson, UUID } from "./turn-rows.ts";

export interface SentFile extends ReceivedAttachment {
  /** Empty: none. */
  readonly caption: string;
}

/** TOOL_INVALID_ARGUMENTS; TOOL_REFUSED where the turn has sent as many files as it may. */
export function checkedFile(file: OutgoingFile, limits: FileLimits, sentBefore: number): SentFile {
  const { name, mediaType, data, caption = "" } = file;
  const problem = fileProblem({ name, size: data.length }, limits);
  if (problem !== null) {
    const hint = data.length > limits.maxBytes ? { hint: "Compress it, or send a part of it." } : {};
    throw new ToolError("TOOL_INVALID_ARGUMENTS", `The file cannot be sent: ${problem}.`, hint);
  }
  if (sentBefore >= MAX_FILES) {
    throw new ToolError("TOOL_REFUSED", `A turn sends at most ${MAX_FILES} files.`, { hint: "Put several into one." });
  }
  const ref = { sha256: hashOf(data), name, media_type: mediaType, size: data.length };
  return { ref, data, caption: sanitize(caption) };
}

export function sentAttachment({ ref, caption }: Pick<SentFile, "ref" | "caption">): SentAttachment {
  return { ...ref, ...(caption === "" ? {} : { caption }) };
}

/** Each is a message of the turn: `n` is the step of the call that sends them, and the same step again is the same messages. */
export async function writeFiles(
  tx: Transaction,
  { turn, n, files, newId }: { turn: ClaimedTurn; n: number; files: readonly SentFile[]; newId: NewId },
): Promise<void> {
  await writeAttachments(tx, files);
  for (const [ordinal, { ref, caption }] of files.entries()) {
    const payload = {
      conversation: turn.conversation,
      user: turn.user,
      text: caption,
      notice: null,
      attachments: [ref],
    } satisfies OutboxPayload;
    await tx.query(
      `/* turn:file */ insert into outbox (id, turn_id, key, channel, agent, payload) values ($1, $2, $3, $4, $5, $6)
       on conflict (turn_id, key) do nothing`,
      [newId(), turn.turnId, `file:${n}:${ordinal}`, turn.channel, turn.agent, toJson(payload)],
    );
  }
}

/** Those that the turn of this id (an expression of SQL) has sent, as JSON in their order. */
export function filesOf(turnId: string): string {
  return `coalesce((select jsonb_agg(file || case when o.payload ->> 'text' = '' then '{}'
      else jsonb_build_object('caption', o.payload ->> 'text') end order by o.seq)
    from outbox o, jsonb_array_elements(o.payload -> 'attachments') as file
    where o.turn_id = ${turnId} and jsonb_typeof(o.payload -> 'attachments') = 'array'), '[]')`;
}

export async function listFiles(database: Queryable, turnId: string): Promise<readonly SentAttachment[]> {
  const { rows } = await database.query<{ files: readonly SentAttachment[] }>(
    `/* turn:files */ select ${filesOf("$1::uuid")} as files`,
    [turnId],
  );
  return rows[0]?.files ?? [];
}

export interface OpenedFile {
  readonly ref: AttachmentRef;
  readonly bytes: AsyncIterable<Buffer>;
}

/** One that the turn has sent. RUNTIME_NOT_FOUND for any other. */
export async function openFile(database: Queryable, turnId: string, sha256: string): Promise<OpenedFile> {
  const isName = UUID.test(turnId) && SHA256.test(sha256);
  const ref = isName ? (await listFiles(database, turnId)).find((file) => file.sha256 === sha256) : undefined;
  if (ref === undefined) throw new RuntimeError("RUNTIME_NOT_FOUND", "The turn has sent no such file.");
  return { ref, bytes: readChunks(database, sha256) };
}
