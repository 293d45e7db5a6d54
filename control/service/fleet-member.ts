/** A node of the fleet by its name, where this directory deploys no stack: this machine's, or one that is elsewhere. */

import { join } from "node:path";
import { readMeshFile } from "../../runtime/files/mesh-file.ts";
import { UsageError } from "../output/failure.ts";
import { type Deployment, inspectWithoutSecrets } from "./deployment.ts";

/**
 * Returns for the node of this directory. UsageError for one of the fleet whose log and processes are on another machine, and for a
 * name that this machine does not know.
 */
export async function requireOwnNode(deployment: Deployment, name: string): Promise<void> {
  const inspection = await inspectWithoutSecrets(deployment).catch(() => null);
  if (inspection?.loaded?.config.mesh.name === name) return;
  // What the node has written down of its fleet: it need not run.
  const { nodes: entries = [] } = (await readMeshFile(join(deployment.home, "mesh.json")).catch(() => null)) ?? {};
  const entry = entries.find((one) => one.name === name);
  if (entry === undefined) {
    throw new UsageError(
      `No node ${name} is known here, and nothing is deployed from this directory.`,
      "Leave --node out for the node of this directory; `cairn mesh list` shows those of its fleet.",
    );
  }
  throw new UsageError(
    `${name} is another node of the fleet${entry.address === null ? "" : ` (${entry.address})`}, and its log is where it runs.`,
    "Run this command there, in its deployment directory; for a node of a stack, where the stack is deployed from.",
  );
}
