/** Whether a deployment's nodes run where `infra up` has put them, or on machines of the operator's own. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { readRecord } from "../deploy/operations/record.ts";
import { type Deployment, inspectWithoutSecrets } from "../service/deployment.ts";

/** From the state of `infra up`; an error where the target was never deployed. */
export async function isDeployed(deployment: Deployment, signal: AbortSignal): Promise<boolean> {
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
