/**
 * `infra preview`: what `up` would change, and what of it was changed by hand. Changes nothing on the target; the first one makes
 * the project and an empty stack.
 */

import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { resourcesOf } from "../engine/checkpoint.ts";
import type { Diff, PreviewResult } from "../schemas.ts";
import { ensurePassphrase } from "../state/passphrase.ts";
import { unknownData } from "./data.ts";
import { inspectDeployed, planningFor, shownDrift } from "./drift.ts";
import { refuseManyStops } from "./guards.ts";
import { formerDatabases } from "./postgres/former-data.ts";
import { refuseOtherServer } from "./postgres/majors.ts";
import { refuseUnfinished } from "./postgres/upgrade-journal.ts";
import { preflight } from "./preflight.ts";
import { stackSecrets } from "./secrets.ts";
import type { OperationInput } from "./services.ts";
import { openSession } from "./session.ts";
import { settingChanges } from "./settings.ts";
import { runningNodes } from "./up-preparation.ts";

/** Data that exist there unrecorded are shown as taken over. Errors as `openSession`'s and `preflight`'s. */
export async function preview(run: OperationInput): Promise<PreviewResult> {
  const session = await openSession(run, { measure: true });
  const { engine, project, driver, files } = session;
  const state = await session.state();
  const warnings = await preflight(session, state);
  session.phase("inspect", "Looking for what was changed by hand");
  const { drift } = await inspectDeployed(session, state);
  const adopt = new Set(unknownData(await driver.existingData(run.signal), state).map(({ name }) => name));
  // The engine compares with a stack, so there has to be one; it is empty until the first `up`.
  await ensurePassphrase(files, project.plan.stack);
  await engine.prepare(stackSecrets(project.plan, run.services.now()));
  const program: PulumiFn = await run.services.createProgram(project, { adopt });
  session.phase("preview", "Comparing with what is deployed");
  const planning = planningFor(state, drift, driver, await formerDatabases(session, state));
  const diff: Diff = await engine.preview({ ...session.engineRun(), program, ...planning });
  const unknown = [...adopt].map((name) => ({
    severity: "warning" as const,
    code: "INFRA_DATA_EXISTS",
    message: `${name} exists already; \`up\` asks before it takes it over.`,
  }));
  const lost = diff.changes.filter(({ op, urn }) => {
    return (op === "delete" || op === "replace") && resourcesOf(state).some((one) => one.urn === urn && one.protected);
  });
  const refused = lost.map(({ name }) => ({
    severity: "warning" as const,
    code: "INFRA_DATA_PROTECTED",
    message: `${name} holds data and would be removed: \`up\` refuses that.`,
  }));
  const refusals = [
    await refusal(() => refuseUnfinished(files)),
    await refusal(() => refuseOtherServer(session, project, state, diff)),
    await refusal(async () => {
      if (diff.changes.length === 0) return;
      refuseManyStops(diff, session.project.plan, await runningNodes(session, drift));
    }),
  ].flat();
  const settings = [...(await settingChanges(files, project))];
  return { ...diff, drift: shownDrift(drift), settings, warnings: [...warnings, ...unknown, ...refused, ...refusals] };
}

/** That `up` would refuse, and the command that does it instead. */
async function refusal(check: () => Promise<void>): Promise<PreviewResult["warnings"]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (!(error instanceof InfraError) || error.code !== "INFRA_UP_REFUSED") throw error;
    const { hint } = error.details;
    return [{ severity: "warning", code: error.code, message: error.message, ...(hint === undefined ? {} : { hint }) }];
  }
}
