/** Takes secrets out of a request to a model, wherever they are in it. Pure. */

import type { ContentPart, Message, ToolCall } from "../contracts/message.ts";
import type { ChatOptions } from "../contracts/provider.ts";

export type Redact = (text: string) => string;

/** Most prompts hold no secret: then the same objects come back, and nothing was copied. */
export function redactPrompt(
  prompt: { readonly messages: readonly Message[]; readonly options: ChatOptions },
  redact: Redact,
): { readonly messages: readonly Message[]; readonly options: ChatOptions } {
  return {
    messages: mapped(prompt.messages, (message) => redactMessage(message, redact)),
    options: redactTexts(prompt.options, redact),
  };
}

/** Every text of the options that a model is shown. */
const TEXTS = ["system", "context", "retrieved"] as const satisfies readonly (keyof ChatOptions)[];

function redactTexts(options: ChatOptions, redact: Redact): ChatOptions {
  const changed = TEXTS.flatMap((name): [string, string][] => {
    const text = options[name];
    const redacted = text === undefined ? undefined : redact(text);
    return redacted === undefined || redacted === text ? [] : [[name, redacted]];
  });
  return changed.length === 0 ? options : { ...options, ...Object.fromEntries(changed) };
}

/** A provider's own state is left as it is: it comes from that provider, and is signed. */
function redactMessage(message: Message, redact: Redact): Message {
  const content =
    typeof message.content === "string"
      ? redact(message.content)
      : mapped(message.content, (part) => redactPart(part, redact));
  const toolCalls = message.toolCalls && mapped(message.toolCalls, (call) => redactCall(call, redact));
  if (content === message.content && toolCalls === message.toolCalls) return message;
  return { ...message, content, ...(toolCalls === undefined ? {} : { toolCalls }) };
}

function redactPart(part: ContentPart, redact: Redact): ContentPart {
  if (part.type !== "text") return part;
  const text = redact(part.text);
  return text === part.text ? part : { ...part, text };
}

function redactCall(call: ToolCall, redact: Redact): ToolCall {
  const changed = redactRecord(call.arguments, redact);
  return changed === call.arguments ? call : { ...call, arguments: changed };
}

function redactRecord(record: Readonly<Record<string, unknown>>, redact: Redact): Readonly<Record<string, unknown>> {
  const entries = Object.entries(record);
  const changed = mapped(entries, (entry): [string, unknown] => {
    const name = redact(entry[0]);
    const value = redactValue(entry[1], redact);
    return name === entry[0] && value === entry[1] ? entry : [name, value];
  });
  return changed === entries ? record : Object.fromEntries(changed);
}

function redactValue(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return mapped(value, (item: unknown) => redactValue(item, redact));
  if (typeof value !== "object" || value === null) return value;
  // Arguments are parsed JSON: an object that is no array is a record.
  return redactRecord(value as Readonly<Record<string, unknown>>, redact);
}

/** The same array where no item changed. */
function mapped<Item>(items: readonly Item[], change: (item: Item) => Item): readonly Item[] {
  const changed = items.map(change);
  return changed.every((item, index) => item === items[index]) ? items : changed;
}
