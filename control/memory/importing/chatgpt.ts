/** Conversations of a ChatGPT data export (`conversations.json`): what a user and the model said on the branch that is shown. Pure. */

import { z } from "zod";
import { type MessageLine, type ReadConversation, titleLine } from "./message-line.ts";

const text = z.string().nullish();
/** Seconds since 1970. */
const time = z.number().nullish();

const message = z.object({
  id: text,
  author: z.object({ role: z.string() }),
  create_time: time,
  /** Who it is for: `all`, or a tool that the model calls. */
  recipient: text,
  content: z.object({
    content_type: z.string(),
    parts: z.array(z.unknown()).nullish(),
    text,
  }),
  metadata: z.object({ is_visually_hidden_from_conversation: z.boolean().nullish() }).nullish(),
});

/** Messages are the nodes of a tree: who changes a question, or has it answered again, begins another branch. */
const conversation = z.object({
  id: text,
  conversation_id: text,
  title: text,
  create_time: time,
  current_node: text,
  mapping: z.record(z.string(), z.object({ parent: text, message: message.nullish() })),
});

type Message = z.output<typeof message>;
type Conversation = z.output<typeof conversation>;

/** Null when it is no conversation of such an export. */
export function chatgptConversation(value: unknown): ReadConversation | null {
  const parsed = conversation.safeParse(value);
  if (!parsed.success) return null;
  const { data } = parsed;
  const id = data.conversation_id ?? data.id ?? Object.keys(data.mapping)[0];
  const title = titleLine(data.title);
  let seconds = data.create_time;
  const lines = shownBranch(data).flatMap(([node, said]): MessageLine[] => {
    seconds = said.create_time ?? seconds;
    const role = said.author.role;
    const content = wordsOf(said);
    if ((role !== "user" && role !== "assistant") || content === null) return [];
    return [
      {
        session_key: `chatgpt:${id}`,
        role,
        content,
        agent: "chatgpt",
        channel: "chatgpt",
        ...(title === undefined ? {} : { title }),
        ...timeOf(seconds),
        event_id: `chatgpt:${said.id ?? node}`,
      },
    ];
  });
  const all = Object.values(data.mapping).filter(({ message: said }) => said).length;
  return { lines, ignored: all - lines.length };
}

/** From the first message to the one that is shown last; in a tree without that, all in the order of the file. */
function shownBranch({ mapping, current_node }: Conversation): [string, Message][] {
  const last = current_node ? mapping[current_node] : undefined;
  if (!current_node || !last)
    return Object.entries(mapping).flatMap(([id, node]) => (node.message ? [[id, node.message]] : []));
  const branch: [string, Message][] = [];
  const seen = new Set<string>();
  for (let id: string | null | undefined = current_node; id && !seen.has(id); id = mapping[id]?.parent) {
    seen.add(id);
    const said = mapping[id]?.message;
    if (said) branch.push([id, said]);
  }
  return branch.reverse();
}

/** Null for what is hidden, for a tool, or empty. */
function wordsOf({ content, recipient, metadata }: Message): string | null {
  if (metadata?.is_visually_hidden_from_conversation) return null;
  if (recipient && recipient !== "all") return null;
  if (!["text", "multimodal_text", "code"].includes(content.content_type)) return null;
  const words = [...(content.parts ?? []).map(partWords), content.text ?? ""]
    .filter((part) => part.trim() !== "")
    .join("\n\n");
  return words === "" ? null : words;
}

const otherPart = z.object({ content_type: z.string(), text });

/** A text, a recording that was written down, or a word for what is no text. */
function partWords(part: unknown): string {
  if (typeof part === "string") return part;
  const { data } = otherPart.safeParse(part);
  if (data === undefined) return "";
  if (data.text) return data.text;
  return data.content_type === "image_asset_pointer" ? "[image]" : "";
}

function timeOf(seconds: number | null | undefined): { readonly created_at?: string } {
  const date = new Date((seconds ?? Number.NaN) * 1000);
  return Number.isNaN(date.getTime()) ? {} : { created_at: date.toISOString() };
}
