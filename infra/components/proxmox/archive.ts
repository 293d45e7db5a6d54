/**
 * Files on their way into a CT through standard input: base64 of a tar archive whose entries have numbers for names, and a
 * list of the real paths, so that no path is too long or too unusual for the format. Deterministic: equal files, equal text.
 */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { PlannedFile } from "../../plan/types.ts";

const BLOCK = 512;

/** The archive of `files`, whose paths are all below `root` in the container. The text is as secret as they are. */
export function filesInput(root: string, files: readonly PlannedFile[]): string {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const paths = sorted.map((file) => relative(root, file.path));
  const entries = [
    entry("paths", paths.map((path) => `${path}\n`).join("")),
    ...sorted.map((file, index) => entry(String(index), file.content)),
    // What was cut short has no end, and is not used.
    entry("end", ""),
    Buffer.alloc(2 * BLOCK),
  ];
  // Lines, because some shells' tools dislike one of many megabytes.
  return `${Buffer.concat(entries).toString("base64").replace(/.{76}/g, "$&\n")}\n`;
}

function relative(root: string, path: string): string {
  const below = path.startsWith(`${root}/`) ? path.slice(root.length + 1) : "";
  const unsafe = below.split("/").some((part) => part === "" || part === "." || part === "..");
  if (unsafe || /[\n\r\0]/.test(below)) {
    throw new InfraError("INFRA_PLAN_INVALID", `The file ${JSON.stringify(path)} does not lie below ${root}.`, {
      hint: "Rename the file in the workspace.",
    });
  }
  return below;
}

/** One entry of a ustar archive: header, content, padding. */
function entry(name: string, text: string): Buffer {
  const content = Buffer.from(text);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`;
  header.write(name, 0);
  header.write(octal(0o440, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(content.length, 12), 124);
  header.write(octal(0, 12), 136);
  // The checksum counts its own field as spaces.
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\0", 257);
  header.write("00", 263);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}
