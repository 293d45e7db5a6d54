import { isRecord } from "../../../runtime/contracts/values.ts";
import { argumentsOf, chunksOf, type FakeReply, fragments, type RequestView } from "../shared/script.ts";
import { contentText, records, tokensIn, type Wire, type WireError } from "../shared/wire.ts";

/** The chat-completions API on the wire: https://platform.openai.com/docs/api-reference/chat */
export const openAiWire: Wire = {
  name: "openai",
  chatPath: "/v1/chat/completions",
  basePath: "/v1",
  keyOf: (headers) => headers.authorization?.replace(/^Bearer /, ""),
  view,
  check,
  frames,
  document,
  errorBody,
  errorFrame: ({ message, type }) => frame({ error: { message, type, param: null, code: type } }),
  other(method, path) {
    if (method === "GET" && path === "/v1/models") {
      return {
        object: "list",
        data: [{ id: "fake-model", object: "model", created: 1_700_000_000, owned_by: "fake" }],
      };
    }
    return undefined;
  },
};

function view(body: unknown): RequestView {
  const request = isRecord(body) ? body : {};
  const messages = records(request["messages"]);
  const newest = messages.findLastIndex((message) => message["role"] === "user" && !isImageCarrier(message));
  const after = messages.slice(newest + 1);
  return {
    model: String(request["model"] ?? ""),
    stream: request["stream"] === true,
    system: messages
      .filter((message) => message["role"] === "system" || message["role"] === "developer")
      .map((message) => contentText(message["content"]))
      .join("\n\n"),
    lastUser: contentText(messages[newest]?.["content"]),
    step: after.filter((message) => message["role"] === "assistant").length,
    results: after
      .filter((message) => message["role"] === "tool")
      .map((message) => ({ id: String(message["tool_call_id"]), text: contentText(message["content"]) })),
    texts: messages.map((message) => contentText(message["content"])),
    toolNames: records(request["tools"]).map((tool) =>
      String(isRecord(tool["function"]) ? tool["function"]["name"] : ""),
    ),
  };
}

/** A user message that only carries the images of tool results. */
function isImageCarrier(message: Record<string, unknown>): boolean {
  return contentText(message["content"]).startsWith("Images from the tool results");
}

/** Media types of the images in a request, which are data addresses. */
export function imageTypesIn(body: Record<string, unknown>): string[] {
  const parts = records(body["messages"]).flatMap((message) => records(message["content"]));
  return parts.flatMap(({ type, image_url: image }) => {
    if (type !== "image_url" || !isRecord(image)) return [];
    return [/^data:([^;]+);base64,/.exec(String(image["url"]))?.[1] ?? "none"];
  });
}

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function check(body: unknown): WireError | undefined {
  if (!isRecord(body)) return { status: 400, message: "We could not parse the JSON body of your request." };
  if (typeof body["model"] !== "string") return { status: 400, message: "you must provide a model parameter" };
  const messages = records(body["messages"]);
  if (messages.length === 0) return { status: 400, message: "Invalid 'messages': empty array." };
  if (imageTypesIn(body).some((type) => !IMAGES.includes(type))) {
    return {
      status: 400,
      message:
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    };
  }
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message["role"] === "tool") {
      if (!open.delete(String(message["tool_call_id"]))) {
        return {
          status: 400,
          message: `Invalid parameter: messages[${index}] with role 'tool' must be a response to a preceeding message with 'tool_calls'.`,
        };
      }
      continue;
    }
    if (open.size > 0) {
      const ids = [...open].join(", ");
      return {
        status: 400,
        message: `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids}`,
      };
    }
    const calls = records(message["tool_calls"]);
    open = new Set(calls.map((call) => String(call["id"])));
    if (open.size !== calls.length) return { status: 400, message: "Duplicate tool call ids." };
    if (calls.some((call) => String(call["id"]).length > 40))
      return { status: 400, message: "Invalid 'id': string too long." };
    const empty = message["content"] === null || message["content"] === undefined;
    if (empty && (message["role"] !== "assistant" || calls.length === 0)) {
      return {
        status: 400,
        message: `Invalid value for 'content' of messages[${index}]: expected a string, got null.`,
      };
    }
  }
  return undefined;
}

function frames(reply: FakeReply, request: RequestView, number: number): string[] {
  const head = {
    id: `chatcmpl-fake${number}`,
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: request.model,
    system_fingerprint: "fp_fake",
  };
  const delta = (part: object, finish: string | null = null): string =>
    frame({ ...head, choices: [{ index: 0, delta: part, logprobs: null, finish_reason: finish }] });
  const calls = reply.toolCalls ?? [];
  return [
    delta({ role: "assistant", content: "" }),
    ...chunksOf(reply.reasoning).map((text) => delta({ reasoning_content: text })),
    ...chunksOf(reply.text).map((text) => delta({ content: text })),
    ...calls.flatMap((call, index) => [
      delta({
        tool_calls: [
          { index, id: call.id ?? idOf(number, index), type: "function", function: { name: call.name, arguments: "" } },
        ],
      }),
      ...fragments(argumentsOf(call)).map((text) => delta({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
    delta({}, finishOf(reply)),
    frame({ ...head, choices: [], usage: usageOf(reply, request) }),
    "data: [DONE]\n\n",
  ];
}

function document(reply: FakeReply, request: RequestView, number: number): unknown {
  const calls = (reply.toolCalls ?? []).map((call, index) => ({
    id: call.id ?? idOf(number, index),
    type: "function",
    function: { name: call.name, arguments: argumentsOf(call) },
  }));
  const text = chunksOf(reply.text).join("");
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    refusal: null,
    ...(reply.reasoning === undefined ? {} : { reasoning_content: chunksOf(reply.reasoning).join("") }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    id: `chatcmpl-fake${number}`,
    object: "chat.completion",
    created: 1_700_000_000,
    model: request.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(reply) }],
    usage: usageOf(reply, request),
  };
}

function finishOf(reply: FakeReply): string {
  const reason = reply.stopReason ?? ((reply.toolCalls ?? []).length > 0 ? "tool_calls" : "end");
  return { end: "stop", tool_calls: "tool_calls", length: "length", refusal: "content_filter" }[reason];
}

function usageOf(reply: FakeReply, request: RequestView): object {
  const input = reply.usage?.input ?? tokensIn(request.texts.join(""));
  const output = reply.usage?.output ?? tokensIn(chunksOf(reply.text).join(""));
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: reply.usage?.cached ?? 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function errorBody({ status, message, type }: WireError): unknown {
  const code = status === 401 ? "invalid_api_key" : status === 429 ? "rate_limit_exceeded" : null;
  return {
    error: { message, type: type ?? (status >= 500 ? "server_error" : "invalid_request_error"), param: null, code },
  };
}

function idOf(number: number, index: number): string {
  return `call_fake${number}x${index}`;
}

function frame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
