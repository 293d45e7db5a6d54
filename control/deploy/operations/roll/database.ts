/** What all nodes share, changed before them. Where PostgreSQL stops for it, the nodes wait. */

import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { untilHealthy } from "../deployed.ts";
import { nodeOf, stopsDatabase } from "../guards.ts";
import { whilePaused } from "../pausing.ts";
import type { NodeRun } from "./node-change.ts";
import { SHARED } from "./roll-plan.ts";

/** Errors of the engine; INFRA_FAILED where a node that ran does not come back. */
export async function changeShared(run: NodeRun): Promise<void> {
  const { session, prepared, journal } = run;
  const { project, program, whole, running } = prepared;
  const changes = whole.changes.filter((change) => nodeOf(change, project.plan) === null);
  if (changes.length === 0) return;
  const nodes = [...running];
  const stops = stopsDatabase({ ...whole, changes }, project.plan);
  await journal.step(`apply ${SHARED}`, () =>
    whilePaused(session, project, stops ? nodes : [], async () => {
      session.phase("shared", `Changing what the nodes share: ${changes.map(({ name }) => name).join(", ")}`);
      const targets = changes.map(({ urn }) => urn);
      await session.engine.up({ ...session.engineRun(), program, targets });
      await session.driver.reconcile?.(session.report, session.run.signal);
    }),
  );
  const observed = await untilHealthy(session, nodes, false);
  const sick = nodes.filter((name) => observed.find((one) => one.name === name)?.health !== "healthy");
  if (sick.length === 0) return;
  throw new InfraError(
    "INFRA_FAILED",
    `After the change of what they share these nodes are not healthy: ${sick.join(", ")}.`,
    {
      hint: "See `cairn infra status`. To go back, take the setting back and run `cairn infra up --roll` again.",
    },
  );
}
