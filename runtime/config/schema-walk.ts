/** Walks a value along the schema: to find unknown keys and empty mappings. */
import { z } from "zod";
import { isMap, type Tree, type TreePath } from "./tree.ts";

export interface UnknownKey {
  readonly path: TreePath;
  /** The keys of the mapping. */
  readonly siblings: readonly string[];
}

/** Keys of mappings that the schema has no name for, in the order of the file. */
export function* unknownKeys(schema: unknown, tree: Tree | undefined, path: TreePath = []): Generator<UnknownKey> {
  const inner = unwrap(schema, tree);
  if (inner instanceof z.ZodObject && isMap(tree)) {
    const siblings = Object.keys(inner.shape);
    for (const [key, value] of Object.entries(tree)) {
      if (Object.hasOwn(inner.shape, key)) yield* unknownKeys(inner.shape[key], value, [...path, key]);
      else yield { path: [...path, key], siblings };
    }
  } else if (inner instanceof z.ZodRecord && isMap(tree)) {
    for (const [key, value] of Object.entries(tree)) yield* unknownKeys(inner.valueType, value, [...path, key]);
  } else if (inner instanceof z.ZodArray && Array.isArray(tree)) {
    for (const [index, item] of tree.entries()) yield* unknownKeys(inner.element, item, [...path, index]);
  }
}

/** `key:` without a value is an empty mapping where the schema has a mapping, and an absent key everywhere else. */
export function fillEmpty(schema: unknown, tree: Tree): Tree {
  const inner = unwrap(schema, tree);
  if (Array.isArray(tree)) {
    return inner instanceof z.ZodArray ? tree.map((item) => fillEmpty(inner.element, item)) : tree;
  }
  if (!isMap(tree)) return tree;
  const childOf = (key: string): unknown => {
    if (inner instanceof z.ZodObject) return Object.hasOwn(inner.shape, key) ? inner.shape[key] : undefined;
    return inner instanceof z.ZodRecord ? inner.valueType : undefined;
  };
  return Object.fromEntries(
    Object.entries(tree).flatMap(([key, value]): [string, Tree][] => {
      const child = childOf(key);
      if (value === null) return child === undefined ? [[key, null]] : isMapping(child) ? [[key, {}]] : [];
      return [[key, fillEmpty(child, value)]];
    }),
  );
}

/** The schema under defaults, options and transforms; of a union, the part that has the value's form. */
function unwrap(schema: unknown, value: Tree | undefined): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap(), value);
  }
  if (schema instanceof z.ZodPipe) return unwrap(schema.in, value);
  if (schema instanceof z.ZodUnion) {
    const options = schema.options.map((option) => unwrap(option, value));
    return options.find((option) => (isMap(value) ? option instanceof z.ZodObject : false)) ?? options[0];
  }
  return schema;
}

function isMapping(schema: unknown): boolean {
  const inner = unwrap(schema, null);
  return inner instanceof z.ZodObject || inner instanceof z.ZodRecord;
}
