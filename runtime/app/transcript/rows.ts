import type { Issue } from "../../contracts/errors.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { NewId } from "../../contracts/ports.ts";
import { CAP, cap, type Json, sanitize, sanitizeJson } from "../../domain/cap.ts";
import type { WriteBatch, WriteEntry } from "./batch.ts";

/** From an entry to the row that is stored: validated, sanitized, cut, with its metadata and full payload. */

export interface Row {
  readonly id: string;
  readonly key: string;
  readonly role: string;
  readonly content: string;
  readonly tool_name: string | null;
  readonly tool_args: Json;
  readonly tool_result: string | null;
  readonly metadata: Json;
  readonly created_at: string;
  readonly payload: Payload | null;
}

interface Payload {
  readonly content: string | null;
  readonly tool_args: Json;
  readonly tool_result: string | null;
}

export interface Cuts {
  readonly truncated: boolean;
  readonly fullContentLength?: number;
  readonly fullToolResultLength?: number;
}

const ROLES: ReadonlySet<string> = new Set(["user", "assistant", "system", "tool"]);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Indexed columns: an index entry holds 2,700 bytes. */
const MAX_SESSION_KEY_BYTES = 2_000;
const MAX_TAG_BYTES = 1_000;
const MAX_KEY_BYTES = 2_000;

/** Throws MEMORY_INVALID_ARGUMENT with one issue for each thing that is wrong with the batch. */
export function validateBatch(batch: WriteBatch): void {
  const issues: Issue[] = [];
  const name = (path: string, value: string | undefined, max: number, required: boolean) => {
    if (required && (value === undefined || value.trim() === "")) issues.push({ path, message: "must not be empty" });
    else if (value !== undefined && Buffer.byteLength(value) > max)
      issues.push({ path, message: `must be at most ${max} bytes long` });
  };
  name("session_key", batch.sessionKey, MAX_SESSION_KEY_BYTES, true);
  name("agent", batch.agent, MAX_TAG_BYTES, true);
  name("channel", batch.channel, MAX_TAG_BYTES, true);
  name("user", batch.user, MAX_TAG_BYTES, false);
  batch.entries.forEach((entry, index) => {
    issues.push(...entryIssues(entry, `messages[${index}]`));
  });
  if (issues.length > 0) {
    const first = issues.map(({ path, message }) => `${path} ${message}`).slice(0, 3);
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", `The messages cannot be stored: ${first.join("; ")}.`, { issues });
  }
}

function entryIssues(entry: WriteEntry, path: string): Issue[] {
  const issues: Issue[] = [];
  if (!ROLES.has(entry.role)) {
    issues.push({ path: `${path}.role`, message: `must be one of ${[...ROLES].join(", ")}` });
  }
  if (entry.content === "" && !entry.toolName && (entry.toolResult === undefined || entry.toolResult === null)) {
    issues.push({ path: `${path}.content`, message: "may be empty only with tool_name or tool_result" });
  }
  if (entry.createdAt !== undefined && toTime(entry.createdAt) === null) {
    issues.push({ path: `${path}.created_at`, message: "must be an ISO 8601 time of the years 1 to 9999" });
  }
  if (entry.id !== undefined && !UUID.test(entry.id)) issues.push({ path: `${path}.id`, message: "must be a UUID" });
  if (entry.key === "" || Buffer.byteLength(entry.key) > MAX_KEY_BYTES) {
    issues.push({ path: `${path}.event_id`, message: `must be between 1 and ${MAX_KEY_BYTES} bytes long` });
  }
  return issues;
}

/** The row to store and what had to be cut from it. */
export function toRow(entry: WriteEntry, newId: NewId, now: Date): { readonly row: Row; readonly cuts: Cuts } {
  const content = cap(sanitize(entry.content), entry.cap ? CAP : Number.POSITIVE_INFINITY);
  const toolResult = typeof entry.toolResult === "string" ? cap(sanitize(entry.toolResult)) : null;
  const toolArgs = toJson(entry.toolArgs);
  const cuts: Cuts = {
    truncated: content.truncated || toolResult?.truncated === true,
    ...(content.truncated ? { fullContentLength: content.fullLength } : {}),
    ...(toolResult?.truncated ? { fullToolResultLength: toolResult.fullLength } : {}),
  };
  const row: Row = {
    id: entry.id ?? newId(),
    key: sanitize(entry.key),
    role: entry.role,
    content: content.text,
    tool_name: entry.toolName ? sanitize(entry.toolName) : null,
    tool_args: toolArgs,
    tool_result: toolResult?.text ?? null,
    metadata: metadataOf(entry, cuts),
    created_at: (toTime(entry.createdAt) ?? now).toISOString(),
    payload: null,
  };
  return { row: { ...row, payload: payloadOf(entry, row) }, cuts };
}

/** A hook may have cut before us and said how long the original was: the greater length is the original's. */
function metadataOf(entry: WriteEntry, cuts: Cuts): Json {
  const given = toJson(entry.metadata ?? {});
  const metadata: { readonly [key: string]: Json } =
    given === null || typeof given !== "object" || Array.isArray(given) ? {} : (given as { [key: string]: Json });
  if (!cuts.truncated) return metadata;
  const longest = (key: string, length: number | undefined) =>
    length === undefined ? {} : { [key]: Math.max(length, typeof metadata[key] === "number" ? metadata[key] : 0) };
  return {
    ...metadata,
    truncated: true,
    ...longest("full_content_length", cuts.fullContentLength),
    ...longest("full_tool_result_length", cuts.fullToolResultLength),
  };
}

/** Only what the row itself does not hold. */
function payloadOf(entry: WriteEntry, row: Row): Payload | null {
  if (entry.payload === undefined) return null;
  const differing = (full: string | undefined, stored: string | null) => {
    const text = full === undefined ? null : sanitize(full);
    return text === stored ? null : text;
  };
  const content = differing(entry.payload.content, row.content);
  const toolResult = differing(entry.payload.toolResult, row.tool_result);
  const args = toJson(entry.payload.toolArgs);
  const toolArgs = JSON.stringify(args) === JSON.stringify(row.tool_args) ? null : args;
  if (content === null && toolResult === null && toolArgs === null) return null;
  return { content, tool_args: toolArgs, tool_result: toolResult };
}

function toJson(value: unknown): Json {
  if (value === undefined || value === null) return null;
  try {
    return sanitizeJson(value);
  } catch (cause) {
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", "tool_args or metadata cannot be stored as JSON.", { cause });
  }
}

function toTime(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const time = new Date(text);
  const year = time.getUTCFullYear();
  return Number.isNaN(time.getTime()) || year < 1 || year > 9999 ? null : time;
}
