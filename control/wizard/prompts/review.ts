/** What a setup would write, in words that fit a screen. Pure. */
import { colouredDiff } from "../../output/render-edit.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { wrap } from "../../output/wrap.ts";
import type { Review } from "../dialog.ts";
import { WORDS } from "./texts.ts";

export function reviewText(
  { dir, text, isDiff, files, secrets, notes }: Review,
  mark: Mark,
  width: number | undefined,
): string {
  const shown = visible(isDiff ? text.trimEnd() : withoutComments(text));
  return [
    `${mark.title(WORDS.review)} ${mark.name(dir)}`,
    ...(shown === "" ? [] : [isDiff ? colouredDiff(shown, mark) : shown]),
    "",
    ...byFolder(files).map((file) => mark.good(`+ ${file}`)),
    ...(secrets.length > 0 ? [mark.good(`+ .env: ${secrets.join(", ")}`)] : []),
    ...notes.flatMap((note) => wrap(`Note: ${note}`, 0, width).map((line) => line.replace(/^Note:/, mark.warn))),
  ].join("\n");
}

/** A new file without its comments, so that it fits a screen. */
function withoutComments(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/^\s*(?:#|$)/.test(line))
    .join("\n");
}

/** A folder with many files has one line. */
function byFolder(files: readonly string[]): string[] {
  const folders = Map.groupBy(files, (file) => (file.includes("/") ? file.slice(0, file.indexOf("/") + 1) : file));
  return [...folders].map(([name, inside]) =>
    inside.length === 1 ? (inside[0] ?? name) : `${name} (${inside.length} files)`,
  );
}
