/**
 * A part of an OpenCode message (tables `message` and `part` of its SQLite database, JSON in `data`) as events: pure. A tool
 * part holds the call and its result, so that it is one event, once the tool has ended.
 */

import { isRecord } from "../../contracts/values.ts";
import { NOTHING, type SessionEvent, type SessionPiece, text, timeOf } from "./event.ts";

export interface OpenCodePart {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly timeCreated: number;
  readonly data: unknown;
  /** Of the message that it belongs to. */
  readonly message: unknown;
}

export function openCodePart({ id, timeCreated, data, message }: OpenCodePart): SessionPiece {
  if (!isRecord(data)) return NOTHING;
  const role = isRecord(message) && message["role"] === "assistant" ? "assistant" : "user";
  const createdAt = timeOf(startOf(data) ?? timeCreated);
  const common = { event_id: id, ...(createdAt ? { created_at: createdAt } : {}) };
  const one = (event: Omit<SessionEvent, "event_id" | "created_at">): SessionPiece => ({
    events: [{ ...common, ...event }],
  });
  switch (data["type"]) {
    case "text": {
      const content = text(data["text"]);
      if (content.trim() === "") return NOTHING;
      // Synthetic text is what the program adds to a message: the files that were attached, reminders.
      return one({ role: data["synthetic"] === true ? "system" : role, content, metadata: {} });
    }
    case "reasoning":
      return text(data["text"]) === "" ? NOTHING : { events: [], reasoning: text(data["text"]) };
    case "tool":
      return toolEvent(data, one);
    case "file": {
      const name = text(data["filename"]) || text(data["mime"]) || "file";
      return one({ role, content: `[file: ${name}]`, metadata: {} });
    }
    default:
      return NOTHING;
  }
}

/** Whether nothing of the message will change any more. */
export function isCompleteMessage(message: unknown): boolean {
  if (!isRecord(message)) return true;
  if (message["role"] !== "assistant" || "error" in message) return true;
  const time = message["time"];
  return isRecord(time) && typeof time["completed"] === "number";
}

function toolEvent(
  data: Readonly<Record<string, unknown>>,
  one: (event: Omit<SessionEvent, "event_id" | "created_at">) => SessionPiece,
): SessionPiece {
  const state = isRecord(data["state"]) ? data["state"] : {};
  const ended = state["status"] === "completed" || state["status"] === "error";
  const failed = state["status"] === "error" ? { is_error: true } : {};
  return one({
    role: "assistant",
    tool_name: text(data["tool"]).trim() || "unknown",
    tool_args: state["input"],
    ...(ended ? { tool_result: text(state["status"] === "error" ? state["error"] : state["output"]) } : {}),
    metadata: { tool_call_id: text(data["callID"]), ...failed, ...(ended ? {} : { unfinished: true }) },
  });
}

function startOf(data: Readonly<Record<string, unknown>>): number | undefined {
  const state = data["state"];
  const time = isRecord(state) && isRecord(state["time"]) ? state["time"] : data["time"];
  return isRecord(time) && typeof time["start"] === "number" ? time["start"] : undefined;
}
