/** What was found, as the model reads it: each file's path, then its lines, bounded in all. Pure. */

import type { FoundFile, SearchResult } from "../shared/search/messages.ts";
import { shownPath } from "../shared/search/scope.ts";

const MAX_CHARS = 40_000;

export function renderLines({ files, cut, large }: SearchResult, filesOnly: boolean): string {
  const blocks: string[] = [];
  let chars = 0;
  for (const file of files) {
    const block = blockOf(file, filesOnly);
    chars += block.length + 1;
    if (chars > MAX_CHARS && blocks.length > 0) break;
    blocks.push(chars > MAX_CHARS ? `${block.slice(0, MAX_CHARS).toWellFormed()}\n...` : block);
  }
  const notes = [
    ...(blocks.length === 0 ? ["no matches"] : []),
    ...(cut === "limit" || chars > MAX_CHARS ? ["there are more: use a narrower pattern, path or glob"] : []),
    ...(cut === "time" ? ["the time was over before all files were searched: use a narrower path or glob"] : []),
    ...(large > 0 ? [`${large} ${large === 1 ? "file" : "files"} of more than 16 MiB not searched`] : []),
  ];
  return [...blocks, ...(notes.length === 0 ? [] : [`(${notes.join("; ")})`])].join("\n");
}

function blockOf({ components, lines }: FoundFile, filesOnly: boolean): string {
  if (filesOnly) return shownPath(components);
  const shown = lines.flatMap(({ number, text, isMatch }, index) => {
    const before = lines[index - 1];
    const gap = before !== undefined && number > before.number + 1 && lines.some((line) => !line.isMatch) ? ["--"] : [];
    return [...gap, `${number}${isMatch ? ":" : "-"} ${text}`];
  });
  return [shownPath(components), ...shown].join("\n");
}
