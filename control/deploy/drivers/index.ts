/** The driver of a plan's target. Only the one that is used is loaded. */

import type { DeploymentPlan, SecretValues } from "../../../infra/plan/types.ts";
import type { TargetDriver } from "../driver.ts";

export async function createDriver(plan: DeploymentPlan, secrets: SecretValues): Promise<TargetDriver> {
  switch (plan.target) {
    case "docker":
      return (await import("./docker/driver.ts")).createDockerDriver(plan, secrets);
    case "proxmox":
      return (await import("./proxmox/driver.ts")).createProxmoxDriver(plan, secrets);
    case "kubernetes":
      return (await import("./kubernetes/driver.ts")).createKubernetesDriver(plan, secrets);
  }
}
