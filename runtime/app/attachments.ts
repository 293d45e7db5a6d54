/** Attachments as content-addressed files: written before their message is stored, named by their SHA-256, never changed. */

import { createHash } from "node:crypto";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Attachment } from "../contracts/channel.ts";
import type { NewId } from "../contracts/ports.ts";
import { writeDurably } from "../files/durable.ts";

export interface AttachmentRef {
  readonly sha256: string;
  readonly name: string;
  readonly media_type: string;
  /** Bytes. */
  readonly size: number;
}

export interface AttachmentStore {
  /** What `save` will answer; writes nothing. */
  describe(attachment: Attachment): AttachmentRef;
  /** Durable when it resolves. */
  save(attachment: Attachment): Promise<AttachmentRef>;
  /** Null when the file is not on this node. */
  load(ref: AttachmentRef): Promise<Buffer | null>;
}

export function createAttachmentStore(directory: string, newId: NewId): AttachmentStore {
  const pathOf = (sha256: string) => join(directory, sha256.slice(0, 2), sha256);
  return {
    describe: (attachment) => refOf(attachment, Buffer.from(attachment.data, "base64")),
    async save(attachment) {
      const data = Buffer.from(attachment.data, "base64");
      const ref = refOf(attachment, data);
      const { sha256 } = ref;
      const path = pathOf(sha256);
      const folder = join(directory, sha256.slice(0, 2));
      const present = await stat(path).catch(() => null);
      if (present?.size !== data.length) {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeDurably(path, data, { mode: 0o600, temporary: `${path}.${newId()}` });
      }
      return ref;
    },
    async load(ref) {
      // The name is a hash by construction; anything else never becomes a path.
      if (!/^[0-9a-f]{64}$/.test(ref.sha256)) return null;
      return readFile(pathOf(ref.sha256)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return null;
        throw error;
      });
    },
  };
}

function refOf({ name, mediaType }: Attachment, data: Buffer): AttachmentRef {
  const sha256 = createHash("sha256").update(data).digest("hex");
  return { sha256, name, media_type: mediaType, size: data.length };
}
