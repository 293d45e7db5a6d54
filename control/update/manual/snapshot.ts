/** What is on a node's machine at one moment; see SNAPSHOT in scripts.ts. Pure. */

import { type NodeFile, parseNodeFile } from "../../service/node-file.ts";

export interface Snapshot {
  /** What is installed: `1.4.0-0123456789ab`, or `1.4.0-tree`; null: nothing. */
  readonly image: string | null;
  /** As systemd names it: active, inactive, failed, ... */
  readonly active: string;
  /** Process of the unit; null: none. */
  readonly pid: number | null;
  /** What tells the machine from every other one. */
  readonly machine: string;
  /** Version of Node there. */
  readonly engine: string;
  /** What the node that runs says of itself. */
  readonly file: NodeFile | null;
}

export function parseSnapshot(text: string): Snapshot {
  const of = (key: string): string => new RegExp(`^${key} (.*)$`, "m").exec(text)?.[1]?.trim() ?? "";
  const pid = Number(of("main"));
  const file = of("file");
  return {
    image: of("image") || null,
    active: of("active"),
    pid: Number.isSafeInteger(pid) && pid > 0 ? pid : null,
    machine: of("machine"),
    engine: of("engine").replace(/^v/, ""),
    file: file === "" ? null : parseNodeFile(file),
  };
}

/** Of the program that an image is. */
export function versionOfImage(image: string): string {
  return image.replace(/-(?:tree|[0-9a-f]{12})$/, "");
}
