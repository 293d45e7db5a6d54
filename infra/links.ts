/**
 * Links this installation into the rendered project's node_modules, so that `pulumi up` by hand runs this program with the one
 * copy of the SDK that it was made with. Packages that were installed there by hand are kept.
 */

import { randomUUID } from "node:crypto";
import { lstat, mkdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { packageDirectory } from "./templates.ts";

export async function linkPackages(project: string): Promise<void> {
  const sdk = dirname(createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json"));
  await link(join(project, "node_modules", "cairn"), packageDirectory());
  await link(join(project, "node_modules", "@pulumi", "pulumi"), sdk);
}

async function link(path: string, target: string): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (stats !== null && !stats.isSymbolicLink()) return;
  if (stats !== null && (await readlink(path)) === target) return;
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${randomUUID()}`;
  try {
    await symlink(target, temporary);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}
