/** Whether the nodes that share the database could serve beside the release that an update goes to. */

import type { MeshNode } from "../../runtime/client/index.ts";
import { assertWithinSkew } from "../../runtime/contracts/version-skew.ts";
import { connect } from "../service/connect.ts";
import type { TreeUpdate } from "./tree-change.ts";

/** RUNTIME_VERSION_SKEW, before anything is built. What the running node cannot say, the new one checks when it starts. */
export async function refuseVersionSkew(
  { deployment, signal }: Pick<TreeUpdate, "deployment" | "signal">,
  release: string,
): Promise<void> {
  const nodes = await connect(deployment)
    .then((client) => client.mesh({ signal }))
    .catch((): readonly MeshNode[] => []);
  signal.throwIfAborted();
  refuseSkewAmong(
    release,
    nodes.filter(({ self }) => !self),
  );
}

/** RUNTIME_VERSION_SKEW where one of these lives, and could not serve beside the release. */
export function refuseSkewAmong(release: string, nodes: readonly MeshNode[]): void {
  const living = nodes.filter(({ status }) => status === "online" || status === "draining");
  assertWithinSkew(
    release,
    living.map(({ name, version }) => ({ name, release: version })),
  );
}
