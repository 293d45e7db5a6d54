/** What has to hold of a stack before its PostgreSQL is moved: it runs, and nothing waits to be applied. */

import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { ExportedState } from "../../engine/checkpoint.ts";
import { inspectDeployed } from "../drift.ts";
import { stackSecrets } from "../secrets.ts";
import type { Session } from "../session.ts";

/** INFRA_UP_REFUSED. `image`: of the PostgreSQL that runs, whatever cairn.yaml says by now. */
export async function refuseUnready(session: Session, state: ExportedState | null, image: string): Promise<void> {
  const { driver, engine, project, run } = session;
  const sick = (await driver.observe(run.signal)).filter(({ health }) => health !== "healthy").map(({ name }) => name);
  if (sick.length > 0) {
    throw new InfraError("INFRA_UP_REFUSED", `These nodes are not healthy: ${sick.join(", ")}.`, {
      hint: "See `cairn infra status`, and run the same command again when they are.",
    });
  }
  session.phase("preview", "Comparing with what is deployed");
  const { plan } = project;
  // The spread loses which of the three plans it is.
  const applied = { ...plan, postgres: plan.postgres && { ...plan.postgres, image } } as DeploymentPlan;
  await engine.prepare(stackSecrets(plan, run.services.now()));
  const program = await run.services.createProgram({ ...project, plan: applied }, { adopt: new Set() });
  const { changes } = await engine.preview({ ...session.engineRun(), program });
  const { drift } = await inspectDeployed(session, state);
  if (changes.length + drift.length === 0) return;
  const names = [...new Set([...changes, ...drift].map(({ name }) => name))].sort();
  throw new InfraError("INFRA_UP_REFUSED", `What is deployed differs from cairn.yaml: ${names.join(", ")}.`, {
    hint:
      plan.postgres?.image === image
        ? "Apply that first with `cairn infra up`, or `cairn infra up --roll`, then run the same command again."
        : `Set deployment.datahub.image back to ${image}, apply the rest with \`cairn infra up\`, and name the next image with --to.`,
  });
}
