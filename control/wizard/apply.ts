/** Puts settings into a YAML document; everything else in it, comments and unknown keys too, stays as it is. */
import { type Document, isMap, isScalar, isSeq } from "yaml";
import { deleteOwn, setOwn } from "../configuration/own-nodes.ts";
import type { Setting } from "./settings.ts";

/** What the settings `after` say otherwise than `before`; the rest of the document is not touched. */
export function applyChanges(document: Document, before: readonly Setting[], after: readonly Setting[]): void {
  const former = new Map(before.map((setting) => [setting.path.join("\0"), setting]));
  const wanted = new Set(after.map(({ path }) => path.join("\0")));
  for (const setting of after) {
    const previous = former.get(setting.path.join("\0"));
    if (previous !== undefined && JSON.stringify(previous.value) === JSON.stringify(setting.value)) continue;
    applySetting(document, setting);
  }
  for (const { path } of before) {
    // An entry of its own: a provider that is not used any more may be wanted again.
    if (!wanted.has(path.join("\0")) && path[0] !== "providers") removeAt(document, path);
  }
}

export function applySetting(document: Document, { path, value, entry }: Setting): void {
  const found = resolved(document, path);
  if (entry === true && found !== null && document.hasIn(found)) return;
  makeRoom(document, path);
  setOwn(
    document,
    resolved(document, path) ?? [...path.slice(0, -1), lengthAt(document, path.slice(0, -1))],
    nodeOf(document, value),
  );
}

function removeAt(document: Document, path: readonly string[]): void {
  const found = resolved(document, path);
  if (found !== null && document.hasIn(found)) deleteOwn(document, found);
}

/** The path with the places of list entries; null where such an entry is not there. */
function resolved(document: Document, path: readonly string[]): (string | number)[] | null {
  const found: (string | number)[] = [];
  for (const part of path) {
    if (!part.startsWith("@")) {
      found.push(part);
      continue;
    }
    const list = document.getIn(found);
    const index = isSeq(list) ? list.items.findIndex((item) => isMap(item) && item.get("name") === part.slice(1)) : -1;
    if (index < 0) return null;
    found.push(index);
  }
  return found;
}

/** Collections on the way: an empty one (`{}`, or nothing behind the colon) becomes one of the usual form. */
function makeRoom(document: Document, path: readonly string[]): void {
  for (let length = 1; length < path.length; length += 1) {
    const parent = resolved(document, path.slice(0, length));
    if (parent === null) return;
    const list = path[length]?.startsWith("@") === true;
    const node = document.getIn(parent, true);
    if (node === undefined || node === null || (isScalar(node) && node.value === null)) {
      setOwn(document, parent, document.createNode(list ? [] : {}));
    } else if ((isMap(node) || isSeq(node)) && node.items.length === 0) node.flow = false;
  }
}

function lengthAt(document: Document, path: readonly string[]): number {
  const list = document.getIn(resolved(document, path) ?? [...path]);
  return isSeq(list) ? list.items.length : 0;
}

function nodeOf(document: Document, value: unknown): unknown {
  return typeof value === "object" && value !== null ? document.createNode(value) : value;
}
