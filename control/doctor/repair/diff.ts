/** Shows a repair before it is made: the lines of a file that would go and come, with two lines around them. Pure. */

import type { Repair } from "./repair.ts";

export interface DiffLine {
  readonly kind: "head" | "same" | "gone" | "new";
  readonly text: string;
}

const AROUND = 2;

export function describeRepair(repair: Repair): readonly DiffLine[] {
  const { path } = repair;
  switch (repair.kind) {
    case "mode":
      return [head(`mode of ${path}`), gone(octal(repair.from)), come(octal(repair.to))];
    case "directory":
      return [head(`new directory ${path} (mode ${octal(repair.mode)})`)];
    case "create":
      return [head(`new file ${path}`), ...linesOf(repair.after).map(come)];
    case "change":
      return [head(path), ...lineDiff(linesOf(repair.before), linesOf(repair.after))];
  }
}

/** Repairs change a line here and there: what is equal at both ends is cut off, the rest is compared line by line. */
export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
  const lines = compare(before, after);
  return lines.filter(
    (line, index) =>
      line.kind !== "same" ||
      lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ kind }) => kind !== "same"),
  );
}

/** The longest common subsequence, by table: configuration files are small. */
function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const common = before.map(() => new Uint32Array(after.length + 1));
  common.push(new Uint32Array(after.length + 1));
  const at = (row: number, column: number): number => common[row]?.[column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      const cells = common[row];
      if (cells === undefined) continue;
      cells[column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]];
    if (old !== undefined && old === fresh) {
      lines.push({ kind: "same", text: old });
      [row, column] = [row + 1, column + 1];
    } else if (old !== undefined && (fresh === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(gone(old));
      row += 1;
    } else if (fresh !== undefined) {
      lines.push(come(fresh));
      column += 1;
    }
  }
  return lines;
}

function linesOf(text: string): string[] {
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

const head = (text: string): DiffLine => ({ kind: "head", text });
const gone = (text: string): DiffLine => ({ kind: "gone", text });
const come = (text: string): DiffLine => ({ kind: "new", text });

function octal(mode: number): string {
  return `0${mode.toString(8)}`;
}
