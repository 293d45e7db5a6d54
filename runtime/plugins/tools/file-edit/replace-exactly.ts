/** The decision of an edit: what to replace, and the error when it cannot be done. Pure. */

import { distance } from "fastest-levenshtein";
import { lineEnding } from "../shared/text-format.ts";

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly all: boolean;
  /** UTF-16 code units that the text may have afterwards. */
  readonly longest: number;
}

export type EditOutcome =
  /** `lines` are the lines, counting from 1, on which the replaced occurrences began. */
  | { readonly ok: true; readonly text: string; readonly lines: readonly number[] }
  | { readonly ok: false; readonly reason: string };

const COMPARED_LINES = 20_000;
const COMPARED_CHARS = 200;

/**
 * Replaces `oldText` in `text`. A file with Windows line endings throughout is matched, and written, with them even
 * though the edit was given with `\n`.
 */
export function replaceExactly(text: string, edit: Edit): EditOutcome {
  if (edit.oldText === "") return failed("old_string is empty; use file_write to write a whole file.");
  if (edit.oldText === edit.newText)
    return failed("old_string and new_string are the same; there is nothing to change.");

  const windows = lineEnding(text) === "\r\n";
  const oldText = windows ? toWindows(edit.oldText) : edit.oldText;
  const newText = windows ? toWindows(edit.newText) : edit.newText;
  const starts = occurrences(text, oldText);
  if (starts.length === 0) return failed(`old_string does not occur in the file.${nearestHint(text, edit.oldText)}`);
  const lines = lineNumbers(text, starts);
  if (starts.length > 1 && !edit.all) {
    return failed(
      `old_string occurs ${starts.length} times (lines ${lines.slice(0, 10).join(", ")}${lines.length > 10 ? ", ..." : ""}). ` +
        "Give more of the surrounding text, or set replace_all.",
    );
  }
  const length = text.length + starts.length * (newText.length - oldText.length);
  if (length > edit.longest) {
    return failed(`the file would have ${length} characters, at most ${edit.longest} can be written.`);
  }
  return { ok: true, text: text.split(oldText).join(newText), lines };
}

function toWindows(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n");
}

/** Start offsets, left to right, without overlap: the same ones that `split` finds. */
function occurrences(text: string, part: string): number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) starts.push(at);
  return starts;
}

function lineNumbers(text: string, starts: readonly number[]): number[] {
  let line = 1;
  let scanned = 0;
  return starts.map((start) => {
    for (; scanned < start; scanned += 1) if (text[scanned] === "\n") line += 1;
    return line;
  });
}

/** Says where the text would match but for white space, or else which line is most like the first line sought. */
function nearestHint(text: string, sought: string): string {
  const lines = text.split(/\r\n|\n/).slice(0, COMPARED_LINES);
  const wanted = sought.split(/\r\n|\n/);
  const loose = findLoosely(lines, wanted);
  if (loose !== null) return ` Lines ${loose + 1} to ${loose + wanted.length} differ from it only in white space.`;

  const first = (wanted.find((line) => line.trim() !== "") ?? "").trim().slice(0, COMPARED_CHARS);
  if (first === "") return "";
  let best = { index: -1, edits: Number.POSITIVE_INFINITY };
  for (const [index, line] of lines.entries()) {
    const candidate = line.trim().slice(0, COMPARED_CHARS);
    if (candidate === "" || Math.abs(candidate.length - first.length) >= best.edits) continue;
    const edits = distance(candidate, first);
    if (edits < best.edits) best = { index, edits };
  }
  if (best.index === -1 || best.edits > first.length / 2) return "";
  return ` The nearest line is ${best.index + 1}: ${(lines[best.index] ?? "").trim().slice(0, COMPARED_CHARS)}`;
}

/** Index of the first line from which on all wanted lines match, white space aside. */
function findLoosely(lines: readonly string[], wanted: readonly string[]): number | null {
  const squeeze = (line: string) => line.replace(/\s+/g, "");
  const target = wanted.map(squeeze);
  if (target.every((line) => line === "")) return null;
  const squeezed = lines.map(squeeze);
  for (let start = 0; start + target.length <= squeezed.length; start += 1) {
    if (target.every((line, offset) => squeezed[start + offset] === line)) return start;
  }
  return null;
}

function failed(reason: string): EditOutcome {
  return { ok: false, reason };
}
