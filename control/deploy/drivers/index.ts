/** The driver of a plan's target. Only the one that is used is loaded. */

import type { DeploymentPlan, SecretValues } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { TargetDriver } from "../driver.ts";

export async function createDriver(plan: DeploymentPlan, secrets: SecretValues): Promise<TargetDriver> {
  switch (plan.target) {
    case "docker":
      return (await import("./docker/driver.ts")).createDockerDriver(plan, secrets);
    case "kubernetes":
      return (await import("./kubernetes/driver.ts")).createKubernetesDriver(plan, secrets);
    default:
      throw new InfraError("INFRA_FAILED", `There is no driver for ${plan.target}.`);
  }
}
