/** The configuration as plain data, before it has a type, and the paths into it. */

export type Tree = string | number | boolean | null | readonly Tree[] | TreeMap;
export type TreeMap = { readonly [key: string]: Tree };
export type TreePath = readonly (string | number)[];

export function isMap(value: unknown): value is TreeMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The mapping at a key, or an empty one. */
export function mapAt(tree: Tree | undefined, ...keys: string[]): TreeMap {
  const value = valueAt(tree, keys);
  return isMap(value) ? value : {};
}

export function valueAt(tree: Tree | undefined, path: TreePath): Tree | undefined {
  let current: Tree | undefined = tree;
  for (const key of path) {
    if (Array.isArray(current) && typeof key === "number") current = current[key];
    else if (isMap(current) && Object.hasOwn(current, key)) current = current[key];
    else return undefined;
  }
  return current;
}

/** A copy with the value at the path replaced; mappings on the way are made where they are missing. */
export function withValue(tree: TreeMap, path: readonly string[], value: Tree): TreeMap {
  const [key, ...rest] = path;
  if (key === undefined) return isMap(value) ? value : tree;
  return { ...tree, [key]: rest.length === 0 ? value : withValue(mapAt(tree, key), rest, value) };
}

export function withoutValue(tree: TreeMap, path: readonly string[]): TreeMap {
  const [key, ...rest] = path;
  if (key === undefined || !Object.hasOwn(tree, key)) return tree;
  if (rest.length === 0) return Object.fromEntries(Object.entries(tree).filter(([name]) => name !== key));
  return { ...tree, [key]: withoutValue(mapAt(tree, key), rest) };
}

/** Every text in the tree with its path, in the order of the file. */
export function* texts(tree: Tree, path: TreePath = []): Generator<{ path: TreePath; text: string }> {
  if (typeof tree === "string") yield { path, text: tree };
  else if (Array.isArray(tree)) for (const [index, item] of tree.entries()) yield* texts(item, [...path, index]);
  else if (isMap(tree)) for (const [key, value] of Object.entries(tree)) yield* texts(value, [...path, key]);
}

/** A copy in which every text is what `change` makes of it. */
export function mapTexts(tree: Tree, change: (text: string, path: TreePath) => string, path: TreePath = []): Tree {
  if (typeof tree === "string") return change(tree, path);
  if (Array.isArray(tree)) return tree.map((item, index) => mapTexts(item, change, [...path, index]));
  if (!isMap(tree)) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, mapTexts(value, change, [...path, key])]));
}

/** `deployment.nodes[0].name`, `channels.main.channel_bindings["-100 5"]`. */
export function formatPath(path: TreePath): string {
  const joined = path
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      return /^[A-Za-z0-9_-]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    })
    .join("");
  return joined.replace(/^\./, "") || "(file)";
}

export function startsWith(path: TreePath, prefix: TreePath): boolean {
  return prefix.every((key, index) => path[index] === key);
}
