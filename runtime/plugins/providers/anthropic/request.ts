import type {
  ContentBlockParam,
  ImageBlockParam,
  MessageParam,
  TextBlockParam,
  Tool,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import type { ContentPart, ImagePart, Message } from "../../../contracts/message.ts";
import type { ChatOptions } from "../../../contracts/provider.ts";
import { isRecord } from "../../../contracts/values.ts";
import { type Entry, type History, type IdRules, isBlank, shapeHistory } from "../shared/history.ts";
import { unseenImage } from "../shared/images.ts";
import { generationOf } from "./models.ts";
import { isThinking, type Quirk, type RequestParams } from "./quirks.ts";
import { planThinking } from "./thinking.ts";

/** Our messages and options as the parameters of a messages request: a pure mapping. */

export interface RequestContext {
  readonly provider: string;
  readonly model: string;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly quirks: ReadonlySet<Quirk>;
}

const CACHED = { cache_control: { type: "ephemeral" } } as const;
const IDS: IdRules = { longest: 64, illegal: /[^\w-]/g };
const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;
/** The API requires that the first and the last message are the user's. */
const OPENING = "(The conversation begins in the middle.)";
const CONTINUE = "Please continue.";

export function toRequest(messages: readonly Message[], options: ChatOptions, context: RequestContext): RequestParams {
  const { model, quirks } = context;
  const history = shapeHistory(messages, { ...context, ids: IDS });
  const inline = generationOf(model).systemRole && !quirks.has("no-system-role");
  const noted = isBlank(options.context ?? "") ? undefined : (options.context ?? "").toWellFormed();
  const withUserText = inline && history.entries.some((entry) => entry.kind === "user" && entry.newest);
  const sent = toMessages(history, {
    replay: !quirks.has("no-replay"),
    inline,
    noted: withUserText ? noted : undefined,
    retrieved: isBlank(options.retrieved ?? "") ? undefined : (options.retrieved ?? "").toWellFormed(),
  });
  const system = toSystem(options, history, withUserText ? undefined : noted);
  const level = quirks.has("no-thinking") ? undefined : options.thinking;
  const plan = planThinking(level, model, options.maxTokens ?? context.maxTokens, keepsThinking(sent));
  const { thinking, output_config } = plan.params;
  const temperature = options.temperature ?? context.temperature;
  const tools = toTools(options, history);
  if (isBlank(options.system ?? "")) markEnd(tools);
  return {
    model,
    max_tokens: plan.maxTokens,
    messages: sent,
    stream: true,
    ...(system.length === 0 ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools }),
    // Definitions that are sent only for old calls must not be called.
    ...(tools.length > 0 && (options.tools ?? []).length === 0 ? { tool_choice: { type: "none" } } : {}),
    ...(thinking === undefined ? {} : { thinking }),
    ...(output_config === undefined || quirks.has("no-effort") ? {} : { output_config }),
    ...(temperature === undefined || !plan.takesTemperature || quirks.has("no-temperature")
      ? {}
      : { temperature: Math.min(Math.max(temperature, 0), 1) }),
  };
}

/** Stable text first, with the cache's breakpoint (it covers the tools too); what changes with each turn behind it. */
function toSystem(options: ChatOptions, history: History, noted: string | undefined): TextBlockParam[] {
  const stable = options.system ?? "";
  return [
    ...(isBlank(stable) ? [] : [{ type: "text" as const, text: stable.toWellFormed(), ...CACHED }]),
    ...[...history.preamble, ...(noted === undefined ? [] : [noted])].map(textBlock),
  ];
}

function toTools(options: ChatOptions, history: History): Tool[] {
  const offered = options.tools ?? [];
  if (offered.length > 0) {
    return offered.map(({ name, description, parameters }) => ({
      name,
      description,
      input_schema: { ...parameters, type: "object" },
    }));
  }
  const names = history.entries.flatMap((entry) =>
    entry.kind === "assistant" ? entry.calls.map((call) => call.name) : [],
  );
  return [...new Set(names)].map((name) => ({ name, input_schema: { type: "object" } }));
}

interface Placement {
  /** Whether signed thinking goes back. */
  readonly replay: boolean;
  /** Whether system text may be among the messages: directly behind a user message, and in front of a reply or last. */
  readonly inline: boolean;
  /** What the service adds to this turn, if its place is next to the newest message. */
  readonly noted: string | undefined;
  /** What memory found: data, and so a part of the newest message of the user. */
  readonly retrieved: string | undefined;
}

function toMessages(history: History, placement: Placement): MessageParam[] {
  const { entries } = history;
  const messages: MessageParam[] = [];
  let newest: ContentBlockParam[] | undefined;
  if (entries[0]?.kind !== "user") addBlocks(messages, "user", [{ type: "text", text: OPENING }]);
  for (const [index, entry] of entries.entries()) {
    const behindUser = messages.at(-1)?.role !== "assistant";
    if (entry.kind === "note" && placement.inline && behindUser && nextSpeaker(entries, index) !== "user") {
      addBlocks(messages, "system", [textBlock(entry.text)]);
      continue;
    }
    const role = entry.kind === "assistant" ? "assistant" : "user";
    const blocks = addBlocks(messages, role, toBlocks(entry, placement.replay));
    if (entry.kind === "user" && entry.newest) {
      // Behind the message, which stays as it is: the next turn's request begins with the same bytes up to its end.
      newest = [...blocks];
      if (placement.retrieved !== undefined) addBlocks(messages, "user", [textBlock(placement.retrieved)]);
      if (placement.noted !== undefined) addBlocks(messages, "system", [textBlock(placement.noted)]);
    }
  }
  if (messages.at(-1)?.role === "assistant") addBlocks(messages, "user", [{ type: "text", text: CONTINUE }]);
  // Two breakpoints: the turn's start stays in reach of the cache, however many blocks its tool loop adds.
  markEnd(newest);
  const last = messages.at(-1)?.content;
  markEnd(typeof last === "string" ? undefined : last);
  return messages;
}

/** Whose message follows an entry, notes aside. */
function nextSpeaker(entries: readonly Entry[], index: number): "user" | "assistant" | "nobody" {
  const next = entries.slice(index + 1).find((entry) => entry.kind !== "note");
  if (next === undefined) return "nobody";
  return next.kind === "assistant" ? "assistant" : "user";
}

/** Adds to the last message if it has the same role: the results of parallel calls must share one user message. */
function addBlocks(
  messages: MessageParam[],
  role: MessageParam["role"],
  blocks: ContentBlockParam[],
): ContentBlockParam[] {
  const last = messages.at(-1);
  if (last?.role === role && typeof last.content !== "string") {
    const content: ContentBlockParam[] = last.content;
    content.push(...blocks);
    return content;
  }
  // Each role's content type admits the blocks that its callers make.
  messages.push({ role, content: blocks } as MessageParam);
  return blocks;
}

function textBlock(text: string): TextBlockParam {
  return { type: "text", text };
}

function toBlocks(entry: Entry, replay: boolean): ContentBlockParam[] {
  switch (entry.kind) {
    case "user":
      return entry.parts.map(toBlock);
    case "note":
      return [{ type: "text", text: `[System message]\n${entry.text}` }];
    case "assistant":
      return assistantBlocks(entry, replay);
    case "results":
      return entry.results.map(
        ({ id, text, images, isError }): ToolResultBlockParam => ({
          type: "tool_result",
          tool_use_id: id,
          content: [...(isBlank(text) ? [] : [{ type: "text" as const, text }]), ...images.map(toImage)],
          ...(isError ? { is_error: true } : {}),
        }),
      );
  }
}

/**
 * A reply with signed thinking goes back block by block as it came. If its text or calls are no longer the same, the
 * thinking stands in front of what they are now.
 */
function assistantBlocks(entry: Extract<Entry, { kind: "assistant" }>, replay: boolean): ContentBlockParam[] {
  const kept = replay ? blocksOf(entry.state) : [];
  if (kept.length > 0 && saysTheSame(kept, entry)) return kept;
  const calls = entry.calls.map(
    ({ id, name, arguments: input }): ToolUseBlockParam => ({ type: "tool_use", id, name, input }),
  );
  const text: TextBlockParam[] = isBlank(entry.text) ? [] : [{ type: "text", text: entry.text }];
  return [...kept.filter(isThinking), ...text, ...calls];
}

function saysTheSame(blocks: readonly ContentBlockParam[], entry: Extract<Entry, { kind: "assistant" }>): boolean {
  const text = blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
  const ids = blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
  return text.trim() === entry.text.trim() && ids.join() === entry.calls.map((call) => call.id).join();
}

/** The blocks in our own state, which comes back from storage. */
function blocksOf(state: unknown): ContentBlockParam[] {
  if (!isRecord(state) || !Array.isArray(state["content"])) return [];
  // Written by stream.ts; the API itself checks the signatures.
  return structuredClone(state["content"]) as ContentBlockParam[];
}

/** False inside a tool loop with a call whose thinking is not there any more. */
function keepsThinking(messages: readonly MessageParam[]): boolean {
  const turn = messages.findLastIndex(({ role, content }) => role === "user" && !holds(content, "tool_result"));
  return messages
    .slice(turn + 1)
    .every(({ role, content }) => role === "user" || !holds(content, "tool_use") || startsWithThinking(content));
}

function holds(content: MessageParam["content"], type: ContentBlockParam["type"]): boolean {
  return typeof content !== "string" && content.some((block) => block.type === type);
}

function startsWithThinking(content: MessageParam["content"]): boolean {
  const first = typeof content === "string" ? undefined : content[0];
  return first !== undefined && isThinking(first);
}

function toBlock(part: ContentPart): ContentBlockParam {
  return part.type === "text" ? { type: "text", text: part.text } : toImage(part);
}

function toImage(part: ImagePart): ImageBlockParam | TextBlockParam {
  const type = IMAGE_TYPES.find((candidate) => candidate === part.mediaType.toLowerCase());
  if (type === undefined) return { type: "text", text: unseenImage(part) };
  return { type: "image", source: { type: "base64", media_type: type, data: part.data } };
}

/** Puts a cache breakpoint on the last block that can carry one. */
function markEnd(blocks: (ContentBlockParam | Tool)[] | undefined): void {
  const last = blocks?.at(-1);
  if (last === undefined || ("type" in last && (last.type === "thinking" || last.type === "redacted_thinking"))) return;
  Object.assign(last, CACHED);
}
