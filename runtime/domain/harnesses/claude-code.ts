/**
 * A line of a Claude Code session (`projects/<directory>/<session>.jsonl`) as events: pure. A message of the model is
 * written as one line a block, a tool's result as a line of the user; every line has a uuid, which the event ids rest on.
 */

import { isRecord } from "../../contracts/values.ts";
import { NOTHING, plainText, type SessionEvent, type SessionPiece, text, timeOf } from "./event.ts";

/** Lines of other types are bookkeeping of the program itself. */
export function claudeCodeLine(line: unknown): SessionPiece {
  if (!isRecord(line)) return NOTHING;
  switch (line["type"]) {
    case "user":
    case "assistant":
      return conversation(line, line["type"]);
    case "system":
      return systemLine(line);
    case "custom-title":
      return titled(line["customTitle"] ?? line["title"]);
    case "ai-title":
      return titled(line["aiTitle"] ?? line["title"]);
    case "summary":
      return titled(line["summary"]);
    default:
      return NOTHING;
  }
}

/** Whether this is a line of such a file at all. */
export function isClaudeCodeLine(line: unknown): boolean {
  return isRecord(line) && typeof line["type"] === "string" && (isRecord(line["message"]) || "sessionId" in line);
}

type TranscriptLine = Readonly<Record<string, unknown>>;

function conversation(line: TranscriptLine, type: "user" | "assistant"): SessionPiece {
  const { message, uuid } = line;
  if (!isRecord(message) || typeof uuid !== "string" || uuid === "") return NOTHING;
  // What the program adds in the user's name (caveats, reminders, the summary after a compaction) is no message.
  const role = line["isMeta"] === true || line["isCompactSummary"] === true ? "system" : type;
  const content = message["content"];
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [{ type: "text", text: text(content) }];
  const events: SessionEvent[] = [];
  let reasoning = "";
  blocks.forEach((block, n) => {
    if (!isRecord(block)) return;
    if (block["type"] === "thinking" || block["type"] === "redacted_thinking") reasoning += text(block["thinking"]);
    else events.push(...blockEvents(block, n, { line, uuid, role }));
  });
  return { events, ...(reasoning === "" ? {} : { reasoning }) };
}

interface LineContext {
  readonly line: TranscriptLine;
  readonly uuid: string;
  readonly role: "user" | "assistant" | "system";
}

function blockEvents(block: TranscriptLine, n: number, { line, uuid, role }: LineContext): SessionEvent[] {
  const createdAt = timeOf(line["timestamp"]);
  const common = { event_id: `${uuid}:${n}`, ...(createdAt ? { created_at: createdAt } : {}) };
  const sidechain = line["isSidechain"] === true ? { sidechain: true } : {};
  if (block["type"] === "tool_use") {
    const metadata = { tool_call_id: text(block["id"]), ...sidechain };
    const args = { tool_name: text(block["name"]).trim() || "unknown", tool_args: block["input"] };
    return [{ ...common, role: "assistant", ...args, metadata }];
  }
  if (block["type"] === "tool_result") {
    const failed = block["is_error"] === true ? { is_error: true } : {};
    const metadata = { tool_call_id: text(block["tool_use_id"]), ...failed, ...sidechain };
    return [{ ...common, role: "tool", tool_result: plainText(block["content"]), metadata }];
  }
  const content = plainText([block]);
  return content.trim() === "" ? [] : [{ ...common, role, content, metadata: sidechain }];
}

function systemLine(line: TranscriptLine): SessionPiece {
  const content = text(line["content"]);
  const uuid = text(line["uuid"]);
  if (content.trim() === "" || uuid === "") return NOTHING;
  const createdAt = timeOf(line["timestamp"]);
  const metadata = typeof line["subtype"] === "string" ? { subtype: line["subtype"] } : {};
  const at = createdAt ? { created_at: createdAt } : {};
  return { events: [{ event_id: `${uuid}:0`, role: "system", content, ...at, metadata }] };
}

function titled(title: unknown): SessionPiece {
  return text(title).trim() === "" ? NOTHING : { events: [], title: text(title).trim() };
}
