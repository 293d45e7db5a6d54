/** A search from its task to its result, by blocking calls: for the thread of thread.ts. */

import { lstatSync } from "node:fs";
import { readBlocking } from "../../../../files/blocking.ts";
import { createLineMatcher } from "./match-lines.ts";
import type { FoundFile, SearchResult, SearchShare, SearchTask } from "./messages.ts";
import { isOfShare, upTo } from "./shares.ts";
import { skipUnreadable, type WalkedFile, walkFiles } from "./walk.ts";

const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Files whose times are compared; of more the first ones by path. */
const MAX_COMPARED = 200_000;

export function search(task: SearchTask, share: SearchShare, now: () => number): SearchResult {
  return task.kind === "files" ? findFiles(task, now) : findLines(task, share, now);
}

/** The newest first; of the same time in the order of their paths. */
function findFiles({ scope, limit, deadlineMs }: SearchTask, now: () => number): SearchResult {
  const found: { readonly components: readonly string[]; readonly mtimeMs: number }[] = [];
  const ends = now() + deadlineMs;
  let isLate = false;
  const visit = ({ directory, name, components }: WalkedFile): boolean => {
    const stats = skipUnreadable(() => lstatSync(directory.at(name)));
    if (stats?.isFile()) found.push({ components, mtimeMs: stats.mtimeMs });
    return found.length < MAX_COMPARED;
  };
  walkFiles(scope, visit, () => {
    isLate = now() > ends;
    return isLate;
  });
  const files = found.sort((a, b) => b.mtimeMs - a.mtimeMs).slice(0, limit);
  return {
    files: files.map(({ components }) => ({ components, matches: 0, lines: [] })),
    matches: found.length,
    cut: isLate ? "time" : found.length > limit ? "limit" : null,
    large: 0,
  };
}

function findLines(task: Extract<SearchTask, { kind: "lines" }>, share: SearchShare, now: () => number): SearchResult {
  const { scope, pattern, context, filesOnly, limit, deadlineMs } = task;
  const matcher = createLineMatcher(pattern);
  const buffer = Buffer.allocUnsafe(MAX_FILE_BYTES);
  const files: FoundFile[] = [];
  const ends = now() + deadlineMs;
  let matches = 0;
  let large = 0;
  let cut: SearchResult["cut"] = null;
  const visit = ({ directory, name, components }: WalkedFile): boolean => {
    if (!isOfShare(components.join("/"), share)) return true;
    const content = skipUnreadable(() => readBlocking(directory, name, buffer)) ?? null;
    if (content === "large") large += 1;
    if (content === null || content === "large") return true;
    // One more than is shown, so that it is known whether there are more.
    const lines = matcher.find(content.bytes, limit - matches + 1, filesOnly ? null : context);
    const found = lines.filter(({ isMatch }) => isMatch).length;
    if (found === 0) return true;
    if (matches + found > limit) cut = "limit";
    const kept = Math.min(found, limit - matches);
    if (kept === 0) return false;
    matches += kept;
    const { dev, ino, nlink } = content.stats;
    files.push({
      components,
      matches: kept,
      lines: filesOnly ? [] : kept === found ? lines : upTo(lines, kept),
      ...(nlink > 1 ? { linked: { dev, ino, nlink } } : {}),
    });
    return cut === null;
  };
  walkFiles(scope, visit, () => {
    if (now() > ends) cut = "time";
    return cut !== null;
  });
  return { files, matches, cut, large };
}
