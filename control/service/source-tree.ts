/** The source tree that a program belongs to: an update builds beside the tree, and lets its `dist` lead there. */

import { basename, dirname } from "node:path";

/** `root` is the directory of package.json: the tree itself, or a build in its `.cache/builds`. Pure. */
export function sourceTreeOf(root: string): string {
  const builds = dirname(root);
  const cache = dirname(builds);
  return basename(builds) === "builds" && basename(cache) === ".cache" ? dirname(cache) : root;
}
