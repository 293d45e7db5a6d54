/** `update --mesh --dry-run` and `--history`: of a stack, or of nodes that were set up by hand. */

import type { OperationInput } from "../deploy/operations/services.ts";
import { sourceTreeOf } from "../service/source-tree.ts";
import { planUpdate, readHistory } from "./fleet-report.ts";
import { isDeployed } from "./is-deployed.ts";
import { planManualFleet, readManualHistory } from "./manual/update.ts";
import type { UpdateHistory, UpdatePlan } from "./result.ts";
import { refuseFlags, type UpdateRequest } from "./update.ts";

type Request = Omit<UpdateRequest, "mesh" | "hold"> & { readonly mesh: NonNullable<UpdateRequest["mesh"]> };

/** Errors of reading the configuration; UsageError as of `update`. */
export async function planFleet(run: OperationInput, request: Request): Promise<UpdatePlan> {
  const { deployment } = request;
  const deployed = await isDeployed(deployment, run.signal);
  refuseFlags(request, deployed);
  const root = sourceTreeOf(request.root);
  return deployed ? planUpdate(run, { ...request, root }) : planManualFleet({ ...request, run, root });
}

/** Errors of reading the configuration. */
export async function historyOfFleet(
  run: OperationInput,
  { deployment, report }: Pick<Request, "deployment" | "report">,
): Promise<UpdateHistory> {
  return (await isDeployed(deployment, run.signal)) ? readHistory(run) : readManualHistory({ run, deployment, report });
}
