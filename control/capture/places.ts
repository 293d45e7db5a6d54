/** What the capture commands read of this machine. */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { sourceTreeOf } from "../service/source-tree.ts";
import type { CapturePlaces } from "./install.ts";

/** `root` is the directory of this installation, `home` Cairn's. */
export function capturePlaces(home: string, root: string): CapturePlaces {
  return {
    home,
    script: lastingScript(root),
    node: process.execPath,
    machine: { env: process.env, userHome: process.env["HOME"] || homedir() },
    stamp: new Date().toISOString().replaceAll(/[-:]|\.\d+/g, ""),
  };
}

/** The hook's program where it stays through updates: in the tree, not in the build that happens to run this command. */
function lastingScript(root: string): string {
  const inTree = join(sourceTreeOf(root), "bin", "cairn-capture.js");
  return existsSync(inTree) ? inTree : join(root, "bin", "cairn-capture.js");
}
