/** An update in words. */

import { lastWordLines } from "../output/failure.ts";
import type { Mark } from "../output/terminal.ts";
import type { UpdateResult } from "./result.ts";

export function updateText(result: UpdateResult, mark: Mark): string {
  const { outcome, from, to, reason, next, restarted, last_words: words = [], log = null } = result;
  const lines = {
    updated: mark.good(`Updated from ${from} to ${to}; the node has passed its gate.`),
    unchanged: `Nothing to do: this is ${to}.`,
    pending: `${mark.good(`Updated from ${from} to ${to}.`)} The next \`cairn start\` or \`cairn restart\` runs it.`,
    rolled_back: mark.warn(
      `The update to ${to} failed; ${restarted ? "the node runs" : "what is installed is"} ${from} again.`,
    ),
    operator: mark.error(`The update from ${from} to ${to} needs you.`),
  };
  return [
    lines[outcome],
    ...(reason === null ? [] : [reason]),
    ...(next === null ? [] : [mark.dim(next)]),
    ...lastWordLines(words, log, mark),
  ].join("\n");
}
