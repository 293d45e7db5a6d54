/** Conversations of a claude.ai data export (`conversations.json`), with the texts of what was attached to them. Pure. */

import { z } from "zod";
import { type MessageLine, type ReadConversation, titleLine } from "./message-line.ts";

const text = z.string().nullish();

const message = z.object({
  uuid: z.string(),
  sender: z.string(),
  text,
  /** Blocks of text, of thoughts, of tools. */
  content: z.array(z.object({ type: z.string(), text })).nullish(),
  created_at: text,
  attachments: z.array(z.object({ file_name: text, extracted_content: text })).nullish(),
});

const conversation = z.object({ uuid: z.string(), name: text, chat_messages: z.array(message) });

type Message = z.output<typeof message>;

/** Null when it is no conversation of such an export. */
export function claudeConversation(value: unknown): ReadConversation | null {
  const parsed = conversation.safeParse(value);
  if (!parsed.success) return null;
  const { uuid, name, chat_messages } = parsed.data;
  const title = titleLine(name);
  const lines = chat_messages.flatMap((said): MessageLine[] => {
    const role = { human: "user", assistant: "assistant" }[said.sender];
    const content = wordsOf(said);
    if ((role !== "user" && role !== "assistant") || content === "") return [];
    return [
      {
        session_key: `claude:${uuid}`,
        role,
        content,
        agent: "claude",
        channel: "claude",
        ...(title === undefined ? {} : { title }),
        ...timeOf(said.created_at),
        event_id: `claude:${said.uuid}`,
      },
    ];
  });
  return { lines, ignored: chat_messages.length - lines.length };
}

/** Blocks say more exactly than `text` what was said: that has marks where a tool was called. */
function wordsOf({ text: whole, content, attachments }: Message): string {
  const blocks = (content ?? []).flatMap((block) => (block.type === "text" && block.text?.trim() ? [block.text] : []));
  const said = blocks.length > 0 ? blocks : [whole ?? ""];
  const attached = (attachments ?? []).flatMap(({ file_name, extracted_content }) =>
    extracted_content?.trim() ? [`Attachment ${file_name || "without a name"}:\n${extracted_content}`] : [],
  );
  return [...said, ...attached].filter((part) => part.trim() !== "").join("\n\n");
}

function timeOf(written: string | null | undefined): { readonly created_at?: string } {
  const date = new Date(written ?? "");
  return Number.isNaN(date.getTime()) ? {} : { created_at: date.toISOString() };
}
