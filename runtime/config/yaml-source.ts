/** Reads YAML text into plain data, with the position of each value. */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { ConfigValidationError } from "../contracts/errors.ts";
import type { Tree, TreeMap, TreePath } from "./tree.ts";

export interface Position {
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
}

export interface YamlSource {
  readonly tree: TreeMap;
  /** Position of the value's key, or of the nearest of its parents; null for the file as a whole. */
  locate(path: TreePath): Position | null;
}

const SHAPE = "the file must be a mapping of keys to values, headed by `version: 1`";

/**
 * ConfigValidationError with line and column when the text is no YAML, or no mapping. `file` only names it, `shape` says what it
 * must be.
 */
export function parseYaml(text: string, file: string, shape: string = SHAPE): YamlSource {
  const lines = new LineCounter();
  // Integers come as bigint: identifiers of chat platforms are longer than a number can hold.
  const document = parseDocument(text, { lineCounter: lines, intAsBigInt: true, prettyErrors: false });
  const [broken] = document.errors;
  if (broken) {
    const { line, col } = lines.linePos(broken.pos[0]);
    const where = `line ${line}, column ${col}`;
    if (broken.code === "MULTIPLE_DOCS") {
      const hint = "Keep one of them, and take the others out with the `---` before them.";
      throw invalid(file, where, "a second document begins there, and the file may hold only one", hint);
    }
    throw invalid(file, where, firstLine(broken.message));
  }
  const tree = toTree(readDocument(document, file));
  if (tree === null) return { tree: {}, locate: () => null };
  if (typeof tree !== "object" || Array.isArray(tree)) {
    throw invalid(file, "line 1, column 1", shape);
  }
  return {
    // Neither null nor a list: what is left of the object types is the mapping.
    tree: tree as TreeMap,
    locate: (path) => locate(document.contents, path, lines),
  };
}

function readDocument(document: { toJS(): unknown }, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw invalid(
      file,
      "line 1, column 1",
      error instanceof Error ? firstLine(error.message) : "the aliases cannot be followed",
    );
  }
}

/** Whole numbers that a JavaScript number cannot hold stay what was written: text. */
function toTree(value: unknown): Tree {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  if (Array.isArray(value)) return value.map(toTree);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toTree(item)]));
  }
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return null;
}

function locate(root: Node | null, path: TreePath, lines: LineCounter): Position | null {
  let node: unknown = root;
  let offset: number | undefined;
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key));
      if (!pair || !isScalar(pair.key)) break;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof key === "number") {
      const item: unknown = node.items[key];
      if (!(isMap(item) || isSeq(item) || isScalar(item) || isAlias(item))) break;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else break;
  }
  if (offset === undefined) return null;
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

const REPAIR = "Nothing was changed. Correct that place, and run the command again.";

function invalid(file: string, where: string, what: string, hint = REPAIR): ConfigValidationError {
  const issues = [{ path: where, message: what }];
  return new ConfigValidationError(`${file} cannot be read as YAML: ${where}: ${what}`, issues, { hint });
}

function firstLine(message: string): string {
  return message.split("\n", 1)[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? message;
}
