import { isRecord } from "../../../runtime/contracts/values.ts";
import { argumentsOf, chunksOf, type FakeReply, type RequestView } from "../shared/script.ts";
import { records, tokensIn, type Wire, type WireError } from "../shared/wire.ts";

/**
 * Ollama's chat on the wire: https://docs.ollama.com/api/chat. Models whose names begin with `plain` neither think nor call
 * tools. Of a prompt that is longer than the context it answers from the newest messages, unless the request forbids that.
 * Stricter than the server in one thing: results need their calls.
 */
export function ollamaWire(models: readonly string[]): Wire {
  return {
    name: "ollama",
    chatPath: "/api/chat",
    basePath: "",
    streamType: "application/x-ndjson",
    keyOf: (headers) => headers.authorization?.replace(/^Bearer /, ""),
    wrongKey: () => ({ status: 401, message: "unauthorized" }),
    view,
    check: (body) => check(body, models),
    frames: (reply, request) => lines(reply, request).map((one) => `${JSON.stringify(one)}\n`),
    document,
    errorBody: ({ message }) => ({ error: message }),
    errorFrame: ({ message }) => `${JSON.stringify({ error: message })}\n`,
    other: () => undefined,
  };
}

function view(body: unknown): RequestView {
  const request = isRecord(body) ? body : {};
  const messages = withinContext(request);
  const newest = messages.findLastIndex(
    ({ role, content }) => role === "user" && !String(content).startsWith("Images from the tool results"),
  );
  const after = messages.slice(newest + 1);
  return {
    model: String(request["model"] ?? ""),
    stream: request["stream"] !== false,
    system: messages
      .filter(({ role }) => role === "system")
      .map(({ content }) => String(content))
      .join("\n\n"),
    lastUser: String(messages[newest]?.["content"] ?? ""),
    step: after.filter(({ role }) => role === "assistant").length,
    results: after
      .filter(({ role }) => role === "tool")
      .map((message) => ({ id: String(message["tool_name"]), text: String(message["content"]) })),
    texts: messages.map(({ content }) => String(content ?? "")),
    toolNames: records(request["tools"]).map((tool) =>
      String(isRecord(tool["function"]) ? tool["function"]["name"] : ""),
    ),
  };
}

function check(body: unknown, models: readonly string[]): WireError | undefined {
  const refuse = (message: string, status = 400): WireError => ({ status, message });
  if (!isRecord(body)) return refuse("missing request body");
  const model = body["model"];
  if (typeof model !== "string" || model === "") return refuse("model is required");
  if (!models.includes(model)) return refuse(`model '${model}' not found`, 404);
  const { think } = body;
  if (think !== undefined && think !== false && model.startsWith("plain"))
    return refuse(`"${model}" does not support thinking`);
  if (typeof think === "string" && !model.startsWith("gpt-oss"))
    return refuse(`think value "${think}" is not supported for this model`);
  if (records(body["tools"]).length > 0 && model.startsWith("plain"))
    return refuse(`registry.ollama.ai/library/${model} does not support tools`);
  const messages = records(body["messages"]);
  const { truncate, shift } = body;
  if (truncate === false && shift === false && promptTokens(body, messages) > contextOf(body))
    return refuse("the prompt is longer than the context length currently available to the model");
  let open = 0;
  for (const message of messages) {
    const problem = messageProblem(message);
    if (problem !== undefined) return refuse(problem);
    if (message["role"] !== "tool") {
      if (open > 0) return refuse(`${open} tool call(s) have no result`);
      open = records(message["tool_calls"]).length;
    } else if (open === 0) {
      return refuse("a tool result without its call");
    } else open -= 1;
  }
  return open > 0 ? refuse(`${open} tool call(s) have no result`) : undefined;
}

/** Tokens of a context where the request names none, on a machine without much video memory. */
const USUAL_CONTEXT = 4_096;

function contextOf({ options }: Record<string, unknown>): number {
  return isRecord(options) && typeof options["num_ctx"] === "number" ? options["num_ctx"] : USUAL_CONTEXT;
}

function promptTokens({ tools }: Record<string, unknown>, messages: readonly object[]): number {
  return tokensIn(JSON.stringify([messages, tools ?? []]));
}

/** What the model sees: from the front all but the system's messages and the newest one are dropped until the rest fits. */
function withinContext(request: Record<string, unknown>): Record<string, unknown>[] {
  let messages = records(request["messages"]);
  while (promptTokens(request, messages) > contextOf(request)) {
    const oldest = messages.findIndex(({ role }, index) => role !== "system" && index < messages.length - 1);
    if (oldest < 0) break;
    messages = messages.toSpliced(oldest, 1);
  }
  return messages;
}

/** Beginnings of the images that it decodes, in base64: PNG, JPEG, WebP. */
const DECODED = /^(?:iVBORw0KGgo|\/9j\/|UklGR)/;

function messageProblem({ role, content, images, tool_calls: calls }: Record<string, unknown>): string | undefined {
  if (!["system", "user", "assistant", "tool"].includes(String(role))) return `invalid role: ${role}`;
  if (typeof content !== "string") {
    return "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string";
  }
  if (records(calls).some((call) => !isRecord(call["function"]) || !isRecord(call["function"]["arguments"]))) {
    return "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type map[string]interface {}";
  }
  const broken = Array.isArray(images) && images.some((image) => !/^[A-Za-z0-9+/]+=*$/.test(String(image)));
  if (broken) return "illegal base64 data at input byte 0";
  const unread = Array.isArray(images) && images.some((image) => !DECODED.test(String(image)));
  return unread ? "Failed to create new sequence: failed to process inputs: image: unknown format" : undefined;
}

function lines(reply: FakeReply, request: RequestView): object[] {
  const head = { model: request.model, created_at: "2026-01-01T00:00:00.000000Z" };
  const line = (message: object): object => ({
    ...head,
    message: { role: "assistant", content: "", ...message },
    done: false,
  });
  const calls = reply.toolCalls ?? [];
  const broken = calls.find((call) => readArguments(argumentsOf(call)) === undefined);
  return [
    ...chunksOf(reply.reasoning).map((thinking) => line({ thinking })),
    ...chunksOf(reply.text).map((content) => line({ content })),
    ...(broken === undefined
      ? calls.map((call, index) => line({ tool_calls: [wireCall(call, index)] }))
      : [{ error: `error parsing tool call: raw='${argumentsOf(broken)}', err=unexpected end of JSON input` }]),
    { ...head, message: { role: "assistant", content: "" }, ...endOf(reply, request) },
  ];
}

function wireCall(call: NonNullable<FakeReply["toolCalls"]>[number], index: number): object {
  return {
    ...(call.id === undefined ? {} : { id: call.id }),
    function: { index, name: call.name, arguments: readArguments(argumentsOf(call)) },
  };
}

function readArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function endOf(reply: FakeReply, request: RequestView): object {
  return {
    done: true,
    done_reason: reply.stopReason === "length" ? "length" : "stop",
    total_duration: 174_560_334,
    load_duration: 101_397_084,
    prompt_eval_count: reply.usage?.input ?? tokensIn(request.texts.join("")),
    prompt_eval_duration: 13_074_791,
    eval_count: reply.usage?.output ?? tokensIn(chunksOf(reply.text).join("")),
    eval_duration: 52_479_709,
  };
}

function document(reply: FakeReply, request: RequestView): unknown {
  const calls = reply.toolCalls ?? [];
  const message = {
    role: "assistant",
    content: chunksOf(reply.text).join(""),
    ...(reply.reasoning === undefined ? {} : { thinking: chunksOf(reply.reasoning).join("") }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(wireCall) }),
  };
  return { model: request.model, created_at: "2026-01-01T00:00:00.000000Z", message, ...endOf(reply, request) };
}
