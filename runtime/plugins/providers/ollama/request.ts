import type { ChatRequest, Tool, Message as WireMessage } from "ollama/browser";
import type { ContentPart, ImagePart, Message } from "../../../contracts/message.ts";
import type { ChatOptions } from "../../../contracts/provider.ts";
import { isRecord } from "../../../contracts/values.ts";
import { type Entry, type IdRules, isBlank, shapeHistory } from "../shared/history.ts";
import { withTakenImages } from "../shared/images.ts";
import type { Quirk } from "./quirks.ts";
import { planThinking } from "./thinking.ts";

/** Our messages and options as the parameters of a chat request: a pure mapping. */

export interface RequestContext {
  readonly provider: string;
  readonly model: string;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly contextWindow?: number | undefined;
  readonly quirks: ReadonlySet<Quirk>;
}

const IDS: IdRules = { longest: 64 };
/** What its servers decode. */
const IMAGE_TYPES = ["image/jpeg", "image/png", "image/webp"];

/** A chat that streams, with what the SDK's type does not have. */
export type Params = ChatRequest & {
  readonly stream: true;
  /** False: a prompt that is too long is refused. By itself the server answers from the rest of it, with nothing that says so. */
  readonly truncate: false;
  /** False: so is an answer that would push the beginning of the prompt out; it ends as one that is too long. */
  readonly shift: false;
};

export function toRequest(messages: readonly Message[], options: ChatOptions, context: RequestContext): Params {
  const { model, quirks } = context;
  const { think, room } = planThinking(options.thinking, model);
  const answer = options.maxTokens ?? context.maxTokens;
  const temperature = options.temperature ?? context.temperature;
  const tools = quirks.has("no-tools") ? [] : (options.tools ?? []);
  const limits = {
    // A server's own is a few thousand tokens.
    ...(context.contextWindow === undefined ? {} : { num_ctx: context.contextWindow }),
    ...(answer === undefined ? {} : { num_predict: answer + room }),
    ...(temperature === undefined ? {} : { temperature }),
  };
  return {
    model,
    messages: toMessages(messages, options, context),
    stream: true,
    truncate: false,
    shift: false,
    ...(tools.length === 0 ? {} : { tools: tools.map(toTool) }),
    ...(think === undefined || quirks.has("no-thinking") ? {} : { think }),
    ...(Object.keys(limits).length === 0 ? {} : { options: limits }),
  };
}

/** A JSON Schema; the SDK's type has a part of it only. */
function toTool({ name, description, parameters }: NonNullable<ChatOptions["tools"]>[number]): Tool {
  return { type: "function", function: { name, description, parameters: { type: "object", ...parameters } } };
}

function toMessages(messages: readonly Message[], options: ChatOptions, request: RequestContext): WireMessage[] {
  const { preamble, entries } = shapeHistory(messages, { ...request, ids: IDS });
  const strict = request.quirks.has("strict-roles");
  const context = isBlank(options.context ?? "") ? [] : [options.context ?? ""];
  const system = [options.system ?? "", ...preamble, ...(strict ? context : [])].filter((text) => !isBlank(text));

  const result: WireMessage[] = [];
  if (system.length > 0) result.push({ role: "system", content: system.join("\n\n").toWellFormed() });
  let names: readonly string[] = [];
  for (const entry of entries) {
    switch (entry.kind) {
      case "user": {
        // Directly before the newest message: everything in front of it stays as it was, so the server's cache holds.
        if (entry.newest && !strict) {
          for (const text of context) result.push({ role: "system", content: text.toWellFormed() });
        }
        const retrieved = entry.newest && !isBlank(options.retrieved ?? "") ? [textPart(options.retrieved ?? "")] : [];
        addUser(result, [...retrieved, ...entry.parts], strict);
        break;
      }
      case "note":
        if (strict) addUser(result, [textPart(`[System message]\n${entry.text}`)], strict);
        else result.push({ role: "system", content: entry.text });
        break;
      case "assistant":
        names = entry.calls.map((call) => call.name);
        result.push(assistantMessage(entry));
        break;
      case "results":
        for (const [index, { text, images, isError }] of entry.results.entries()) {
          const content = isBlank(text) ? `(${images.length} image(s), shown below)` : text;
          const name = names[index];
          result.push({
            role: "tool",
            content: isError ? `Error: ${content}` : content,
            ...(name === undefined ? {} : { tool_name: name }),
          });
        }
        addImages(
          result,
          entry.results.flatMap((one) => one.images),
          strict,
        );
        break;
    }
  }
  return result;
}

function assistantMessage(entry: Extract<Entry, { kind: "assistant" }>): WireMessage {
  const thinking = isRecord(entry.state) ? entry.state["thinking"] : undefined;
  return {
    role: "assistant",
    content: isBlank(entry.text) ? "" : entry.text,
    // Some models lose their thread in a tool loop without what they thought.
    ...(typeof thinking === "string" ? { thinking } : {}),
    ...(entry.calls.length === 0
      ? {}
      : {
          tool_calls: entry.calls.map(({ name, arguments: args }) => ({ function: { name, arguments: { ...args } } })),
        }),
  };
}

function textPart(text: string): ContentPart {
  return { type: "text", text: text.toWellFormed() };
}

/** Tool messages hold text only: images of results follow in a user message. */
function addImages(result: WireMessage[], images: readonly ImagePart[], strict: boolean): void {
  if (images.length > 0) addUser(result, [textPart("Images from the tool results above:"), ...images], strict);
}

/** Where two messages of the user in a row are refused, the second goes into the first. */
function addUser(result: WireMessage[], given: readonly ContentPart[], strict: boolean): void {
  const parts = withTakenImages(given, IMAGE_TYPES);
  const content = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
  const images = parts.flatMap((part) => (part.type === "image" ? [part.data] : []));
  const last = result.at(-1);
  if (!strict || last?.role !== "user") {
    result.push({ role: "user", content, ...(images.length === 0 ? {} : { images }) });
    return;
  }
  const before: readonly (string | Uint8Array)[] = last.images ?? [];
  // Only this file makes the messages, with images as text.
  const all = [...(before as readonly string[]), ...images];
  result[result.length - 1] = {
    role: "user",
    content: [last.content, content].filter((text) => text !== "").join("\n\n"),
    ...(all.length === 0 ? {} : { images: all }),
  };
}
