/** A search in shares, each for a thread: who opens which file, and one result of all. Pure. */

import type { FoundFile, SearchResult, SearchShare } from "./messages.ts";

/** By the path alone: threads that find different files, since some come and go, still open each one once. */
export function isOfShare(path: string, { index, of }: SearchShare): boolean {
  if (of === 1) return true;
  let hash = 0;
  for (let at = 0; at < path.length; at += 1) hash = (hash * 31 + path.charCodeAt(at)) | 0;
  return (hash >>> 0) % of === index;
}

/** In the order of a walk; `limit` as of each share, which is more than enough. */
export function mergeShares(results: readonly SearchResult[], limit: number): SearchResult {
  const files: FoundFile[] = [];
  let matches = 0;
  let isCut = results.some(({ cut }) => cut === "limit");
  for (const file of results.flatMap((result) => result.files).sort(byPath)) {
    const found = file.matches;
    if (matches + found > limit) isCut = true;
    const kept = Math.min(found, limit - matches);
    if (kept === 0) break;
    files.push(kept === found ? file : { ...file, matches: kept, lines: upTo(file.lines, kept) });
    matches += kept;
  }
  const isLate = results.some(({ cut }) => cut === "time");
  const large = results.reduce((sum, result) => sum + result.large, 0);
  return { files, matches, cut: isLate ? "time" : isCut ? "limit" : null, large };
}

/** The lines up to the last of `count` matches. */
export function upTo(lines: FoundFile["lines"], count: number): FoundFile["lines"] {
  const last = lines.flatMap(({ isMatch }, index) => (isMatch ? [index] : []))[count - 1];
  return last === undefined ? [] : lines.slice(0, last + 1);
}

function byPath(a: FoundFile, b: FoundFile): number {
  for (const [index, name] of a.components.entries()) {
    const other = b.components[index];
    if (other === undefined) return 1;
    if (name !== other) return name < other ? -1 : 1;
  }
  return a.components.length - b.components.length;
}
