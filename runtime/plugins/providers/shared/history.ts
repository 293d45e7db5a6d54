import type { ContentPart, ImagePart, Message, ProviderState, ToolCall } from "../../../contracts/message.ts";

/**
 * Brings a conversation into the shape that every chat API accepts, whatever happened to it before: each tool call has
 * exactly one result, directly after it; no result without its call; no empty message; call ids that are unique. A stored
 * history can break each of these: it may be cut, resumed, or from another provider.
 */

export interface HistoryOptions {
  /** Whose state may be sent back: only that of this provider and this model. */
  readonly provider: string;
  readonly model: string;
  /** Call ids that the API takes. */
  readonly ids: IdRules;
}

export interface IdRules {
  readonly longest: number;
  /** Characters that are replaced; all are taken when absent. */
  readonly illegal?: RegExp;
}

export interface CallResult {
  readonly id: string;
  readonly text: string;
  readonly images: readonly ImagePart[];
  readonly isError: boolean;
}

export type Entry =
  | { readonly kind: "user"; readonly parts: readonly ContentPart[]; readonly newest: boolean }
  /** Said by the system in the middle of the conversation. */
  | { readonly kind: "note"; readonly text: string }
  | { readonly kind: "assistant"; readonly text: string; readonly calls: readonly ToolCall[]; readonly state?: unknown }
  /** The results of the calls of the assistant entry before, in the order of the calls. */
  | { readonly kind: "results"; readonly results: readonly CallResult[] };

export interface History {
  /** System messages from before the conversation's first word. */
  readonly preamble: readonly string[];
  readonly entries: readonly Entry[];
}

const NO_RESULT = "No result of this call was recorded; whether it took effect is unknown.";
const EMPTY_MESSAGE = "(empty message)";

export function shapeHistory(messages: readonly Message[], options: HistoryOptions): History {
  const first = messages.findIndex((message) => message.role !== "system");
  const start = first === -1 ? messages.length : first;
  const preamble = messages.slice(0, start).map((message) => plainText(message.content));
  const newest = messages.findLastIndex((message) => message.role === "user" && message.aside !== true);
  const ids = createIds(options.ids);
  const entries: Entry[] = [];

  for (let index = start; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) continue;
    switch (message.role) {
      case "user":
        addUser(entries, userParts(message.content, index === newest), index === newest, message.aside === true);
        break;
      case "system":
        if (!isBlank(plainText(message.content))) entries.push({ kind: "note", text: plainText(message.content) });
        break;
      case "assistant": {
        const renamed = (message.toolCalls ?? []).map((call) => ({ call, id: ids(call.id) }));
        // Thinking belongs to the loop that it was thought in: an earlier turn's prompt is not repeated word by word.
        const state = index > newest ? ownState(message.providerState, options) : undefined;
        addAssistant(
          entries,
          plainText(message.content),
          renamed.map(({ call, id }) => ({ ...call, id })),
          state,
        );
        if (renamed.length > 0) entries.push({ kind: "results", results: resultsFor(renamed, messages, index) });
        break;
      }
      case "tool":
        // Placed with its call; without one there is nothing that it could be a result of.
        break;
    }
  }
  return { preamble: preamble.filter((text) => !isBlank(text)), entries };
}

/** Text that an API takes for text: more than white space. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** What was added before there was a reply is a part of the message that it was added to. */
function addUser(entries: Entry[], parts: readonly ContentPart[], newest: boolean, aside: boolean): void {
  if (parts.length === 0) return;
  const at = entries.findLastIndex(({ kind }) => kind !== "note");
  const last = entries[at];
  if (aside && last?.kind === "user") entries[at] = { ...last, parts: [...last.parts, ...parts] };
  else entries.push({ kind: "user", parts, newest });
}

function addAssistant(entries: Entry[], text: string, calls: readonly ToolCall[], state: unknown): void {
  if (isBlank(text) && calls.length === 0) return;
  const last = entries.at(-1);
  if (last?.kind === "assistant" && last.calls.length === 0 && last.state === undefined && state === undefined) {
    const joined = [last.text, text].filter((part) => !isBlank(part)).join("\n\n");
    entries[entries.length - 1] = { kind: "assistant", text: joined, calls };
    return;
  }
  entries.push({ kind: "assistant", text, calls, ...(state === undefined ? {} : { state }) });
}

/** One result for each call: the first one that is recorded before the next reply, or word that there is none. */
function resultsFor(
  calls: readonly { readonly call: ToolCall; readonly id: string }[],
  messages: readonly Message[],
  index: number,
): CallResult[] {
  const next = messages.findIndex((message, at) => at > index && message.role === "assistant");
  const after = messages.slice(index + 1, next === -1 ? messages.length : next);
  const taken = new Set<Message>();
  return calls.map(({ call, id }) => {
    const found = after.find(
      (message) => message.role === "tool" && message.toolCallId === call.id && !taken.has(message),
    );
    if (found === undefined) return { id, text: NO_RESULT, images: [], isError: true };
    taken.add(found);
    const text = plainText(found.content);
    const images = typeof found.content === "string" ? [] : found.content.filter((part) => part.type === "image");
    return {
      id,
      text: isBlank(text) && images.length === 0 ? "(no output)" : text,
      images,
      isError: found.isError === true,
    };
  });
}

function userParts(content: Message["content"], newest: boolean): ContentPart[] {
  const parts: readonly ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const full = parts
    .filter((part) => part.type === "image" || !isBlank(part.text))
    .map((part) => (part.type === "text" ? { ...part, text: part.text.toWellFormed() } : part));
  return full.length === 0 && newest ? [{ type: "text", text: EMPTY_MESSAGE }] : full;
}

function plainText(content: Message["content"]): string {
  const text =
    typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return text.toWellFormed();
}

function ownState(state: ProviderState | undefined, options: HistoryOptions): unknown {
  return state?.provider === options.provider && state.model === options.model ? state.data : undefined;
}

/** Ids that the API accepts, each given out once; an id that fits and is new stays what it is. */
function createIds({ longest, illegal }: IdRules): (id: string) => string {
  const used = new Set<string>();
  return (id) => {
    const legal = illegal === undefined ? id.toWellFormed() : id.replace(illegal, "_");
    const base = legal.slice(0, longest) || "call";
    let candidate = base;
    for (let n = 2; used.has(candidate); n += 1) {
      const suffix = `_${n}`;
      candidate = base.slice(0, longest - suffix.length) + suffix;
    }
    used.add(candidate);
    return candidate;
  };
}
