/** Which names and links may be in a backup: what leads out of its part may not. Pure. */

/** Parts of a name that stays below its directory; null for any other. */
export function componentsOf(name: string): readonly string[] | null {
  const components = name.split("/");
  return components.every(isPlain) ? components : null;
}

/** Control characters are what archives and terminals disagree about. */
export function isPlain(component: string): boolean {
  return component !== "" && component !== "." && component !== ".." && !/\p{Cc}/u.test(component);
}

/**
 * Whether a link, at these components below its part, stays inside: first up, then down. Up again after a way down could leave through
 * another link.
 */
export function staysInside(at: readonly string[], target: string): boolean {
  const steps = target.replace(/\/$/, "").split("/");
  const isHere = target === ".";
  const ups = steps.findIndex((step) => step !== "..");
  const down = isHere ? [] : ups === -1 ? [] : steps.slice(ups);
  const up = ups === -1 ? steps.length : ups;
  return target !== "" && down.every(isPlain) && up <= at.length - 1;
}
