import { isRecord } from "../../../runtime/contracts/values.ts";
import { argumentsOf, chunksOf, type FakeReply, type RequestView } from "../shared/script.ts";
import { records, tokensIn, type Wire, type WireError } from "../shared/wire.ts";
import { check, partsOf } from "./check.ts";
import { modelOf, signatureOf } from "./signatures.ts";

/** The Gemini API on the wire: https://ai.google.dev/api/generate-content */
export const geminiWire: Wire = {
  name: "gemini",
  chatPath: /^\/v1beta\/models\/[^/:]+:(?:streamGenerateContent|generateContent)$/,
  basePath: "/v1beta",
  keyOf: (headers) => headers["x-goog-api-key"]?.toString(),
  wrongKey: () => ({
    status: 400,
    message: "API key not valid. Please pass a valid API key.",
    type: "API_KEY_INVALID",
  }),
  view,
  check,
  frames,
  document: (reply, request, number) => ({
    ...event(request, number, partsIn(reply, request), finishOf(reply)),
    usageMetadata: usageOf(reply, request),
  }),
  errorBody,
  errorFrame: ({ message, type }) => frame(errorBody({ status: STATUS_OF_TYPE[type ?? ""] ?? 500, message })),
  other(method, path) {
    if (method !== "GET" || path !== "/v1beta/models") return undefined;
    const supportedGenerationMethods = ["generateContent", "countTokens"];
    return { models: [{ name: "models/gemini-fake", displayName: "Gemini Fake", supportedGenerationMethods }] };
  },
};

/** What other APIs call their errors, so that a script can be the same for all. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  overloaded_error: 503,
  rate_limit_error: 429,
  api_error: 500,
  invalid_request_error: 400,
};

const NAMES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

function errorBody({ status, message, type }: WireError): unknown {
  const details =
    type === "API_KEY_INVALID"
      ? [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: type, domain: "googleapis.com" }]
      : undefined;
  return { error: { code: status, message, status: NAMES[status] ?? "UNKNOWN", ...(details ? { details } : {}) } };
}

function view(body: unknown, path: string): RequestView {
  const request = isRecord(body) ? body : {};
  const contents = records(request["contents"]);
  const newest = contents.findLastIndex((content) => content["role"] === "user" && spoken(content).length > 0);
  const after = contents.slice(newest + 1);
  const responses = after.flatMap(partsOf).flatMap((part) => {
    const response = part["functionResponse"];
    return isRecord(response) ? [response] : [];
  });
  return {
    model: modelOf(path),
    stream: path.includes(":streamGenerateContent"),
    system: textsOf(request["systemInstruction"]).join("\n\n"),
    lastUser: spoken(contents[newest]).at(-1) ?? "",
    step: after.filter((content) => content["role"] === "model").length,
    results: responses.map((response) => ({
      id: String(response["id"] ?? response["name"]),
      text: resultText(response),
    })),
    texts: contents.flatMap((content) =>
      partsOf(content).map((part) =>
        isRecord(part["functionResponse"]) ? resultText(part["functionResponse"]) : String(part["text"] ?? ""),
      ),
    ),
    toolNames: records(request["tools"]).flatMap((tool) =>
      records(tool["functionDeclarations"]).map((one) => String(one["name"])),
    ),
  };
}

/** What the user said: not what came with results, and no marked system text. */
function spoken(content: unknown): string[] {
  if (partsOf(content).some((part) => part["functionResponse"] !== undefined)) return [];
  return textsOf(content).filter((text) => !text.startsWith("[System message]"));
}

function textsOf(content: unknown): string[] {
  return partsOf(content).flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : []));
}

function resultText(response: Record<string, unknown>): string {
  const said = isRecord(response["response"]) ? response["response"] : {};
  return String(said["output"] ?? said["error"] ?? JSON.stringify(said));
}

function frames(reply: FakeReply, request: RequestView, number: number): string[] {
  const last = event(request, number, [], finishOf(reply));
  return [
    ...partsIn(reply, request).map((part) => frame(event(request, number, [part]))),
    frame({ ...last, usageMetadata: usageOf(reply, request) }),
  ];
}

function event(request: RequestView, number: number, parts: readonly object[], finish?: object) {
  return {
    candidates: [{ ...(parts.length === 0 ? {} : { content: { parts, role: "model" } }), ...finish, index: 0 }],
    modelVersion: request.model,
    responseId: `fake${number}`,
  };
}

function partsIn(reply: FakeReply, request: RequestView): object[] {
  const calls = (reply.toolCalls ?? []).filter((call) => readArguments(argumentsOf(call)) !== undefined);
  return [
    ...chunksOf(reply.reasoning).map((text) => ({ text, thought: true })),
    ...chunksOf(reply.text).map((text) => ({ text })),
    ...calls.map((call, index) => ({
      functionCall: {
        ...(call.id === undefined ? {} : { id: call.id }),
        name: call.name,
        args: readArguments(argumentsOf(call)),
      },
      // Of parallel calls the first one is signed.
      ...(index === 0 ? { thoughtSignature: reply.signature ?? signatureOf(request.model, call.name) } : {}),
    })),
  ];
}

function readArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A call that is not JSON does not get onto the wire. */
function finishOf(reply: FakeReply): object {
  const broken = (reply.toolCalls ?? []).find((call) => readArguments(argumentsOf(call)) === undefined);
  if (broken !== undefined) {
    return {
      finishReason: "MALFORMED_FUNCTION_CALL",
      finishMessage: `Malformed function call: ${argumentsOf(broken)}`,
    };
  }
  const reasons = { end: "STOP", tool_calls: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" };
  return { finishReason: reasons[reply.stopReason ?? "end"] };
}

function usageOf(reply: FakeReply, request: RequestView): object {
  const input = reply.usage?.input ?? tokensIn(request.texts.join(""));
  const output = reply.usage?.output ?? tokensIn(chunksOf(reply.text).join(""));
  const thoughts = tokensIn(chunksOf(reply.reasoning).join(""));
  const { cached } = reply.usage ?? {};
  return {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output + thoughts,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    ...(cached === undefined ? {} : { cachedContentTokenCount: cached }),
  };
}

function frame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`;
}
