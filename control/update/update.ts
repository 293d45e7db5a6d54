/** `update`: which way it goes, by where the nodes run. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { defaultServices } from "../deploy/operations/default-services.ts";
import { readRecord } from "../deploy/operations/record.ts";
import type { OperationInput } from "../deploy/operations/services.ts";
import { UsageError } from "../output/failure.ts";
import { withUpdateLock } from "../rollout/lock.ts";
import { type Deployment, inspectWithoutSecrets } from "../service/deployment.ts";
import { sourceTreeOf } from "../service/source-tree.ts";
import { Git } from "./git.ts";
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

/** UsageError for flags that do not fit the target; INFRA_LOCKED; errors of the two ways. */
export async function update(run: OperationInput, request: UpdateRequest): Promise<UpdateResult> {
  const { deployment, version, prebuilt, checksum, restart, mesh, report, hold } = request;
  const deployed = await isDeployed(deployment, run.signal);
  if (deployed && !restart) {
    throw new UsageError("A deployed node takes an image by being restarted.", "`cairn build` makes the image alone.");
  }
  if (deployed && checksum !== undefined) {
    throw new UsageError(
      "A deployed node takes an image, and --checksum is for archives.",
      "Name the image by its digest.",
    );
  }
  if (!deployed && mesh !== undefined) {
    throw new UsageError(
      "--mesh is for nodes that were deployed together.",
      "A node that was set up by hand is updated where it is: run `cairn update` there, on one after the other.",
    );
  }
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

/** From the state of `infra up`; an error where the target was never deployed. */
async function isDeployed(deployment: Deployment, signal: AbortSignal): Promise<boolean> {
  const { dir } = deployment;
  if (existsSync(join(dir, "infra", "stack.json"))) {
    const record = await readRecord(dir);
    if (record !== null && record.nodes.length > 0) return true;
  }
  if (!deployment.exists) return false;
  const { loaded, error } = await inspectWithoutSecrets(deployment, signal);
  if (loaded === null) throw error ?? new Error(`${deployment.file} could not be read`);
  const { target } = loaded.config.deployment;
  if (target === undefined || target === "manual") return false;
  throw new RuntimeError("RUNTIME_NOT_FOUND", `Nothing is deployed on ${target} yet: there is no node to update.`, {
    hint: "Deploy it with `cairn infra up`.",
  });
}
