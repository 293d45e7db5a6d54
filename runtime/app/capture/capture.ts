/** The canonical way of a coding assistant's session into the memory (specification, "HTTP routes", capture). */

import {
  type CaptureBatch,
  type CaptureEvent,
  type CaptureResult,
  MAX_CAPTURE_EVENTS,
} from "../../contracts/capture.ts";
import { type Issue, MemoryError, RuntimeError } from "../../contracts/errors.ts";
import { sanitizeJson } from "../../domain/cap.ts";
import { eventKey } from "../../domain/dedupe.ts";
import { tagIssues } from "../../domain/memory-tags.ts";
import { parseInstant } from "../../domain/time-window.ts";
import type { WriteEntry } from "../transcript/batch.ts";
import { refuseTurnSession } from "../transcript/turn-sessions.ts";
import type { Writer } from "../transcript/writer.ts";

export interface Capture {
  /**
   * Stores all events of the batch or none, in one transaction: lock, dedupe, insert, finalize. MEMORY_INVALID_ARGUMENT
   * names every event that cannot be stored, RUNTIME_BODY_TOO_LARGE is for more than 1,000 of them.
   */
  store(batch: CaptureBatch): Promise<CaptureResult>;
}

export interface CaptureDeps {
  readonly writer: Pick<Writer, "write">;
  /** IANA name; times without an offset are meant there. */
  readonly timezone: string;
  /** Names of the agents that have turns of their own. */
  readonly agents: ReadonlySet<string>;
}

export function createCapture({ writer, timezone, agents }: CaptureDeps): Capture {
  return {
    async store(batch) {
      if (batch.events.length > MAX_CAPTURE_EVENTS) {
        throw new RuntimeError("RUNTIME_BODY_TOO_LARGE", `A batch has at most ${MAX_CAPTURE_EVENTS} events.`, {
          hint: "Send the session in several batches, in order.",
        });
      }
      const refused = refuseTurnSession(batch.session_key, agents);
      if (refused !== null) throw invalid([refused]);
      const { agent, channel, source, title } = batch;
      const wrong = tagIssues({ agent, channel, source: source?.trim(), title: title?.trim() });
      if (wrong.length > 0) throw invalid(wrong);
      const finalize = batch.finalize === true;
      if (batch.events.length === 0 && !finalize) {
        throw invalid([{ path: "events", message: "must not be empty unless finalize is true" }]);
      }
      const { conversationId, rows } = await write(writer, batch, entriesOf(batch, timezone), finalize);
      const stored = rows.filter(({ inserted }) => inserted);
      return {
        conversation_id: conversationId,
        inserted: stored.length,
        deduplicated: rows.length - stored.length,
        truncated: stored.filter(({ truncated }) => truncated).length,
        finalized: finalize,
      };
    },
  };
}

async function write(
  writer: Pick<Writer, "write">,
  batch: CaptureBatch,
  entries: readonly WriteEntry[],
  finalize: boolean,
) {
  try {
    return await writer.write({
      sessionKey: batch.session_key,
      agent: batch.agent,
      channel: batch.channel,
      openedBy: "capture",
      title: batch.title?.trim() || undefined,
      entries,
      finalize,
    });
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code !== "MEMORY_INVALID_ARGUMENT") throw error;
    // The writer's errors are about its entries: they are translated to the events.
    const issues = error.details.issues?.map(({ path, message }) => ({ path: eventPath(path), message }));
    throw invalid(issues ?? unstorable(batch.events));
  }
}

/** MEMORY_INVALID_ARGUMENT with an issue for every event that is wrong. */
function entriesOf({ events, source }: CaptureBatch, timezone: string): WriteEntry[] {
  const issues: Issue[] = [];
  const from = source?.trim();
  const entries = events.map((event, n): WriteEntry => {
    const { content, tool_name: toolName, tool_args: toolArgs, tool_result: toolResult, created_at: at } = event;
    const createdAt = typeof at === "string" ? parseInstant(at, timezone) : undefined;
    if (createdAt === null)
      issues.push({ path: `events.${n}.created_at`, message: "must be an ISO 8601 date or time" });
    return {
      role: event.role,
      content: content ?? "",
      toolName: toolName?.trim() ? toolName : undefined,
      toolArgs,
      toolResult,
      metadata: from ? { ...event.metadata, source: from } : (event.metadata ?? undefined),
      createdAt: createdAt?.toISOString(),
      // An id that is blank is none, and the writer refuses an event without.
      key: eventKey(event.event_id) ?? "",
      cap: true,
    };
  });
  if (issues.length > 0) throw invalid(issues);
  return entries;
}

/** What is wrong where the writer could not say which entry it was. */
function unstorable(events: readonly CaptureEvent[]): Issue[] {
  return events.flatMap((event, n) =>
    (["tool_args", "metadata"] as const).flatMap((name) => {
      try {
        sanitizeJson(event[name]);
        return [];
      } catch {
        return [{ path: `events.${n}.${name}`, message: "cannot be stored as JSON: it nests too deep" }];
      }
    }),
  );
}

/** `messages[3].role` of the writer is `events.3.role` here. */
function eventPath(path: string): string {
  return path.replace(/^messages\[(\d+)\]/, "events.$1");
}

function invalid(issues: readonly Issue[]): MemoryError {
  const said = issues
    .slice(0, 3)
    .map(({ path, message }) => `${path}: ${message}`)
    .join("; ");
  const more = issues.length > 3 ? `; and ${issues.length - 3} more` : "";
  return new MemoryError("MEMORY_INVALID_ARGUMENT", `Nothing of the batch was stored: ${said}${more}.`, {
    issues: issues.slice(0, 20),
  });
}
