/** Refuses images whose releases could not serve beside those that run: before anything is stopped for them. */

import type { NodePlan, Release } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { beyondSkew, skewMessage } from "../../../runtime/contracts/version-skew.ts";
import { ALL_STOPPED } from "./guards.ts";

/**
 * INFRA_UP_REFUSED when a node is to get a release that may not serve beside one that runs. A version that no image tells is not
 * judged here: the node itself refuses its start then.
 */
export function refuseVersionSkew(
  nodes: readonly Pick<NodePlan, "name" | "image">[],
  release: Pick<Release, "nodes">,
  running: ReadonlySet<string>,
): void {
  const versions = Object.entries(release.nodes).map(([name, { version }]) => ({ name, release: version }));
  const live = versions.filter(({ name }) => running.has(name));
  for (const { name, image } of nodes) {
    if (image === null || release.nodes[name]?.version === image.version) continue;
    const member = beyondSkew(
      image.version,
      live.filter((other) => other.name !== name),
    );
    if (member === null) continue;
    throw new InfraError("INFRA_UP_REFUSED", skewMessage(image.version, member), {
      hint: `Go one minor after the other. To go there at once: ${ALL_STOPPED}`,
    });
  }
}
