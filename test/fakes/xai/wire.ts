import type { IncomingHttpHeaders } from "node:http";
import { isRecord } from "../../../runtime/contracts/values.ts";
import { imageTypesIn, openAiWire } from "../openai/wire.ts";
import { argumentsOf, chunksOf, type FakeReply, type RequestView } from "../shared/script.ts";
import { tokensIn, type Wire, type WireError } from "../shared/wire.ts";

/** xAI's chat completions on the wire, where they differ from OpenAI's: https://docs.x.ai/docs/api-reference */
export const xaiWire: Wire = {
  ...openAiWire,
  name: "xai",
  // A wrong key is a bad argument there; only a request without one is unauthorized.
  wrongKey: (key) =>
    key === undefined
      ? { status: 401, message: "No authorization header or an invalid authorization token is provided." }
      : {
          status: 400,
          message: `Incorrect API key provided: ${key.slice(0, 2)}***. You can obtain an API key from https://console.x.ai.`,
        },
  check,
  frames,
  errorBody,
  errorFrame: ({ message }) => frame(errorBody({ status: 500, message })),
  other(method, path) {
    if (method !== "GET" || path !== "/v1/models") return undefined;
    return { object: "list", data: [{ id: "grok-fake", object: "model", created: 1_700_000_000, owned_by: "xai" }] };
  },
};

function errorBody({ status, message }: WireError): object {
  const codes: Record<number, string> = {
    400: "Client specified an invalid argument",
    403: "The caller does not have permission to execute the specified operation",
    404: "Some requested entity was not found",
    429: "Some resource has been exhausted",
    503: "The service is currently unavailable",
  };
  return { code: codes[status] ?? "Internal error", error: message };
}

function check(body: unknown, headers: IncomingHttpHeaders, path: string): WireError | undefined {
  const refused = openAiWire.check(body, headers, path);
  if (refused !== undefined || !isRecord(body)) return refused;
  const image = imageTypesIn(body).find((type) => type !== "image/jpeg" && type !== "image/png");
  if (image !== undefined) return { status: 400, message: `Unsupported content-type of an image: ${image}` };
  const model = String(body["model"]);
  const effort = body["reasoning_effort"];
  if (effort !== undefined && !effortsOf(model).includes(String(effort))) {
    return { status: 400, message: `Model ${model} does not support parameter reasoningEffort.` };
  }
  return undefined;
}

function effortsOf(model: string): readonly string[] {
  if (model.startsWith("grok-3-mini")) return ["low", "high"];
  return /^grok-4\.[3-9]$|^grok-latest$|^grok-[5-9]/.test(model) ? ["none", "low", "medium", "high"] : [];
}

/** A call comes whole, in one event. */
function frames(reply: FakeReply, request: RequestView, number: number): string[] {
  const head = { id: `fake-${number}`, object: "chat.completion.chunk", created: 1_700_000_000, model: request.model };
  const delta = (part: object, rest: object = {}): string =>
    frame({ ...head, choices: [{ index: 0, delta: part, ...rest }], system_fingerprint: "fp_fake" });
  const calls = (reply.toolCalls ?? []).map((call, index) => ({
    id: call.id ?? `call_fake${number}x${index}`,
    function: { name: call.name, arguments: argumentsOf(call) },
    index,
    type: "function",
  }));
  const reasons = { end: "stop", tool_calls: "tool_calls", length: "length", refusal: "content_filter" };
  const reason = reasons[reply.stopReason ?? (calls.length > 0 ? "tool_calls" : "end")];
  return [
    delta({ role: "assistant", content: "" }),
    ...chunksOf(reply.reasoning).map((text) => delta({ reasoning_content: text })),
    ...chunksOf(reply.text).map((text) => delta({ content: text })),
    ...calls.map((call) => delta({ tool_calls: [call] })),
    delta({}, { finish_reason: reason }),
    frame({ ...head, choices: [], usage: usageOf(reply, request) }),
    "data: [DONE]\n\n",
  ];
}

/** Reasoning is in the total, and not in the completion. */
function usageOf(reply: FakeReply, request: RequestView): object {
  const input = reply.usage?.input ?? tokensIn(request.texts.join(""));
  const output = reply.usage?.output ?? tokensIn(chunksOf(reply.text).join(""));
  const reasoning = tokensIn(chunksOf(reply.reasoning).join(""));
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output + reasoning,
    prompt_tokens_details: { text_tokens: input, image_tokens: 0, cached_tokens: reply.usage?.cached ?? 0 },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function frame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
