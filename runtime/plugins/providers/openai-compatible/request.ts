import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { ContentPart, ImagePart, Message } from "../../../contracts/message.ts";
import type { ChatOptions } from "../../../contracts/provider.ts";
import { type CallResult, type Entry, type IdRules, isBlank, shapeHistory } from "../shared/history.ts";
import { withTakenImages } from "../shared/images.ts";
import type { Quirk } from "./quirks.ts";
import { readState } from "./state.ts";
import { type Reasoning, USUAL_REASONING } from "./thinking.ts";

/** Our messages and options as the parameters of a chat-completions request: a pure mapping. */

export interface RequestContext {
  readonly provider: string;
  readonly model: string;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** OpenAI itself, where the limit of the answer is `max_completion_tokens`. */
  readonly isOpenAi: boolean;
  /** Default: that of OpenAI, and of servers of which nothing is known. */
  readonly reasoning?: Reasoning;
  /** Media types. Default: those of OpenAI, for servers of which nothing is known as well. */
  readonly imageTypes?: readonly string[];
  readonly quirks: ReadonlySet<Quirk>;
}

/** OpenAI's longest id. Characters stay: some models write ids that mean something to them. */
const IDS: IdRules = { longest: 40 };
const IMAGE_TYPES: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

export function toRequest(
  messages: readonly Message[],
  options: ChatOptions,
  context: RequestContext,
): ChatCompletionCreateParamsStreaming {
  const { model, quirks, reasoning = USUAL_REASONING } = context;
  const { reasoningEffort, reasoningRoom, takesTemperature } = reasoning;
  const effort = quirks.has("no-reasoning-effort") ? undefined : reasoningEffort(options.thinking, model);
  const temperature = options.temperature ?? context.temperature;
  const answer = quirks.has("no-token-limit") ? undefined : (options.maxTokens ?? context.maxTokens);
  const tools = (options.tools ?? []).map((tool) => ({
    type: "function" as const,
    function: { name: tool.name, description: tool.description, parameters: { type: "object", ...tool.parameters } },
  }));
  return {
    model,
    messages: toMessages(messages, options, context),
    stream: true,
    ...(quirks.has("no-stream-options") ? {} : { stream_options: { include_usage: true } }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(temperature === undefined || quirks.has("no-temperature") || !takesTemperature(model, effort)
      ? {}
      : { temperature }),
    ...(answer === undefined ? {} : { [tokenLimit(context)]: answer + reasoningRoom(model, effort) }),
  };
}

function tokenLimit(context: RequestContext): "max_tokens" | "max_completion_tokens" {
  const swapped = context.quirks.has("other-token-limit");
  return context.isOpenAi !== swapped ? "max_completion_tokens" : "max_tokens";
}

function toMessages(
  messages: readonly Message[],
  options: ChatOptions,
  request: RequestContext,
): ChatCompletionMessageParam[] {
  const { preamble, entries } = shapeHistory(messages, { ...request, ids: IDS });
  const strict = request.quirks.has("strict-roles");
  const context = isBlank(options.context ?? "") ? [] : [options.context ?? ""];
  const system = [options.system ?? "", ...preamble, ...(strict ? context : [])].filter((text) => !isBlank(text));

  const result: ChatCompletionMessageParam[] = [];
  if (system.length > 0) result.push({ role: "system", content: system.join("\n\n").toWellFormed() });
  for (const entry of entries) {
    if (entry.kind === "user" && entry.newest && !strict) {
      // Directly before the newest message: everything in front of it stays as it was, so prompt caches hold.
      for (const text of context) result.push({ role: "system", content: text.toWellFormed() });
    }
    addEntry(result, withRetrieved(entry, options.retrieved ?? ""), request);
  }
  return result;
}

/** What memory found goes with the newest message of the user, in front of its text: it is data, and no word of the system's. */
function withRetrieved(entry: Entry, retrieved: string): Entry {
  if (entry.kind !== "user" || !entry.newest || isBlank(retrieved)) return entry;
  return { ...entry, parts: [{ type: "text", text: retrieved.toWellFormed() }, ...entry.parts] };
}

function addEntry(result: ChatCompletionMessageParam[], entry: Entry, context: RequestContext): void {
  const strict = context.quirks.has("strict-roles");
  const { imageTypes = IMAGE_TYPES } = context;
  switch (entry.kind) {
    case "user":
      addUser(result, withTakenImages(entry.parts, imageTypes), strict);
      break;
    case "note":
      if (strict) addUser(result, [{ type: "text", text: `[System message]\n${entry.text}` }], strict);
      else result.push({ role: "system", content: entry.text });
      break;
    case "assistant":
      result.push(assistantMessage(entry, context));
      break;
    case "results":
      for (const { id, text, images, isError } of entry.results) {
        const content = isBlank(text) ? `(${images.length} image(s), shown below)` : text;
        result.push({ role: "tool", tool_call_id: id, content: isError ? `Error: ${content}` : content });
      }
      addUser(result, withTakenImages(imagesOf(entry.results), imageTypes), strict);
      break;
  }
}

function assistantMessage(
  entry: Extract<Entry, { kind: "assistant" }>,
  context: RequestContext,
): ChatCompletionAssistantMessageParam {
  const state = readState(entry.state);
  const calls = entry.calls.map((call, index) => ({
    id: call.id,
    type: "function" as const,
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    ...(state.extras[index] === undefined ? {} : { extra_content: state.extras[index] }),
  }));
  return {
    role: "assistant",
    content: isBlank(entry.text) ? null : entry.text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    // Some models lose their thread in a tool loop without what they thought.
    ...(state.reasoning === undefined || context.quirks.has("no-reasoning-echo")
      ? {}
      : { [state.reasoning.field]: state.reasoning.text }),
  };
}

/** Where two messages of the user in a row are refused, the second goes into the first. */
function addUser(result: ChatCompletionMessageParam[], parts: readonly ContentPart[], strict: boolean): void {
  if (parts.length === 0) return;
  const last = result.at(-1);
  if (!strict || last?.role !== "user") {
    result.push({ role: "user", content: toContent(parts.map(toContentPart)) });
    return;
  }
  const before: ChatCompletionContentPart[] =
    typeof last.content === "string" ? [{ type: "text", text: last.content }] : last.content;
  result[result.length - 1] = { role: "user", content: toContent([...before, ...parts.map(toContentPart)]) };
}

/** A plain string where there is only text: not every server takes parts. */
function toContent(parts: readonly ChatCompletionContentPart[]): string | ChatCompletionContentPart[] {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === parts.length ? texts.join("\n\n") : [...parts];
}

function toContentPart(part: ContentPart): ChatCompletionContentPart {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } };
}

/** Tool messages hold text only: images of results follow in a user message. */
function imagesOf(results: readonly CallResult[]): ContentPart[] {
  const images: ImagePart[] = results.flatMap((result) => result.images);
  return images.length === 0 ? [] : [{ type: "text", text: "Images from the tool results above:" }, ...images];
}
