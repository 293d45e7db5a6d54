/** Which parts of the file the service can do without: there, a reference that cannot be resolved only costs the part. */
import { isMap, mapAt, type Tree, type TreeMap, valueAt } from "./tree.ts";

export interface OptionalPart {
  readonly path: readonly string[];
  /** Why it is not in use, to be read after "it is left out: ". */
  readonly reason: string;
}

/** Settings that only the deployment commands read. */
const DEPLOYMENT_PARTS = ["image", "docker", "proxmox", "kubernetes"];

export function optionalParts(tree: TreeMap, options: { readonly deployment: boolean }): OptionalPart[] {
  const used = usedProviders(tree);
  const parts: OptionalPart[] = Object.keys(mapAt(tree, "providers"))
    .filter((id) => !used.has(id))
    .map((id) => ({ path: ["providers", id], reason: "no agent uses this provider" }));
  parts.push(...disabled(tree, ["channels"], "this channel"), ...disabled(tree, ["mcp", "servers"], "this server"));
  if (!options.deployment) {
    const sections = DEPLOYMENT_PARTS.filter((part) => isMap(mapAt(tree, "deployment")[part]));
    parts.push(...sections.map((part) => ({ path: ["deployment", part], reason: "only deployment commands need it" })));
  }
  return parts;
}

/** Ids of the providers that agents name, as their own or among their fallbacks. */
export function usedProviders(tree: TreeMap): Set<string> {
  const used = new Set<string>();
  for (const agent of Object.values(mapAt(tree, "agents"))) {
    const provider = valueAt(agent, ["provider"]);
    if (typeof provider === "string") used.add(provider);
    const fallbacks = valueAt(agent, ["fallbacks"]);
    if (!Array.isArray(fallbacks)) continue;
    for (const entry of fallbacks) if (typeof entry === "string") used.add(entry.split(":", 1)[0] ?? entry);
  }
  return used;
}

function disabled(tree: TreeMap, path: readonly string[], what: string): OptionalPart[] {
  return Object.entries(mapAt(tree, ...path))
    .filter(([, entry]) => isOff(valueAt(entry, ["enabled"])))
    .map(([id]) => ({ path: [...path, id], reason: `${what} is not enabled` }));
}

function isOff(value: Tree | undefined): boolean {
  return value === false || (typeof value === "string" && /^(false|off|no)$/i.test(value));
}
