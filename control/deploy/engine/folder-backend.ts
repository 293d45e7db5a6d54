/** Backends of the engine that are a folder of this machine: which one it is, and one that is made for a single preview. */

import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ExportedState, toStored } from "./checkpoint.ts";
import { PROJECT } from "./locks.ts";

/** The folder of a `file://` backend, absolute; null for every other one. */
export function localFolder(backend: string): string | null {
  if (!backend.startsWith("file://")) return null;
  const path = backend.slice("file://".length).split("?")[0] ?? "";
  return path.startsWith("/") ? fileURLToPath(`file://${path}`) : null;
}

/** A folder that is a backend with this one stack. Its secrets stay encrypted. */
export async function scratchBackend(name: string, state: ExportedState): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "cairn-preview-"));
  const stacks = join(folder, ".pulumi", "stacks", PROJECT);
  await mkdir(stacks, { recursive: true });
  await writeFile(join(folder, ".pulumi", "meta.yaml"), "version: 1\n");
  await writeFile(join(stacks, `${name}.json`), toStored(state, `organization/${PROJECT}/${name}`), { mode: 0o600 });
  return folder;
}
