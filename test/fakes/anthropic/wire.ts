import type { IncomingHttpHeaders } from "node:http";
import { isRecord } from "../../../runtime/contracts/values.ts";
import { argumentsOf, chunksOf, type FakeReply, fragments, type RequestView } from "../shared/script.ts";
import { contentText, records, tokensIn, type Wire, type WireError } from "../shared/wire.ts";

/** The messages API on the wire: https://docs.anthropic.com/en/api/messages-streaming */
export const anthropicWire: Wire = {
  name: "anthropic",
  chatPath: "/v1/messages",
  basePath: "",
  keyOf: (headers) => headers["x-api-key"]?.toString() ?? headers.authorization?.replace(/^Bearer /, ""),
  view,
  check,
  frames,
  document,
  errorBody: (error) => ({
    type: "error",
    error: { type: typeOf(error), message: error.message },
    request_id: "req_fake",
  }),
  errorFrame: ({ message, type }) => frame({ type: "error", error: { type, message } }),
  other(method, path, body) {
    if (method === "GET" && path === "/v1/models") {
      const model = {
        type: "model",
        id: "claude-fake",
        display_name: "Claude Fake",
        created_at: "2026-01-01T00:00:00Z",
      };
      return { data: [model], has_more: false, first_id: model.id, last_id: model.id };
    }
    if (method === "POST" && path === "/v1/messages/count_tokens")
      return { input_tokens: tokensIn(view(body).texts.join("")) };
    return undefined;
  },
};

function blocks(content: unknown): Record<string, unknown>[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : records(content);
}

/** Text of the user. Messages of the user that follow each other are blocks of one; marked system text is not the user's. */
function isSpoken(block: Record<string, unknown>): boolean {
  return block["type"] === "text" && !String(block["text"]).startsWith("[System message]");
}

function view(body: unknown): RequestView {
  const request = isRecord(body) ? body : {};
  const messages = records(request["messages"]);
  const newest = messages.findLastIndex(
    (message) =>
      message["role"] === "user" && !blocks(message["content"]).some((block) => block["type"] === "tool_result"),
  );
  const after = messages.slice(newest + 1);
  const textOf = (block: Record<string, unknown>): string =>
    block["type"] === "tool_result" ? contentText(block["content"]) : contentText([block]);
  return {
    model: String(request["model"] ?? ""),
    stream: request["stream"] === true,
    system: [request["system"], ...messages.filter((message) => message["role"] === "system").map((m) => m["content"])]
      .map(contentText)
      .filter((text) => text !== "")
      .join("\n\n"),
    lastUser: contentText(blocks(messages[newest]?.["content"]).filter(isSpoken).slice(-1)),
    step: after.filter((message) => message["role"] === "assistant").length,
    results: after
      .flatMap((message) => blocks(message["content"]))
      .filter((block) => block["type"] === "tool_result")
      .map((block) => ({ id: String(block["tool_use_id"]), text: contentText(block["content"]) })),
    texts: messages.flatMap((message) => blocks(message["content"]).map(textOf)),
    toolNames: records(request["tools"]).map((tool) => String(tool["name"])),
  };
}

function check(body: unknown, headers: IncomingHttpHeaders): WireError | undefined {
  const refuse = (message: string): WireError => ({ status: 400, message });
  if (headers["anthropic-version"] === undefined) return refuse("anthropic-version: header is required");
  if (!isRecord(body)) return refuse("The request body is not valid JSON");
  const limit = body["max_tokens"];
  if (typeof limit !== "number" || limit < 1) return refuse("max_tokens: Field required");
  const thinking = isRecord(body["thinking"]) ? body["thinking"] : { type: "disabled" };
  if (thinking["type"] === "enabled") {
    const budget = Number(thinking["budget_tokens"]);
    if (budget < 1024) return refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
    if (budget >= limit) return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  if (thinking["type"] !== "disabled" && (body["temperature"] ?? 1) !== 1) {
    return refuse("`temperature` may only be set to 1 when thinking is enabled.");
  }
  const marked = JSON.stringify(body).match(/"cache_control":/g)?.length ?? 0;
  if (marked > 4) return refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marked}.`);
  return checkMessages(records(body["messages"]), records(body["tools"]), thinking["type"] === "enabled");
}

const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

function checkMessages(
  messages: readonly Record<string, unknown>[],
  tools: readonly Record<string, unknown>[],
  thinks: boolean,
): WireError | undefined {
  const refuse = (message: string): WireError => ({ status: 400, message });
  if (messages[0]?.["role"] !== "user") return refuse('messages: first message must use the "user" role');
  if (messages.at(-1)?.["role"] === "assistant") {
    return refuse(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  }
  const ids = new Set<string>();
  const turn = messages.findLastIndex(
    (message) =>
      message["role"] === "user" && !blocks(message["content"]).some((block) => block["type"] === "tool_result"),
  );
  for (const [index, message] of messages.entries()) {
    const [before, behind] = [messages[index - 1]?.["role"], messages[index + 1]?.["role"]];
    if (message["role"] === "system" && (before !== "user" || (behind !== undefined && behind !== "assistant"))) {
      return refuse(
        `messages.${index}: system messages must follow a user message and be last or followed by an assistant message.`,
      );
    }
    const parts = blocks(message["content"]);
    if (parts.length === 0) return refuse(`messages.${index}: all messages must have non-empty content`);
    for (const part of parts) {
      if (part["type"] === "text" && String(part["text"]).trim() === "") {
        return refuse("messages: text content blocks must contain non-whitespace text");
      }
    }
    const images = [...parts, ...parts.flatMap((part) => records(part["content"]))].flatMap(({ source }) =>
      isRecord(source) ? [String(source["media_type"])] : [],
    );
    if (images.some((type) => !IMAGES.includes(type))) {
      return refuse(
        `messages.${index}.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
      );
    }
    const uses = parts.filter((part) => part["type"] === "tool_use").map((part) => String(part["id"]));
    if (uses.some((id) => !/^[\w-]+$/.test(id)))
      return refuse("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'");
    if (uses.length > 0 && tools.length === 0)
      return refuse("Requests which include `tool_use` blocks must define tools.");
    for (const id of uses) {
      if (ids.has(id)) return refuse("messages: `tool_use` ids must be unique");
      ids.add(id);
    }
    if (thinks && index > turn && uses.length > 0 && !/thinking/.test(String(parts[0]?.["type"]))) {
      return refuse(
        `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`.`,
      );
    }
    const next = blocks(messages[index + 1]?.["content"]);
    const answered = next.filter((part) => part["type"] === "tool_result").map((part) => String(part["tool_use_id"]));
    const missing = uses.filter((id) => !answered.includes(id));
    if (missing.length > 0) {
      return refuse(
        `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}.`,
      );
    }
    const firstOther = next.findIndex((part) => part["type"] !== "tool_result");
    if (uses.length > 0 && firstOther !== -1 && next.slice(firstOther).some((part) => part["type"] === "tool_result")) {
      return refuse(`messages.${index + 1}: tool_result blocks must come first in the content.`);
    }
    const stray = answered.filter((id) => !uses.includes(id));
    if (stray.length > 0)
      return refuse(`messages.${index + 1}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}.`);
  }
  return undefined;
}

function frames(reply: FakeReply, request: RequestView, number: number): string[] {
  const usage = usageOf(reply, request);
  const message = {
    id: `msg_fake${number}`,
    type: "message",
    role: "assistant",
    model: request.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  };
  const body: string[] = [];
  for (const [index, block] of contentOf(reply, number).entries()) {
    body.push(frame({ type: "content_block_start", index, content_block: block.start }));
    body.push(...block.deltas.map((delta) => frame({ type: "content_block_delta", index, delta })));
    body.push(frame({ type: "content_block_stop", index }));
  }
  return [
    frame({ type: "message_start", message }),
    frame({ type: "ping" }),
    ...body,
    frame({
      type: "message_delta",
      delta: { stop_reason: stopOf(reply), stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    }),
    frame({ type: "message_stop" }),
  ];
}

interface Block {
  readonly start: object;
  readonly deltas: readonly object[];
  readonly whole: object;
}

function contentOf(reply: FakeReply, number: number): Block[] {
  const result: Block[] = [];
  const signature = reply.signature ?? "";
  if (reply.reasoning !== undefined || signature !== "") {
    const pieces = chunksOf(reply.reasoning);
    result.push({
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...pieces.map((thinking) => ({ type: "thinking_delta", thinking })),
        ...(signature === "" ? [] : [{ type: "signature_delta", signature }]),
      ],
      whole: { type: "thinking", thinking: pieces.join(""), signature },
    });
  }
  const texts = chunksOf(reply.text);
  if (texts.length > 0) {
    result.push({
      start: { type: "text", text: "" },
      deltas: texts.map((text) => ({ type: "text_delta", text })),
      whole: { type: "text", text: texts.join("") },
    });
  }
  for (const [index, call] of (reply.toolCalls ?? []).entries()) {
    const head = { type: "tool_use", id: call.id ?? `toolu_fake${number}x${index}`, name: call.name };
    const pieces = ["", ...fragments(argumentsOf(call))];
    result.push({
      start: { ...head, input: {} },
      deltas: pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      whole: { ...head, input: call.arguments ?? {} },
    });
  }
  return result;
}

function document(reply: FakeReply, request: RequestView, number: number): unknown {
  return {
    id: `msg_fake${number}`,
    type: "message",
    role: "assistant",
    model: request.model,
    content: contentOf(reply, number).map((block) => block.whole),
    stop_reason: stopOf(reply),
    stop_sequence: null,
    usage: usageOf(reply, request),
  };
}

function stopOf(reply: FakeReply): string {
  const reason = reply.stopReason ?? ((reply.toolCalls ?? []).length > 0 ? "tool_calls" : "end");
  return { end: "end_turn", tool_calls: "tool_use", length: "max_tokens", refusal: "refusal" }[reason];
}

function usageOf(reply: FakeReply, request: RequestView) {
  return {
    input_tokens: reply.usage?.input ?? tokensIn(request.texts.join("")),
    output_tokens: reply.usage?.output ?? tokensIn(chunksOf(reply.text).join("")),
    cache_creation_input_tokens: reply.usage?.written ?? 0,
    cache_read_input_tokens: reply.usage?.cached ?? 0,
  };
}

function typeOf({ status, type }: WireError): string {
  if (type !== undefined) return type;
  const types: Record<number, string> = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
  };
  return types[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

function frame(data: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
