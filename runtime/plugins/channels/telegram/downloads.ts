/** Files of messages. The Bot API gives out those of at most 20 MB. */

import type { Api } from "grammy";
import { GrammyError } from "grammy";
import { ChannelError, RuntimeError } from "../../../contracts/errors.ts";
import type { FileSource } from "../chat-message.ts";
import { connectionError } from "./errors.ts";
import { given } from "./signal.ts";
import type { PersonMessage } from "./updates.ts";

export interface Downloads {
  /** The message's file, where it has one. */
  of(message: PersonMessage): readonly FileSource[];
}

const MOST_BYTES = 20 * 1024 ** 2;
const DOWNLOAD_MS = 60_000;

interface Given {
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
}

/** `files`: address under which files are, without a slash at the end. It holds the token. */
export function createDownloads({ api, files }: { readonly api: Api; readonly files: string }): Downloads {
  async function pathOf(id: string, name: string, signal: AbortSignal): Promise<string> {
    try {
      const { file_path: path } = await api.getFile(id, given(signal));
      if (path !== undefined) return path;
    } catch (error) {
      if (error instanceof GrammyError && error.description.includes("too big")) throw tooLarge(name);
      if (error instanceof GrammyError && [400, 403, 404].includes(error.error_code)) throw unavailable(name);
      throw connectionError(error);
    }
    throw unavailable(name);
  }

  /** Bounded while it comes: what was said about the size may not be so. */
  async function read(path: string, name: string, signal: AbortSignal): Promise<Buffer> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]);
    const response = await fetch(`${files}/${path}`, { signal: limited }).catch(() => null);
    if (!response?.ok || response.body === null) {
      await response?.body?.cancel().catch(() => undefined);
      throw response !== null && response.status >= 400 && response.status < 500 ? unavailable(name) : lost();
    }
    const chunks: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const chunk of response.body) {
        length += chunk.length;
        if (length > MOST_BYTES) throw tooLarge(name);
        chunks.push(chunk);
      }
    } catch (error) {
      throw error instanceof RuntimeError ? error : lost();
    }
    return Buffer.concat(chunks);
  }

  return {
    of(message) {
      const file = fileOf(message);
      if (file === null) return [];
      const { id, name, mediaType } = file;
      const fetched: FileSource = async (signal) => {
        const data = await read(await pathOf(id, name, signal), name, signal);
        return { name, mediaType, data: data.toString("base64") };
      };
      return [fetched];
    },
  };
}

/** Types are the sender's word; of pictures and voices the platform's. */
function fileOf({ photo, document, voice, audio, video, message_id: number }: PersonMessage): Given | null {
  const largest = photo?.at(-1);
  if (largest) return { id: largest.file_id, name: `photo-${number}.jpg`, mediaType: "image/jpeg" };
  if (voice) return { id: voice.file_id, name: `voice-${number}.ogg`, mediaType: voice.mime_type ?? "audio/ogg" };
  const file = document ?? audio ?? video;
  if (!file) return null;
  const mediaType = file.mime_type ?? "application/octet-stream";
  return { id: file.file_id, name: file.file_name ?? `file-${number}`, mediaType };
}

function tooLarge(name: string): RuntimeError {
  return new RuntimeError("RUNTIME_BODY_TOO_LARGE", `Telegram gives bots no file of more than 20 MB: ${name}.`);
}

function unavailable(name: string): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_FOUND", `Telegram does not give out the file ${name}.`);
}

function lost(): ChannelError {
  return new ChannelError("CHANNEL_CONNECTION_LOST", "A file could not be fetched from Telegram.");
}
