import { createHash } from "node:crypto";

/** The name of a topic's file: letters, digits and hyphens, whatever the title; never a path, never a reserved name. */

const LONGEST = 60;
/** Taken by the wiki itself, or by file systems that a workspace may be synchronized to. */
const RESERVED = /^(?:index|con|prn|aux|nul|com\d|lpt\d)$/;

export function slugOf(title: string): string {
  const plain = title
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  // What has no letters of ours keeps apart by a hash of it.
  const letters = title.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  const lost = letters > plain.replaceAll("-", "").length * 2;
  const base = plain.slice(0, LONGEST).replace(/-+$/, "");
  if (base === "" || lost) return [base, `topic-${hash(title)}`].filter((part) => part !== "").join("-");
  return RESERVED.test(base) ? `${base}-topic` : base;
}

function hash(title: string): string {
  return createHash("sha256").update(title.normalize("NFC").toLowerCase()).digest("hex").slice(0, 8);
}
