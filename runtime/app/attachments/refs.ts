import { createHash } from "node:crypto";
import type { Attachment } from "../../contracts/channel.ts";

export const SHA256 = /^[0-9a-f]{64}$/;

/** What rows say of an attachment; its bytes are found by their hash. */
export interface AttachmentRef {
  /** Of the bytes, 64 hexadecimal digits. */
  readonly sha256: string;
  readonly name: string;
  readonly media_type: string;
  /** Bytes. */
  readonly size: number;
}

export interface ReceivedAttachment {
  readonly ref: AttachmentRef;
  readonly data: Buffer;
}

export function toReceived({ name, mediaType, data: base64 }: Attachment): ReceivedAttachment {
  const data = Buffer.from(base64, "base64");
  return { ref: { sha256: hashOf(data), name, media_type: mediaType, size: data.length }, data };
}

export function hashOf(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
