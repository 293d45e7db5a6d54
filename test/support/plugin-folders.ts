/** Folders of plugins, as other people write them. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface PluginFolder {
  readonly kind: string;
  /** Of `index.js`; absent: there is none. */
  readonly code?: string;
  readonly contract?: number;
  /** JSON Schema. */
  readonly settings?: object;
}

/** Each in a folder of its name. */
export async function writePlugins(dir: string, plugins: Readonly<Record<string, PluginFolder>>): Promise<string> {
  for (const [name, { kind, code, contract = 1, settings }] of Object.entries(plugins)) {
    const folder = join(dir, name);
    await mkdir(folder, { recursive: true });
    const manifest = { name, version: "1.0.0", type: "module", cairn: { kind, contract, settings } };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    if (code !== undefined) await writeFile(join(folder, "index.js"), code);
  }
  return dir;
}
