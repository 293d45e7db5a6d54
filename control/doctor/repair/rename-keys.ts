/**
 * Puts misspelt keys of cairn.yaml right. Only the key's own characters change: comments, order and quoting stay. A key is
 * not renamed where the right one is there already, and where the value would make a new error under its new name.
 */

import { isMap, isScalar, parseDocument } from "yaml";
import type { Environment } from "../../../runtime/config/references.ts";
import type { TreePath } from "../../../runtime/config/tree.ts";
import { type ParsedSource, validateText } from "../context/configuration.ts";
import type { DeploymentPaths } from "../context/paths.ts";

/** The whole text with all that can be put right; null when nothing can. */
export async function renameKeys(
  snapshot: ParsedSource,
  paths: DeploymentPaths,
  env: Environment,
): Promise<string | null> {
  const [{ unknownKeys }, { configSchema }, { nearest }] = await Promise.all([
    import("../../../runtime/config/schema-walk.ts"),
    import("../../../runtime/config/schema.ts"),
    import("../../../runtime/config/nearest.ts"),
  ]);
  let current: Pick<ParsedSource, "text" | "errors"> = snapshot;
  for (const { path, siblings } of unknownKeys(configSchema, snapshot.tree)) {
    const right = nearest(String(path.at(-1)), siblings);
    const text = right === undefined ? null : renameKey(current.text, path, right);
    if (text === null) continue;
    const validated = await validateText(text, paths, env);
    if (!("errors" in validated) || validated.errors.length > current.errors.length) continue;
    current = validated;
  }
  return current.text === snapshot.text ? null : current.text;
}

/** Null when the key is not written out there (it may come from an alias), or the right one is there too. */
export function renameKey(text: string, path: TreePath, right: string): string | null {
  const parent: unknown =
    path.length === 1 ? parseDocument(text).contents : parseDocument(text).getIn(path.slice(0, -1), true);
  if (!isMap(parent) || parent.has(right)) return null;
  const key = parent.items.map((item) => item.key).find((item) => isScalar(item) && item.value === path.at(-1));
  if (!isScalar(key) || !key.range || key.anchor !== undefined) return null;
  const [start, end] = key.range;
  return `${text.slice(0, start)}${right}${text.slice(end)}`;
}
