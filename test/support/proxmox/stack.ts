/** A stack on the real engine with the real command provider, its state in a folder of the test. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { LocalWorkspace, type Stack } from "@pulumi/pulumi/automation/index.js";
import type { ProxmoxPlan, SecretValues } from "../../../infra/plan/types.ts";
import { createProgram } from "../../../infra/program.ts";

export const SECRETS: SecretValues = { variables: { SERVICE_API_TOKEN: "very-secret-word" }, registry: null };

/** The same folder gives the same stack again. */
export async function openStack(folder: string, plan: ProxmoxPlan): Promise<Stack> {
  const state = join(folder, "state");
  const work = join(folder, "work");
  for (const path of [state, work]) mkdirSync(path, { recursive: true });
  return LocalWorkspace.createOrSelectStack(
    { stackName: plan.stack, projectName: "cairn", program: createProgram({ plan, secrets: SECRETS }) },
    {
      workDir: work,
      envVars: {
        PULUMI_CONFIG_PASSPHRASE: "test",
        PULUMI_BACKEND_URL: `file://${state}`,
        PULUMI_SKIP_UPDATE_CHECK: "1",
      },
      projectSettings: { name: "cairn", runtime: "nodejs", backend: { url: `file://${state}` } },
    },
  );
}
