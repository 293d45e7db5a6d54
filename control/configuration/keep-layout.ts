/**
 * Puts what changed in a YAML document into the text as it was written: its indentation, blank lines, quotes, long lines and
 * line ends stay wherever nothing was changed. Pure.
 */
import { isDeepStrictEqual } from "node:util";
import { diffArrays } from "diff";
import { parseDocument } from "yaml";

export interface Change {
  /** The file as it was read. */
  readonly text: string;
  /** The same document as the library writes it, unchanged and changed: their difference is what is wanted. */
  readonly unchanged: string;
  readonly changed: string;
}

/** Means what `changed` means; where the layout cannot be kept it is `changed` itself, with the line ends of the file. */
export function keepLayout(change: Change): string {
  const { text, changed } = change;
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  const kept = merged(change, lineEnd);
  if (meansTheSame(kept, changed)) return kept;
  return (text.startsWith(BOM) ? BOM : "") + changed.replace(/\r*\n/g, lineEnd);
}

const BOM = "\uFEFF";

/** Lines of the text, and lines of the unchanged document that say the same. */
interface Block {
  readonly written: readonly string[];
  /** From this line of the unchanged document to before that one. */
  readonly from: number;
  readonly to: number;
}

function merged({ text, unchanged, changed }: Change, lineEnd: string): string {
  const plain = linesOf(unchanged);
  const { removed, added } = difference(plain, linesOf(changed));
  const blocks = align(linesOf(text), plain);
  const indents = indentsOf(blocks, plain);
  const lines: string[] = [];
  const add = (at: number): void => {
    for (const line of added.get(at) ?? []) lines.push(indents.apply(line, at));
    // The next block may begin at the same line: this one had no line of the unchanged document.
    added.delete(at);
  };
  for (const { written, from, to } of blocks) {
    add(from);
    const inside = range(from + 1, to);
    const touched = range(from, to).some((at) => removed.has(at)) || inside.some((at) => added.has(at));
    if (!touched) {
      lines.push(...written);
      continue;
    }
    for (const at of range(from, to)) {
      if (at > from) add(at);
      if (!removed.has(at)) lines.push(indents.apply(plain[at] ?? "", at));
    }
  }
  add(plain.length);
  return lines.map((line) => `${line.replace(/\r$/, "")}${lineEnd}`).join("");
}

/** Lines that only differ in spaces are the same line. */
function align(text: readonly string[], plain: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let line = 0;
  let at = 0;
  let open: { written: string[]; from: number } | null = null;
  const close = (): void => {
    if (open !== null) blocks.push({ ...open, to: at });
    open = null;
  };
  for (const { value, added = false, removed = false } of diffArrays(text.map(bare), plain.map(bare))) {
    if (added || removed) {
      open ??= { written: [], from: at };
      if (removed) open.written.push(...text.slice(line, line + value.length));
      if (removed) line += value.length;
      if (added) at += value.length;
      continue;
    }
    close();
    for (const _same of value) {
      blocks.push({ written: [text[line] ?? ""], from: at, to: at + 1 });
      line += 1;
      at += 1;
    }
  }
  close();
  return blocks;
}

/** Lines of `before` that are gone, and what comes before a line of it (or behind the last one). */
function difference(before: readonly string[], after: readonly string[]) {
  const removed = new Set<number>();
  const added = new Map<number, readonly string[]>();
  let at = 0;
  for (const part of diffArrays([...before], [...after])) {
    if (part.added) added.set(at, [...(added.get(at) ?? []), ...part.value]);
    else {
      if (part.removed) for (const index of range(at, at + part.value.length)) removed.add(index);
      at += part.value.length;
    }
  }
  return { removed, added };
}

/** How far lines are moved in: as the nearest line before that has the same depth, else as the nearest one above it. */
function indentsOf(blocks: readonly Block[], plain: readonly string[]) {
  const indentOf = new Map<number, number>();
  for (const { written, from, to } of blocks) {
    const [line = ""] = written;
    if (written.length === 1 && to === from + 1 && line.trim() !== "") indentOf.set(from, depthOf(line));
  }
  return {
    apply(line: string, at: number): string {
      const depth = depthOf(line);
      if (line.trim() === "" || depth === 0) return line;
      let parent: { depth: number; written: number } | null = null;
      for (const index of [...range(0, at).reverse(), ...range(at, plain.length)]) {
        const written = indentOf.get(index);
        if (written === undefined) continue;
        const other = depthOf(plain[index] ?? "");
        if (other === depth) return " ".repeat(written) + line.slice(depth);
        if (index < at && other < depth && (parent === null || other > parent.depth))
          parent = { depth: other, written };
      }
      return parent === null ? line : " ".repeat(parent.written + depth - parent.depth) + line.slice(depth);
    },
  };
}

function meansTheSame(one: string, other: string): boolean {
  const documents = [one, other].map((text) => parseDocument(text, { intAsBigInt: true }));
  if (documents.some(({ errors }) => errors.length > 0)) return false;
  const [first, second] = documents.map((document): unknown => document.toJS());
  return isDeepStrictEqual(first, second);
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function bare(line: string): string {
  return line.replace(/[\s\uFEFF]+/g, "");
}

function depthOf(line: string): number {
  return /^ */.exec(line)?.[0].length ?? 0;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_none, index) => from + index);
}
