/** A file as `cairn backup` makes it, of a memory without a row: for what reads one and has no node to take it from. */

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import type { Source } from "../../control/backup/contents.ts";
import { FORMAT, type Manifest, MEMORY } from "../../control/backup/manifest.ts";
import { pack } from "../../control/backup/pack.ts";
import { seal } from "../../control/backup/seal.ts";
import { ArchiveLines, FORMAT as MEMORY_FORMAT } from "../../runtime/files/memory-archive.ts";

export interface SealedBackup {
  readonly passphrase: string;
  readonly about: Partial<Manifest["deployment"]>;
  readonly createdAt: Date;
  readonly sources?: readonly Source[];
}

/** Its path. */
export async function writeSealedBackup(
  file: string,
  { passphrase, about, createdAt, sources = [] }: SealedBackup,
): Promise<string> {
  const lines = new ArchiveLines();
  const created_at = createdAt.toISOString();
  const head = lines.header({ format: MEMORY_FORMAT, version: "1.0.0", schema_version: 1, created_at });
  const content = gzipSync(`${head}\n${lines.manifest()}\n`);
  const path = `${file}.memory`;
  await writeFile(path, content);
  const bytes = content.length;
  const manifest: Manifest = {
    cairn_backup: FORMAT,
    id: "one",
    version: "1.0.0",
    schema_version: 1,
    created_at,
    deployment: { target: "docker", backend: "postgres", nodes: ["one", "two"], directory: "", home: "", ...about },
    memories: [{ entry: MEMORY, node: null, bytes, sha256: createHash("sha256").update(content).digest("hex") }],
  };
  const { signal } = new AbortController();
  const staged = [{ entry: MEMORY, path, bytes }];
  const packed = pack({ manifest, staged, sources, passed: new Set(), leftOut: [], signal });
  await writeFile(file, seal(packed, passphrase));
  return file;
}
