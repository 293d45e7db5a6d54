/** Batches as a coding assistant's hook sends them, and the route that takes them. */

import { type Agent, request } from "node:http";
import type { CaptureBatch, CaptureEvent } from "../../runtime/contracts/capture.ts";
import { type NodeProcess, TOKEN } from "../../test/support/node-process.ts";
import { messageText } from "./node.ts";

/** Of a batch. */
export const EVENTS = 500;

/** As a hook would send it: a question, calls of tools with their results, an answer; each with a pointer to its line. */
export function batchOf(client: number, n: number): CaptureBatch {
  const events = Array.from({ length: EVENTS }, (_, k): CaptureEvent => {
    const number = n * EVENTS + k;
    const common = {
      event_id: `${client}-${number}:0`,
      created_at: new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString(),
      metadata: { session_jsonl_path: `/home/ada/.claude/projects/shop/${client}.jsonl`, session_jsonl_line: number },
    };
    const text = messageText(client * 1_000_003 + number);
    if (k % 4 === 1) return { ...common, role: "assistant", tool_name: "Bash", tool_args: { command: text } };
    if (k % 4 === 2) return { ...common, role: "tool", tool_result: text.repeat(3) };
    return { ...common, role: k % 4 === 0 ? "user" : "assistant", content: text };
  });
  return {
    session_key: `claude-code:${client}`,
    agent: "claude-code",
    channel: "claude-code",
    source: "bench",
    events,
  };
}

/** Resolves when all of the batch are stored. */
export function post(node: NodeProcess, agent: Agent, body: string, signal: AbortSignal): Promise<void> {
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const options = { method: "POST", agent, headers, signal };
    const outgoing = request(new URL("/api/capture", node.url), options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.once("error", reject);
      response.once("end", () => {
        if (response.statusCode === 200 && text.includes(`"inserted":${EVENTS}`)) resolve();
        else reject(new Error(`The batch was not stored: ${response.statusCode} ${text.slice(0, 500)}`));
      });
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}
