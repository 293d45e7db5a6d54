/** Debian, as far as tests make systems of it. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = "/etc/apt/sources.list.d";

/** Arguments that end a call of debootstrap: the mirror that this machine's own packages come from, else debootstrap's choice. */
export function mirrorArguments(): string[] {
  const texts = ["/etc/apt/sources.list", ...namesIn(FOLDER).map((name) => join(FOLDER, name))].map(textOf);
  const mirror = texts.map(mirrorIn).find((found) => found !== null);
  return mirror ? [mirror] : [];
}

/** Of a list of sources, in either of apt's forms; null where it names no archive of Debian itself. */
export function mirrorIn(text: string): string | null {
  return /^(?:URIs:|deb(?: \[[^\]]*\])?) *(https?:\/\/\S+\/debian)\/?(?:\s|$)/m.exec(text)?.[1] ?? null;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
