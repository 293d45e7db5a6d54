/** A search result without what only programs need: score parts, counters, empty fields. */

import { isRecord } from "../../../contracts/values.ts";
import { without } from "../shared/records.ts";

const NOISE = new Set(["scores", "access_count", "took_ms", "mode"]);

/** Pure. Unknown shapes pass unchanged: the memory tools own them. */
export function presentSearch(result: unknown): unknown {
  if (!isRecord(result) || !Array.isArray(result["results"])) return result;
  return { ...without(result, NOISE), results: result["results"].map(presentHit) };
}

function presentHit(hit: unknown): unknown {
  if (!isRecord(hit)) return hit;
  const slim = without(hit, NOISE);
  return {
    ...slim,
    ...(typeof hit["score"] === "number" ? { score: Math.round(hit["score"] * 1_000) / 1_000 } : {}),
    ...(Array.isArray(hit["children"]) ? { children: hit["children"].map(presentHit) } : {}),
    ...(Array.isArray(hit["sources"]) ? { sources: hit["sources"].map(presentHit) } : {}),
  };
}
