import { createHash, type Hash } from "node:crypto";
import type { Queryable, Transaction } from "../../contracts/database.ts";
import { invalid } from "../../files/memory-archive.ts";
import { CHUNK, listAttachments, readChunks, writeChunk } from "../attachments/chunks.ts";
import { SHA256 } from "../attachments/refs.ts";

/** Attachments in an archive, each once, named by the SHA-256 of its bytes. */

/** One line for each attachment, followed by lines of its bytes in base64. */
export async function* attachmentLines(
  database: Queryable,
): AsyncGenerator<{ readonly line: string; readonly counts: boolean }> {
  for await (const { sha256, size } of listAttachments(database)) {
    yield { line: JSON.stringify({ file: sha256, size }), counts: true };
    for await (const chunk of readChunks(database, sha256)) {
      yield { line: JSON.stringify({ data: chunk.toString("base64") }), counts: false };
    }
  }
}

interface Current {
  readonly name: string;
  readonly size: number;
  readonly hash: Hash;
  /** Bytes that were read. */
  read: number;
  /** Bytes that are not written yet. */
  rest: Buffer;
  /** Chunks that were written. */
  chunks: number;
  /** The store has it: nothing is written. */
  present: boolean;
}

/**
 * Takes the lines of the section and writes its attachments in the transaction of the restore. MEMORY_ARCHIVE_INVALID when bytes
 * do not have the hash that names them.
 */
export class AttachmentRestore {
  readonly #tx: Transaction;
  readonly #seen = new Set<string>();
  #current: Current | undefined;

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  async line(text: string): Promise<void> {
    const { file, size, data } = parse(text);
    if (typeof data === "string") return this.#add(Buffer.from(data, "base64"));
    await this.end();
    if (typeof file !== "string" || !SHA256.test(file) || typeof size !== "number") {
      throw invalid("the name of an attachment was altered");
    }
    if (this.#seen.has(file)) throw invalid("an attachment is there twice");
    this.#seen.add(file);
    const hash = createHash("sha256");
    this.#current = { name: file, size, hash, read: 0, rest: Buffer.alloc(0), chunks: 0, present: false };
  }

  /** The last one is whole. */
  async end(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    if (current.rest.length > 0 || current.chunks === 0) await this.#write(current, current.rest);
    if (current.read !== current.size || current.hash.digest("hex") !== current.name) {
      throw invalid("an attachment was altered");
    }
  }

  async #add(bytes: Buffer): Promise<void> {
    const current = this.#current;
    if (current === undefined) throw invalid("an attachment has no name");
    current.hash.update(bytes);
    current.read += bytes.length;
    const held = Buffer.concat([current.rest, bytes]);
    let written = 0;
    for (; held.length - written >= CHUNK; written += CHUNK) {
      await this.#write(current, held.subarray(written, written + CHUNK));
    }
    current.rest = held.subarray(written);
  }

  async #write(current: Current, bytes: Buffer): Promise<void> {
    if (current.present) return;
    current.present = !(await writeChunk(this.#tx, current.name, current.chunks, bytes));
    current.chunks += 1;
  }
}

function parse(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    // Members are checked where they are used.
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // Falls through to the error that says so.
  }
  throw invalid("an attachment was altered");
}
