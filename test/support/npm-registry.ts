/** A registry of packages on loopback, for the real npm, and archives as npm packs them. */

import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { create } from "tar";

export interface Packed {
  readonly name: string;
  readonly version: string;
  readonly archive: Buffer;
}

/** `files` are below the package's folder, package.json among them. */
export async function packed(files: Readonly<Record<string, string>>): Promise<Packed> {
  const { name, version } = JSON.parse(files["package.json"] ?? "{}") as { name: string; version: string };
  const folder = await mkdtemp(join(tmpdir(), "cairn-packed-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, "package", path)), { recursive: true });
      await writeFile(join(folder, "package", path), text);
    }
    const file = join(folder, "package.tgz");
    await create({ file, cwd: folder, gzip: true, portable: true }, ["package"]);
    return { name, version, archive: await readFile(file) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface Registry {
  readonly url: string;
  /** Paths, in their order. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** Serves what it is given, each under its name or under `as`; everything else it does not have. */
export async function startRegistry(packages: readonly (Packed & { readonly as?: string })[]): Promise<Registry> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    requests.push(path);
    const archive = packages.find((one) => path === `/-/${one.as ?? one.name}-${one.version}.tgz`);
    if (archive) return void response.end(archive.archive);
    const versions = packages.filter((one) => path === `/${one.as ?? one.name}`);
    if (versions.length === 0) return void response.writeHead(404).end('{"error":"not_found"}');
    const documents = versions.map((one) => {
      const integrity = `sha512-${createHash("sha512").update(one.archive).digest("base64")}`;
      const name = one.as ?? one.name;
      return [
        one.version,
        { name, version: one.version, dist: { integrity, tarball: `${url}/-/${name}-${one.version}.tgz` } },
      ];
    });
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name: path.slice(1), "dist-tags": {}, versions: Object.fromEntries(documents) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
