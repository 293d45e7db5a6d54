/**
 * Where a path argument points, by its text alone, without I/O. Containment is decided on whole path
 * components, so that `/ws-evil` is not inside `/ws`; the caller resolves symbolic links.
 */

import { posix } from "node:path";

export type PathVerdict =
  | {
      readonly inside: true;
      /** Absolute and normalised: no `.`, no `..`, no doubled or trailing slash. */
      readonly path: string;
      /** The same, relative to the workspace; empty for the workspace itself. */
      readonly relative: string;
    }
  | { readonly inside: false; readonly reason: string };

/**
 * Resolves a path argument against the workspace. `roots` are the workspace's names (as configured, and resolved);
 * the first one is what relative paths are relative to. A path that needs expansion (`~`) is refused, not guessed at.
 */
export function resolveInWorkspace(roots: readonly [string, ...string[]], path: string): PathVerdict {
  if (path === "") return outside("the path is empty");
  if (path.includes("\0")) return outside("the path holds a NUL byte");
  if (path === "~" || path.startsWith("~/")) {
    return outside("`~` is not expanded: use a path relative to the workspace");
  }
  const absolute = normalise(posix.isAbsolute(path) ? path : posix.join(roots[0], path));
  for (const root of roots) {
    if (isWithin(root, absolute)) {
      return { inside: true, path: absolute, relative: posix.relative(normalise(root), absolute) };
    }
  }
  return outside("the path leads out of the workspace");
}

/** Whether `path` is `root` or lies below it; both absolute. Compares whole components, case included. */
export function isWithin(root: string, path: string): boolean {
  const parent = normalise(root);
  const child = normalise(path);
  return child === parent || child.startsWith(parent === "/" ? "/" : `${parent}/`);
}

/** The components of `path` below `root`; `path` must lie within it. */
export function componentsBelow(root: string, path: string): readonly string[] {
  const relative = posix.relative(normalise(root), normalise(path));
  return relative === "" ? [] : relative.split("/");
}

function normalise(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith("/") ? normal.slice(0, -1) : normal;
}

function outside(reason: string): PathVerdict {
  return { inside: false, reason };
}
