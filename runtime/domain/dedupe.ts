import { createHash } from "node:crypto";
import { type Json, sanitize } from "./cap.ts";

/**
 * Dedupe keys of transcript rows (specification, "Writer convention" and "Memory tools"): an event id where the writer
 * gives one, else a hash of the content. Keys of different kinds start differently and can never meet.
 */

/** Writers without an event id; the same words through two of them are two messages. */
export type HashDomain = "append" | "ingest" | "capture" | "turn";

export interface Said {
  readonly role: string;
  readonly content: string;
  readonly toolName?: string | null | undefined;
  readonly toolArgs?: unknown;
  readonly toolResult?: string | null | undefined;
}

/** Longer event ids are hashed: the key is indexed. */
const MAX_PLAIN_EVENT_ID = 200;

/**
 * Key of a message: the event id, or the hash when that is absent or blank.
 * `said` is the message before it is cut. The domain `ingest` needs the ordinal of the message in its transcript.
 */
export function dedupeKey(
  said: Said,
  from: { readonly domain: HashDomain; readonly ordinal?: number; readonly eventId?: string | null | undefined },
): string {
  return eventKey(from.eventId) ?? contentKey(said, from.domain, from.ordinal);
}

/** Key of an event id; undefined when the id is absent or blank. */
export function eventKey(eventId: string | null | undefined): string | undefined {
  if (eventId === undefined || eventId === null || eventId.trim() === "") return undefined;
  const plain = eventId.length <= MAX_PLAIN_EVENT_ID && sanitize(eventId) === eventId;
  return plain ? `event:${eventId}` : `event-sha256:${sha256(JSON.stringify(eventId))}`;
}

/** Key of a row that a turn writes; `step` is `user`, or names the step of the turn that the row comes from. */
export function turnKey(turnId: string, step: string | number): string {
  return `turn:${turnId}:${step}`;
}

/** Key of the content. Repeats collapse, except in the domain `ingest`, where the ordinal separates them. */
export function contentKey(said: Said, domain: HashDomain, ordinal?: number): string {
  // A JSON array frames its members without ambiguity, and null (absent) differs from every string.
  const framed = JSON.stringify([
    domain,
    domain === "ingest" ? (ordinal ?? 0) : null,
    said.role,
    said.content,
    said.toolName ?? null,
    said.toolArgs === undefined || said.toolArgs === null ? null : canonicalJson(said.toolArgs),
    said.toolResult ?? null,
  ]);
  return `${domain}-sha256:${sha256(framed)}`;
}

/** JSON text that is the same for equal values, whatever the order of their members. */
export function canonicalJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, member: unknown) => (typeof member === "bigint" ? String(member) : member));
  return text === undefined ? "null" : ordered(JSON.parse(text) as Json);
}

function ordered(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(ordered).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${ordered(member)}`);
  return `{${members.join(",")}}`;
}

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}
