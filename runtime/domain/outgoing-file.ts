/** Files that agents send: what they are, and which ones are not sent. Pure. */

import mime from "mime";
import { visibleText } from "./prompt-data.ts";

/** Bytes of one file. It is in memory as a whole while it is sent. */
export const MAX_FILE_BYTES = 25 * 1024 ** 2;
/** Files of one turn. */
export const MAX_FILES = 20;
/** UTF-16 code units. */
export const MAX_FILE_NAME = 255;

export interface FileLimits {
  /** Bytes. */
  readonly maxBytes: number;
  /** Whose limit it is, in words that fit after "of at most 10 MiB". */
  readonly reason: string;
}

/** The tighter of what the turn's user and its channel take. `othersBytes`: of a user who is not the owner. */
export function fileLimits(
  { owner }: { readonly owner: boolean },
  { othersBytes, channelBytes }: { readonly othersBytes: number; readonly channelBytes: number | undefined },
): FileLimits {
  const ofUser = owner
    ? { maxBytes: MAX_FILE_BYTES, reason: "is sent" }
    : { maxBytes: Math.min(othersBytes, MAX_FILE_BYTES), reason: "is sent to this user" };
  if (channelBytes === undefined || channelBytes >= ofUser.maxBytes) return ofUser;
  return { maxBytes: channelBytes, reason: "is taken by the platform" };
}

/** Why it is not sent; null where it is. */
export function fileProblem(
  { name, size }: { readonly name: string; readonly size: number },
  { maxBytes, reason }: FileLimits,
): string | null {
  if (!isFileName(name)) return "the name of a file has 1 to 255 characters, no slash and nothing that is not seen";
  if (size === 0) return `${name} is empty`;
  if (size > maxBytes) return `${name} has ${size} bytes, and a file of at most ${maxBytes} bytes ${reason}`;
  return null;
}

function isFileName(name: string): boolean {
  const isPath = /[/\\]/.test(name) || name === "." || name === "..";
  return name.trim() !== "" && name.length <= MAX_FILE_NAME && !isPath && visibleText(name) === name;
}

/** By its name's ending; without a known one, text where it can be read as such. */
export function mediaTypeOf(name: string, data: Buffer): string {
  const type = name.includes(".") ? mime.getType(name) : null;
  // Endings of recordings are those of source code, too, such as `.ts`.
  if (type !== null && !/^(?:audio|video)\//.test(type)) return type;
  return isText(data) ? "text/plain" : (type ?? "application/octet-stream");
}

function isText(data: Buffer): boolean {
  if (data.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(data);
    return true;
  } catch {
    return false;
  }
}
