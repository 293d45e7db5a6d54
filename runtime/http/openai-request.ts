/** A chat-completions request as what an agent needs: the newest message, the messages before it, and its session. */

import { z } from "zod";
import type { Attachment, HistoryMessage } from "../contracts/channel.ts";
import { RuntimeError } from "../contracts/errors.ts";
import { base64Schema, MAX_ATTACHMENTS, MAX_TEXT, sessionSchema, userSchema } from "./schemas.ts";

const textPart = z.looseObject({ type: z.literal("text"), text: z.string().max(MAX_TEXT) });
const imagePart = z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string() }) });
const filePart = z.looseObject({
  type: z.literal("file"),
  file: z.looseObject({ filename: z.string().optional(), file_data: z.string().optional() }),
});
const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
const partSchema = z.discriminatedUnion("type", [textPart, imagePart, filePart, refusalPart]);

/** Of one message; each part that is wrong becomes an issue. */
const MAX_PARTS = 1_000;
const contentSchema = z.union([z.string().max(MAX_TEXT), z.array(partSchema).max(MAX_PARTS)]);

const messageSchema = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
  content: contentSchema.nullish(),
});

/** Loose: what is not named here is accepted and has no effect. */
export const completionRequestSchema = z.looseObject({
  model: z.string().min(1).describe("An agent's name."),
  messages: z.array(messageSchema).min(1).max(10_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: userSchema.nullish().describe("Whom the client speaks for; without X-Session it names the session too."),
  n: z.number().nullish().describe("1 at most."),
  tools: z.array(z.unknown()).nullish().describe("Refused: an agent has tools of its own."),
  functions: z.array(z.unknown()).nullish().describe("Refused, as tools."),
  response_format: z.looseObject({ type: z.string() }).nullish().describe("`text` only."),
  modalities: z.array(z.string()).max(10).nullish().describe("`text` only."),
  logprobs: z.boolean().nullish().describe("Refused when true."),
});

export type CompletionRequest = z.infer<typeof completionRequestSchema>;
type Part = z.infer<typeof partSchema>;

/** As a header: absent, or a session's name. */
export const sessionHeaderSchema = sessionSchema.optional();

export interface AgentRequest {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Everything before the newest message. */
  readonly history: readonly HistoryMessage[];
}

/** RUNTIME_INVALID_REQUEST for what an agent cannot do: silently leaving it out would give a wrong answer. */
export function readRequest(request: CompletionRequest): AgentRequest {
  refuseUnsupported(request);
  const newest = request.messages.at(-1);
  if (newest?.role !== "user") throw refused("messages", "the last message must have the role user");
  const earlier = request.messages.slice(0, -1);
  const { text, attachments } = readContent(newest.content ?? "", `messages.${earlier.length}.content`);
  if (text.trim() === "") throw refused(`messages.${earlier.length}.content`, "must not be blank");
  return { text, attachments, history: earlier.flatMap(readEarlier) };
}

function refuseUnsupported(request: CompletionRequest): void {
  if (request.tools?.length) throw refused("tools", "client tools are not supported: an agent has tools of its own");
  if (request.functions?.length)
    throw refused("functions", "client tools are not supported: an agent has tools of its own");
  if (request.n !== null && request.n !== undefined && request.n !== 1)
    throw refused("n", "only one choice is supported");
  if (request.response_format && request.response_format.type !== "text") {
    throw refused("response_format", "only text is supported");
  }
  if (request.modalities?.some((modality) => modality !== "text"))
    throw refused("modalities", "only text is supported");
  if (request.logprobs) throw refused("logprobs", "not supported");
}

function readEarlier(message: CompletionRequest["messages"][number], index: number): HistoryMessage[] {
  const path = `messages.${index}`;
  if (message.role === "tool" || message.role === "function") {
    throw refused(`${path}.role`, "results of client tools are not supported: an agent has tools of its own");
  }
  const { text } = readContent(message.content ?? "", `${path}.content`);
  if (text.trim() === "") return [];
  return [{ role: message.role === "developer" ? "system" : message.role, content: text }];
}

/** Pictures and files are marked in the text only where there is no text beside them. */
function readContent(content: string | readonly Part[], path: string): { text: string; attachments: Attachment[] } {
  if (typeof content === "string") return { text: content, attachments: [] };
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  for (const [index, part] of content.entries()) {
    if (part.type === "text") texts.push(part.text);
    else if (part.type === "refusal") texts.push(part.refusal);
    else attachments.push(readAttachment(part, `${path}.${index}`, attachments.length + 1));
  }
  if (attachments.length > MAX_ATTACHMENTS) throw refused(path, `at most ${MAX_ATTACHMENTS} attachments are accepted`);
  const text = texts.join("\n");
  return { text: text.trim() === "" ? attachments.map(({ name }) => `[${name}]`).join(" ") : text, attachments };
}

function readAttachment(
  part: z.infer<typeof imagePart> | z.infer<typeof filePart>,
  path: string,
  ordinal: number,
): Attachment {
  const [url, field] =
    part.type === "image_url"
      ? [part.image_url.url, `${path}.image_url.url`]
      : [part.file.file_data, `${path}.file.file_data`];
  const [head = "", data = ""] = splitOnce(url ?? "", ",");
  const mediaType = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]+)*;base64$/i.exec(head)?.[1];
  if (!mediaType || !base64Schema.safeParse(data).success) {
    throw refused(field, "must be a data: URL with base64 content; nothing is fetched from elsewhere");
  }
  if (part.type === "file" && part.file.filename) return { name: part.file.filename.slice(0, 255), mediaType, data };
  const extension = mediaType.split("/")[1]?.replace(/\+.*$/, "") ?? "bin";
  return { name: `${part.type === "file" ? "file" : "image"}-${ordinal}.${extension}`, mediaType, data };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function refused(path: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_INVALID_REQUEST", `${path}: ${message}.`, { issues: [{ path, message }] });
}
