/** An operation as the commands call it, but for the plan, which no cairn.yaml is read for. */

import { join } from "node:path";
import { createKubernetesDriver } from "../../../control/deploy/drivers/kubernetes/driver.ts";
import { defaultServices } from "../../../control/deploy/operations/default-services.ts";
import type { OperationInput } from "../../../control/deploy/operations/services.ts";
import type { KubernetesPlan } from "../../../infra/plan/types.ts";
import { resolveDirectories } from "../../../runtime/config/index.ts";
import { ROOT } from "../../../scripts/lib/paths.js";
import { secretValues } from "./plans.ts";

/** Of the driver: a cluster that answers at once, and pods that are played, need no patience. */
const PACE = { pollMs: 200, patienceMs: 1_500, startMs: 60_000 };

export interface PlannedRun {
  readonly dir: string;
  readonly plan: KubernetesPlan;
  /** `kubectl`. */
  readonly program: string;
  readonly onEvent?: OperationInput["onEvent"];
}

export function plannedRun({ dir, plan, program, onEvent = () => undefined }: PlannedRun): OperationInput {
  const deployment = resolveDirectories({ flags: { dir }, env: { SERVICE_HOME: join(dir, "home") }, cwd: dir });
  const secrets = secretValues();
  return {
    dir,
    services: {
      ...defaultServices({ deployment, root: ROOT, prompts: null }),
      readProject: async () => ({ dir, plan, secrets, certificate: null, warnings: [], redactValues: [] }),
      createDriver: async () => createKubernetesDriver(plan, secrets, { program, pace: PACE }),
    },
    onEvent,
    signal: new AbortController().signal,
    killSignal: new AbortController().signal,
  };
}
