/** What `npm pack` would write of a built version, with its checksum beside it. */

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { temporaryDirectory } from "../deployment.ts";
import type { ReleaseOptions } from "./program.ts";

const NODE_PROGRAM = fileURLToPath(new URL("./small-node.mjs", import.meta.url));

/** `more` goes into its package.json. */
export async function pack(
  version: string,
  { fault, ...more }: ReleaseOptions & Record<string, unknown> = {},
): Promise<{ readonly archive: string; readonly checksum: string }> {
  const folder = await temporaryDirectory();
  const program = join(folder, "package");
  await mkdir(join(program, "dist", "control"), { recursive: true });
  await mkdir(join(program, "dist", "runtime"));
  const manifest = { name: "cairn", version, fault, type: "module", ...more };
  await writeFile(join(program, "package.json"), JSON.stringify(manifest));
  await writeFile(join(program, "dist/runtime/main.js"), `import ${JSON.stringify(NODE_PROGRAM)};\n`);
  if (fault !== "incomplete") await writeFile(join(program, "dist/control/main.js"), "");
  const archive = join(folder, `cairn ${version}.tgz`);
  await execa("tar", ["-czf", archive, "-C", folder, "package"]);
  const checksum = createHash("sha256")
    .update(await readFile(archive))
    .digest("hex");
  await writeFile(`${archive}.sha256`, `${checksum}  cairn ${version}.tgz\n`);
  return { archive, checksum };
}
