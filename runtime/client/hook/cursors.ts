/** How far each session has been captured. A lost or stale cursor only costs time: the node recognises the events by their ids. */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { preparePrivateDirectory, writePrivateFile } from "../capture/private-files.ts";

/** Of a file that grows line by line. */
export interface FileCursor {
  readonly kind: "file";
  readonly path: string;
  /** Of the file; another one under the same path is read from its start. */
  readonly inode: number;
  /** Bytes that have been captured, whole lines. */
  readonly offset: number;
  /** Lines that have been captured. */
  readonly line: number;
}

/** Of a session in a database. */
export interface SessionCursor {
  readonly kind: "session";
  readonly path: string;
  readonly session: string;
  /** The last message of which everything has been captured. */
  readonly time: number;
  readonly message: string;
  /** Messages of the session up to that one. When there are others, a clock went back or some were undone. */
  readonly count: number;
}

export type Cursor = FileCursor | SessionCursor;

export class Cursors {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Null when there is none, or none that can be read. */
  async read<Kind extends Cursor["kind"]>(
    kind: Kind,
    path: string,
    session = "",
  ): Promise<Extract<Cursor, { kind: Kind }> | null> {
    const cursor = parse(await readFile(this.#file(path, session), "utf8").catch(() => ""));
    // The kind was just compared.
    return cursor?.kind === kind && cursor.path === path ? (cursor as Extract<Cursor, { kind: Kind }>) : null;
  }

  async write(cursor: Cursor): Promise<void> {
    await preparePrivateDirectory(this.#directory);
    const file = this.#file(cursor.path, cursor.kind === "session" ? cursor.session : "");
    await writePrivateFile(file, `${JSON.stringify(cursor)}\n`);
  }

  async all(): Promise<Cursor[]> {
    const names = await readdir(this.#directory).catch(() => []);
    const texts = await Promise.all(
      names
        .filter((name) => name.endsWith(".json"))
        .map((name) => readFile(join(this.#directory, name), "utf8").catch(() => "")),
    );
    return texts.flatMap((text) => parse(text) ?? []);
  }

  #file(path: string, session: string): string {
    const name = createHash("sha256").update(`${path}\0${session}`).digest("hex").slice(0, 32);
    return join(this.#directory, `${name}.json`);
  }
}

function parse(text: string): Cursor | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("kind" in value)) return null;
    // Written by this class; a member that is missing reads as undefined and starts the session anew.
    return value.kind === "file" || value.kind === "session" ? (value as Cursor) : null;
  } catch {
    return null;
  }
}
