/**
 * Links this installation into the rendered project's node_modules, so that `pulumi up` by hand runs this program with the one
 * copy of each SDK that it was made with. Packages that were installed there by hand are kept.
 */

import { randomUUID } from "node:crypto";
import { lstat, mkdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { packageDirectory } from "./templates.ts";

/** What the program runs on. An installed package has copies of its own instead: there the project's `npm install` brings them. */
const SDK = ["@pulumi/command", "@pulumi/docker", "@pulumi/kubernetes", "@pulumi/pulumi"];

export async function linkPackages(project: string): Promise<void> {
  const modules = join(project, "node_modules");
  await link(join(modules, "cairn"), packageDirectory());
  for (const name of SDK) {
    const target = installedHere(name);
    if (target !== null) await link(join(modules, name), target);
  }
}

function installedHere(name: string): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return null;
  }
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
