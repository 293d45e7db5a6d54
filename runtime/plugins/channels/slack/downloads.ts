/** Files of messages. Slack gives them out for the bot's token, which goes to Slack's own hosts alone. */

import type { Attachment } from "../../../contracts/channel.ts";
import { ChannelError, RuntimeError } from "../../../contracts/errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { FileSource } from "../chat-message.ts";

export interface DownloadsDeps {
  readonly token: string;
  /** Of the API: files are on its host, or on one below it. */
  readonly baseUrl: string;
}

export interface Downloads {
  of(files: unknown): readonly FileSource[];
}

interface SlackFile {
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  /** Undefined where the platform says none: the file is gone, or hidden by the workspace's plan. */
  readonly url: string | undefined;
}

/** Of all files of a message together. */
const MOST_BYTES = 25 * 1024 ** 2;
/** Of one message (Slack allows 10). */
const MOST_FILES = 10;
const DOWNLOAD_MS = 60_000;

export function createDownloads({ token, baseUrl }: DownloadsDeps): Downloads {
  const api = new URL(baseUrl);

  function isSlacks(address: string): boolean {
    const url = URL.parse(address);
    if (url === null || url.protocol !== api.protocol) return false;
    return url.host === api.host || url.host.endsWith(`.${api.host}`);
  }

  async function read({ name, url, mediaType }: SlackFile, most: number, signal: AbortSignal): Promise<Buffer> {
    if (url === undefined || !isSlacks(url)) throw unavailable(name);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]);
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(url, { headers, signal: limited, redirect: "manual" }).catch(() => null);
    if (response === null) throw lost();
    // Without the right to read files Slack sends the browser to its page for signing in.
    const isPage = response.headers.get("content-type")?.startsWith("text/html") && mediaType !== "text/html";
    if (!response.ok || isPage || response.body === null) {
      await response.body?.cancel().catch(() => undefined);
      throw response.status >= 500 || response.status === 429 ? lost() : unavailable(name);
    }
    const chunks: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const chunk of response.body) {
        length += chunk.length;
        if (length > most) throw tooLarge(name);
        chunks.push(chunk);
      }
    } catch (error) {
      throw error instanceof RuntimeError ? error : lost();
    }
    return Buffer.concat(chunks);
  }

  return {
    /** Types are the sender's word, and sizes too: they are counted while the files come. */
    of(files) {
      if (!Array.isArray(files)) return [];
      let remaining = MOST_BYTES;
      return files.slice(0, MOST_FILES).flatMap((value: unknown): FileSource[] => {
        const file = fileOf(value);
        if (file === undefined) return [];
        return [
          async (signal): Promise<Attachment> => {
            if (file.size > remaining) throw tooLarge(file.name);
            const data = await read(file, remaining, signal);
            remaining -= data.length;
            return { name: file.name, mediaType: file.mediaType, data: data.toString("base64") };
          },
        ];
      });
    },
  };
}

function fileOf(value: unknown): SlackFile | undefined {
  if (!isRecord(value)) return undefined;
  const { name, mimetype, size, url_private_download: url } = value;
  return {
    name: typeof name === "string" && name !== "" ? name : "file",
    mediaType: (typeof mimetype === "string" && mimetype.split(";")[0]) || "application/octet-stream",
    size: typeof size === "number" ? size : 0,
    url: typeof url === "string" ? url : undefined,
  };
}

function tooLarge(name: string): RuntimeError {
  return new RuntimeError("RUNTIME_BODY_TOO_LARGE", `A message may bring files of 25 MB in all; not taken: ${name}.`);
}

function unavailable(name: string): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_FOUND", `Slack does not give out the file ${name}.`);
}

function lost(): ChannelError {
  return new ChannelError("CHANNEL_CONNECTION_LOST", "A file could not be fetched from Slack.");
}
