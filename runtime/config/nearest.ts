/** The known name that a misspelt one is most likely meant to be. */
import { distance } from "fastest-levenshtein";

/** Undefined when nothing is near: a third of the letters may differ, at least two and at most four. */
export function nearest(found: string, candidates: Iterable<string>): string | undefined {
  const limit = Math.min(4, Math.max(2, Math.floor(found.length / 3)));
  let best: { name: string; distance: number } | undefined;
  for (const name of candidates) {
    const apart = distance(normal(found), normal(name));
    if (
      apart <= limit &&
      apart < Math.max(found.length, name.length) &&
      apart < (best?.distance ?? Number.POSITIVE_INFINITY)
    ) {
      best = { name, distance: apart };
    }
  }
  return best?.name;
}

function normal(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}
