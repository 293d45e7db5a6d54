/** What an archive says of itself in its last line: rows and hash of each section (runtime/files/memory-archive.ts). Two are compared by it. */

import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { z } from "zod";

export const sections = z.array(z.object({ name: z.string(), count: z.number(), sha256: z.string() }));
const manifest = z.object({ $manifest: sections });

export type Manifest = z.infer<typeof sections>;

/** Whether two archives of one store hold the same rows, in every section. */
export function isSame(one: Manifest, other: Manifest): boolean {
  const words = (of: Manifest): string => JSON.stringify(of.map(({ name, count, sha256 }) => [name, count, sha256]));
  return words(one) === words(other);
}

/**
 * Sections whose rows are the same wherever they are stored. A restore changes some columns of the others (a turn that ran is
 * interrupted), and the two backends may sort and print them differently: those are compared by their number.
 */
const SAME_BYTES: ReadonlySet<string> = new Set([
  "messages",
  "message_keys",
  "payloads",
  "summaries",
  "summary_parents",
  "summary_sources",
  "attachments",
]);

const LINE_FEED = 0x0a;

/** Reads the archive to its end; the store that wrote it has checked it. Rejects where it is cut off. */
export async function readManifest(archive: AsyncIterable<Uint8Array>): Promise<Manifest> {
  const gunzip = createGunzip();
  const fed = pipeline(archive, gunzip);
  // The reading below rejects with its error.
  fed.catch(() => undefined);
  let last: Buffer = Buffer.alloc(0);
  let open: Buffer[] = [];
  for await (const part of gunzip) {
    const chunk = Buffer.from(part);
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end < 0) {
      open.push(chunk);
      continue;
    }
    const start = end === 0 ? -1 : chunk.lastIndexOf(LINE_FEED, end - 1);
    last = start < 0 ? Buffer.concat([...open, chunk.subarray(0, end)]) : Buffer.from(chunk.subarray(start + 1, end));
    open = [chunk.subarray(end + 1)];
  }
  await fed;
  return manifest.parse(JSON.parse(last.toString("utf8"))).$manifest;
}

/** The first difference in words; null where both hold the same. */
export function difference(source: Manifest, target: Manifest): string | null {
  const there = new Map(target.map((section) => [section.name, section]));
  for (const { name, count, sha256 } of source) {
    const found = there.get(name);
    if ((found?.count ?? 0) !== count) return `${name}: ${count} in the source, ${found?.count ?? 0} in the target`;
    if (SAME_BYTES.has(name) && found?.sha256 !== sha256) return `${name}: the rows are not the same`;
  }
  const names = new Set(source.map(({ name }) => name));
  const more = target.find(({ name, count }) => !names.has(name) && count > 0);
  return more === undefined ? null : `${more.name}: 0 in the source, ${more.count} in the target`;
}
