/** `update --mesh --dry-run` and `--history`: of a stack, or of nodes that were set up by hand. */

import type { OperationInput } from "../deploy/operations/services.ts";
import { sourceTreeOf } from "../service/source-tree.ts";
import { planUpdate, readHistory } from "./fleet-report.ts";
import { isDeployed } from "./is-deployed.ts";
import { planManualFleet, readManualHistory } from "./manual/update.ts";
import type { UpdateHistory, UpdatePlan } from "./result.ts";
import type { UpdateRequest } from "./update.ts";

type Request = Pick<UpdateRequest, "deployment" | "root" | "version" | "prebuilt" | "checksum" | "report"> & {
  readonly mesh: NonNullable<UpdateRequest["mesh"]>;
};

/** Errors of reading the configuration. */
export async function planFleet(run: OperationInput, request: Request): Promise<UpdatePlan> {
  const { deployment, prebuilt, mesh, root } = request;
  if (await isDeployed(deployment, run.signal)) return planUpdate(run, { prebuilt, mesh });
  return planManualFleet({ ...request, run, root: sourceTreeOf(root) });
}

/** The same. */
export async function historyOfFleet(
  run: OperationInput,
  { deployment, report }: Pick<Request, "deployment" | "report">,
): Promise<UpdateHistory> {
  return (await isDeployed(deployment, run.signal)) ? readHistory(run) : readManualHistory({ run, deployment, report });
}
