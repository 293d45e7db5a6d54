/** What the capture commands know of this machine. */

import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { CapturePlaces } from "./install.ts";

/** `root` is the directory of this installation, `home` Cairn's. */
export function capturePlaces(home: string, root: string): CapturePlaces {
  return {
    home,
    script: join(root, "bin", "cairn-capture.js"),
    node: process.execPath,
    machine: { env: process.env, userHome: process.env["HOME"] || homedir() },
    stamp: new Date().toISOString().replaceAll(/[-:]|\.\d+/g, ""),
  };
}
