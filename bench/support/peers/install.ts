/** The other systems are installed on demand, beside and not in this project: pinned by bench/peers/package-lock.json. */

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { execa } from "execa";
import { z } from "zod";
import type { OpenPeer } from "../../peers/peer.d.ts";

const SOURCE = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "peers");

export interface InstalledPeer {
  /** Package and version. */
  readonly name: string;
  readonly open: OpenPeer;
}

const moduleSchema = z.object({ name: z.string(), open: z.custom<OpenPeer>((value) => typeof value === "function") });
const manifestSchema = z.object({ dependencies: z.record(z.string(), z.string()) });

export async function installPeers(files: readonly string[], signal: AbortSignal): Promise<InstalledPeer[]> {
  const folder = await installed(signal);
  const { dependencies } = manifestSchema.parse(JSON.parse(await readFile(join(folder, "package.json"), "utf8")));
  const peers: InstalledPeer[] = [];
  for (const file of files) {
    const { name, open } = moduleSchema.parse(await import(pathToFileURL(join(folder, file)).href));
    peers.push({ name: `${name} ${dependencies[name]}`, open });
  }
  return peers;
}

async function installed(signal: AbortSignal): Promise<string> {
  const content = await Promise.all(
    ["package.json", "package-lock.json", "mem0.js", "mastra.js"].map((file) => readFile(join(SOURCE, file))),
  );
  const hash = createHash("sha256").update(Buffer.concat(content)).digest("hex").slice(0, 12);
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "cairn-bench");
  const folder = join(cache, `peers-${hash}`);
  if (await exists(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  await mkdir(cache, { recursive: true });
  await cp(SOURCE, fresh, { recursive: true, filter: (path) => !path.includes("node_modules") });
  try {
    process.stderr.write("installing the other systems\n");
    // Their optional peers are many databases and models, of which these benches use none.
    await execa("npm", ["ci", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"], {
      cwd: fresh,
      cancelSignal: signal,
    });
    await rename(fresh, folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return folder;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
