/** Values that are nearly right: one part of a right one is any JSON value instead, or is not there. */

import fc from "fast-check";

/** Also the right ones, and any JSON value at all. */
export function nearly(right: readonly unknown[]): fc.Arbitrary<unknown> {
  const changed = fc
    .tuple(fc.constantFrom(...right), fc.nat(), fc.option(fc.jsonValue({ maxDepth: 2 }), { nil: undefined }))
    .map(([value, index, other]) => {
      const paths = pathsOf(value);
      return replaced(value, paths[index % paths.length] ?? [], other);
    });
  return fc.oneof({ weight: 8, arbitrary: changed }, fc.constantFrom(...right), fc.jsonValue({ maxDepth: 3 }));
}

type Path = readonly string[];

function pathsOf(value: unknown): Path[] {
  if (typeof value !== "object" || value === null) return [[]];
  return [[], ...Object.entries(value).flatMap(([key, part]) => pathsOf(part).map((path) => [key, ...path]))];
}

/** Undefined is left out, as JSON does it. */
function replaced(value: unknown, [key, ...rest]: Path, other: unknown): unknown {
  if (key === undefined || typeof value !== "object" || value === null) return other;
  if (Array.isArray(value))
    return value.map((part, index) => (String(index) === key ? replaced(part, rest, other) : part));
  return { ...value, [key]: replaced(Reflect.get(value, key), rest, other) };
}
