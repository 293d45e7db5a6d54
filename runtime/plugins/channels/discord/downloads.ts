/** Files of messages, from Discord's CDN. */

import type { APIAttachment, APIMessage } from "discord-api-types/v10";
import type { Attachment } from "../../../contracts/channel.ts";
import { ChannelError, RuntimeError } from "../../../contracts/errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { FileSource } from "../chat-message.ts";

/** Of all files of a message together. */
const MOST_BYTES = 25 * 1024 ** 2;
/** Of one message (Discord allows 10). */
const MOST_FILES = 10;
const DOWNLOAD_MS = 60_000;

/** Types are the sender's word, and sizes too: they are counted while the files come. */
export function filesOf({ attachments }: APIMessage): readonly FileSource[] {
  if (!Array.isArray(attachments)) return [];
  let remaining = MOST_BYTES;
  return attachments
    .filter(isFile)
    .slice(0, MOST_FILES)
    .map((file) => async (signal): Promise<Attachment> => {
      if (file.size > remaining) throw tooLarge(file.filename);
      const data = await read(file, remaining, signal);
      remaining -= data.length;
      const mediaType = file.content_type?.split(";")[0] || "application/octet-stream";
      return { name: file.filename, mediaType, data: data.toString("base64") };
    });
}

async function read({ url, filename }: APIAttachment, most: number, signal: AbortSignal): Promise<Buffer> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]);
  const response = await fetch(url, { signal: limited, redirect: "error" }).catch(() => null);
  if (!response?.ok || response.body === null) {
    await response?.body?.cancel().catch(() => undefined);
    throw response !== null && response.status >= 400 && response.status < 500 ? unavailable(filename) : lost();
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body) {
      length += chunk.length;
      if (length > most) throw tooLarge(filename);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof RuntimeError ? error : lost();
  }
  return Buffer.concat(chunks);
}

function isFile(value: unknown): value is APIAttachment {
  if (!isRecord(value)) return false;
  const { url } = value;
  if (typeof url !== "string" || !/^https?:/.test(url) || !URL.canParse(url)) return false;
  return typeof value["filename"] === "string" && typeof value["size"] === "number";
}

function tooLarge(name: string): RuntimeError {
  return new RuntimeError("RUNTIME_BODY_TOO_LARGE", `A message may bring files of 25 MB in all; not taken: ${name}.`);
}

function unavailable(name: string): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_FOUND", `Discord does not give out the file ${name}.`);
}

function lost(): ChannelError {
  return new ChannelError("CHANNEL_CONNECTION_LOST", "A file could not be fetched from Discord.");
}
