/**
 * A line of a Codex session (`sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`) as events: pure. The file holds what goes
 * to and comes from the model (`response_item`) and, apart from it, what the screen shows; only the first is read, since it has
 * everything once. Lines have no ids, and the file only grows: a line's number is its id.
 */

import { isRecord } from "../../contracts/values.ts";
import { NOTHING, plainText, type SessionEvent, type SessionPiece, text, timeOf } from "./event.ts";

/** `number` is the line's, from 1. */
export function codexLine(line: unknown, number: number): SessionPiece {
  if (!isRecord(line) || line["type"] !== "response_item" || !isRecord(line["payload"])) return NOTHING;
  const item = line["payload"];
  const createdAt = timeOf(line["timestamp"]);
  const common = { event_id: `line:${number}`, ...(createdAt ? { created_at: createdAt } : {}) };
  const one = (event: Omit<SessionEvent, "event_id" | "created_at">): SessionPiece => ({
    events: [{ ...common, ...event }],
  });
  const call = { tool_call_id: text(item["call_id"]) };
  switch (item["type"]) {
    case "message": {
      const content = plainText(item["content"]);
      return content.trim() === "" ? NOTHING : one({ role: roleOf(item["role"], content), content, metadata: {} });
    }
    case "reasoning": {
      const reasoning = [plainText(item["summary"]), plainText(item["content"])].filter(Boolean).join("\n");
      return reasoning === "" ? NOTHING : { events: [], reasoning };
    }
    case "function_call":
      return one({ role: "assistant", ...named(item), tool_args: parsed(item["arguments"]), metadata: call });
    case "custom_tool_call":
      return one({ role: "assistant", ...named(item), tool_args: item["input"], metadata: call });
    case "local_shell_call":
      return one({ role: "assistant", tool_name: "local_shell", tool_args: item["action"], metadata: call });
    case "web_search_call":
      return one({ role: "assistant", tool_name: "web_search", tool_args: item["action"], metadata: call });
    case "function_call_output":
    case "custom_tool_call_output":
      return one({ role: "tool", tool_result: plainText(item["output"]), metadata: call });
    default:
      return NOTHING;
  }
}

/** Whether this is a line of such a file at all. */
export function isCodexLine(line: unknown): boolean {
  return isRecord(line) && typeof line["type"] === "string" && isRecord(line["payload"]);
}

/** What Codex adds in the user's name is wrapped in tags of its own. */
const SCAFFOLDING =
  /^\s*<(environment_context|user_instructions|permissions instructions|INSTRUCTIONS|turn_aborted|skill|collaboration_mode)>/;

function roleOf(role: unknown, content: string): "user" | "assistant" | "system" {
  if (role === "assistant") return "assistant";
  return role === "user" && !SCAFFOLDING.test(content) ? "user" : "system";
}

function named(item: Readonly<Record<string, unknown>>): { readonly tool_name: string } {
  return { tool_name: text(item["name"]).trim() || "unknown" };
}

/** Arguments are JSON in a string; what is none stays the string. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
