/** Settings by a pattern of their path: which are written in a file, and whether what they say asks for something. Pure. */
import { isRecord } from "../contracts/values.ts";
import { isMap, type Tree, type TreePath } from "./tree.ts";

/** Neither off, nor empty, nor a section with `enabled: false`. */
export function isAskedFor(value: unknown): boolean {
  if (value === false || value === null) return false;
  return Array.isArray(value) ? value.length > 0 : isEnabled(value);
}

export function isEnabled(value: unknown): boolean {
  return !isRecord(value) || value["enabled"] !== false;
}

export function isEmpty(tree: Tree): boolean {
  return isMap(tree) && Object.keys(tree).length === 0;
}

/** Every place of the tree that the pattern leads to; `*` is any key or index. */
export function* matches(
  tree: Tree | undefined,
  pattern: readonly string[],
  path: TreePath = [],
): Generator<{ readonly path: TreePath; readonly tree: Tree }> {
  if (tree === undefined) return;
  const [part, ...rest] = pattern;
  if (part === undefined) yield { path, tree };
  else if (Array.isArray(tree) && part === "*") {
    for (const [index, item] of tree.entries()) yield* matches(item, rest, [...path, index]);
  } else if (isMap(tree)) {
    const keys = part === "*" ? Object.keys(tree) : [part];
    for (const key of keys) if (Object.hasOwn(tree, key)) yield* matches(tree[key], rest, [...path, key]);
  }
}

/** The parsed value at a path; undefined where there is none. */
export function parsedAt(config: unknown, path: TreePath): unknown {
  return path.reduce<unknown>((value, key) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    // Only own members of plain data are read.
    return (value as Readonly<Record<string | number, unknown>>)[key];
  }, config);
}
