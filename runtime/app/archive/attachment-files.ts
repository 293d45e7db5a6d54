import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../contracts/system-errors.ts";
import { invalid } from "./format.ts";

/** Attachments in an archive: content-addressed files, each named by the SHA-256 of its bytes. */

const NAME = /^[0-9a-f]{64}$/;
/** Bytes of a file in one line. */
const CHUNK = 48 * 1_024;

/** One line for each file, followed by lines of its bytes in base64. Nothing when the directory is missing. */
export async function* attachmentLines(
  directory: string,
): AsyncGenerator<{ readonly line: string; readonly counts: boolean }> {
  for (const name of await attachmentNames(directory)) {
    const path = join(directory, name.slice(0, 2), name);
    yield { line: JSON.stringify({ file: name, size: (await stat(path)).size }), counts: true };
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK })) {
      // Without an encoding the stream's chunks are buffers.
      yield { line: JSON.stringify({ data: (chunk as Buffer).toString("base64") }), counts: false };
    }
  }
}

async function attachmentNames(directory: string): Promise<string[]> {
  const folders = await list(directory);
  const names: string[] = [];
  for (const folder of folders.filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    const files = await list(join(directory, folder));
    names.push(...files.filter((name) => NAME.test(name) && name.startsWith(folder)));
  }
  return names.sort();
}

async function list(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/**
 * Takes the lines of the section and stages its files beside the directory; `place` moves them in, `discard` leaves the
 * directory as it was. MEMORY_ARCHIVE_INVALID when a file's bytes do not have the hash that names it.
 */
export class AttachmentRestore {
  readonly #directory: string;
  readonly #staging: string;
  readonly #staged: string[] = [];
  readonly #placed: string[] = [];
  #current: { readonly name: string; readonly size: number; readonly file: FileHandle; written: number } | undefined;
  #hash = createHash("sha256");

  constructor(directory: string, staging: string) {
    this.#directory = directory;
    this.#staging = staging;
  }

  async line(text: string): Promise<void> {
    const { file, size, data } = parse(text);
    if (typeof data === "string") {
      if (this.#current === undefined) throw invalid("an attachment has no name");
      const bytes = Buffer.from(data, "base64");
      this.#hash.update(bytes);
      this.#current.written += bytes.length;
      await this.#current.file.write(bytes);
      return;
    }
    await this.end();
    if (typeof file !== "string" || !NAME.test(file) || typeof size !== "number") {
      throw invalid("the name of an attachment was altered");
    }
    this.#hash = createHash("sha256");
    this.#current = { name: file, size, file: await create(join(this.#staging, file)), written: 0 };
  }

  /** The last file is whole. */
  async end(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    await current.file.sync();
    await current.file.close();
    if (current.written !== current.size || this.#hash.digest("hex") !== current.name) {
      throw invalid("an attachment was altered");
    }
    this.#staged.push(current.name);
  }

  async place(): Promise<void> {
    for (const name of this.#staged) {
      const folder = join(this.#directory, name.slice(0, 2));
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, name);
      // Files that are there have this content: their name says so.
      if (await exists(path)) continue;
      await rename(join(this.#staging, name), path);
      this.#placed.push(path);
    }
    for (const folder of new Set(this.#staged.map((name) => join(this.#directory, name.slice(0, 2))))) {
      const handle = await open(folder, "r");
      await handle.sync().finally(() => handle.close());
    }
  }

  async discard(): Promise<void> {
    await this.#current?.file.close().catch(() => {});
    for (const path of this.#placed) await rm(path, { force: true });
  }
}

async function create(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw invalid("an attachment is there twice");
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
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
