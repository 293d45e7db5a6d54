/** Nodes that are played for their memory alone: a server that is ready, and gives an archive with one row. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import { ArchiveLines, FORMAT } from "../../runtime/files/memory-archive.ts";

/** The archive of a memory with one row. */
export function archive(row: string): Buffer {
  const lines = new ArchiveLines();
  const header = { format: FORMAT, version: "0.1.0", schema_version: 1, created_at: "2030-01-31T00:00:00.000Z" };
  const all = [lines.header(header), lines.start("messages", ["id"]), lines.line(`{"id":"${row}"}`), lines.end()];
  return gzipSync(`${[...all, lines.manifest()].join("\n")}\n`);
}

/** A node that is ready and gives its memory. Its port. */
export async function playNode(memory: Buffer): Promise<number> {
  const server = createServer((request, response) => {
    const isBackup = request.url === "/api/admin/memory/backup";
    response.writeHead(200, { "content-type": isBackup ? "application/gzip" : "application/json" });
    response.end(isBackup ? memory : JSON.stringify({ ok: true, result: {}, status: "ready" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return port;
}
