/** Aliases (`*name`) at the place of an edit: what an alias leads to is written out at its place, and only that place is changed. */
import { type Document, isAlias, isCollection, isNode, isScalar, type Node, visit } from "yaml";

/** Sets a value below any alias; a key with nothing behind it becomes a mapping. `value` may be a node. */
export function setOwn(document: Document, path: readonly (string | number)[], value: unknown): void {
  writeOut(document, path);
  for (let length = 1; length < path.length; length += 1) {
    const here = path.slice(0, length);
    const node = document.getIn(here, true);
    if (isScalar(node) && node.value === null) document.setIn(here, document.createNode({}));
    // `{}` is no form for more than a little.
    else if (isCollection(node) && node.items.length === 0) node.flow = false;
  }
  document.setIn(path, value);
}

/** Whatever has led there by an alias keeps what it led to. */
export function deleteOwn(document: Document, path: readonly (string | number)[]): void {
  writeOut(document, path);
  const going = document.getIn(path, true);
  const inside = new Set<unknown>();
  if (isNode(going)) visit(going, (_key, node) => void inside.add(node));
  visit(document, {
    Alias: (_key, alias) => {
      if (inside.has(alias)) return undefined;
      const source = alias.resolve(document);
      return source !== undefined && inside.has(source) ? withoutAnchors(source) : undefined;
    },
  });
  document.deleteIn(path);
}

function writeOut(document: Document, path: readonly (string | number)[]): void {
  for (let length = 1; length < path.length; length += 1) {
    const here = path.slice(0, length);
    const node = document.getIn(here, true);
    const source = isAlias(node) ? node.resolve(document) : undefined;
    if (source !== undefined) document.setIn(here, withoutAnchors(source));
  }
}

function withoutAnchors(source: Node): Node {
  // A copy of a node is a node of the same kind; the library's type says any node or pair.
  const copy = source.clone() as Node;
  visit(copy, (_key, inner) => {
    if (isNode(inner) && !isAlias(inner)) delete inner.anchor;
  });
  return copy;
}
