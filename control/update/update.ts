/** `update`: which way it goes, by where the nodes run. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { defaultServices } from "../deploy/operations/default-services.ts";
import type { OperationInput } from "../deploy/operations/services.ts";
import { UsageError } from "../output/failure.ts";
import { withUpdateLock } from "../rollout/lock.ts";
import type { Deployment } from "../service/deployment.ts";
import { sourceTreeOf } from "../service/source-tree.ts";
import { Git } from "./git.ts";
import { isDeployed } from "./is-deployed.ts";
import { updateManualFleet } from "./manual/update.ts";
import type { UpdateResult } from "./result.ts";
import { type MeshOptions, nodesOf, updateDeployed } from "./update-deployed.ts";
import { updateFromRelease } from "./update-release.ts";
import { updateTree } from "./update-tree.ts";

export interface UpdateRequest {
  readonly deployment: Deployment;
  /** Directory of package.json of the program that runs this. */
  readonly root: string;
  readonly version: string | undefined;
  /** An image for a deployed node, else an archive of the program. */
  readonly prebuilt: string | undefined;
  /** SHA-256 of the archive. */
  readonly checksum: string | undefined;
  readonly restart: boolean;
  /** The nodes of a stack through the database that they share. */
  readonly mesh: MeshOptions | undefined;
  readonly report: (text: string) => void;
  /** See TreeUpdate. */
  readonly hold: () => () => void;
}

/** Milliseconds that a node gets to be ready: migrations are part of it. */
const READY_MS = 180_000;

/** UsageError for flags that say nothing to the target, or to a fleet. */
export function refuseFlags(
  { restart, checksum, mesh }: Pick<UpdateRequest, "restart" | "checksum" | "mesh">,
  deployed: boolean,
): void {
  if (deployed && !restart) {
    throw new UsageError("A deployed node takes an image by being restarted.", "`cairn build` makes the image alone.");
  }
  if (deployed && checksum !== undefined) {
    throw new UsageError(
      "A deployed node takes an image, and --checksum is for archives.",
      "Name the image by its digest.",
    );
  }
  if (mesh !== undefined && !restart) {
    throw new UsageError("--mesh restarts one node after the other.", "Leave out --no-restart.");
  }
}

/** UsageError for flags that do not fit the target; INFRA_LOCKED; errors of the two ways. */
export async function update(run: OperationInput, request: UpdateRequest): Promise<UpdateResult> {
  const { deployment, version, prebuilt, checksum, restart, mesh, report, hold } = request;
  const deployed = await isDeployed(deployment, run.signal);
  refuseFlags(request, deployed);
  const { signal } = run;
  const root = sourceTreeOf(request.root);
  return withUpdateLock(join(deployment.home, "run"), async () => {
    if (deployed) {
      const deploy = (program: string): Promise<UpdateResult> =>
        updateDeployed({
          run: { ...run, services: defaultServices({ deployment, root: program, prompts: null }) },
          prebuilt,
          mesh,
          report,
        });
      // Refused before anything is built.
      nodesOf(await run.services.readProject(run.dir, signal));
      const isTree = prebuilt === undefined && mesh?.resume !== true && existsSync(join(root, ".git"));
      if (!isTree && version !== undefined) await new Git(root, signal).requireCheckout();
      return isTree ? updateFromRelease({ root, version, signal, report, deploy }) : deploy(request.root);
    }
    if (mesh !== undefined)
      return updateManualFleet({ run, deployment, root, version, prebuilt, checksum, mesh, report });
    return updateTree({
      deployment,
      root,
      version,
      prebuilt: prebuilt === undefined ? undefined : { archive: prebuilt, checksum },
      restart,
      readyMs: READY_MS,
      signal,
      report,
      hold,
      now: () => new Date(),
    });
  });
}
