/** What all nodes share, changed before them. Where PostgreSQL stops for it, the nodes wait. */

import { SHARED } from "../../../rollout/fleet-steps.ts";
import { nodeOf, stopsDatabase } from "../guards.ts";
import { whilePaused } from "../pausing.ts";
import { reconcileAndWait } from "../start-watch.ts";
import type { NodeRun } from "./node-change.ts";

/** Errors of the engine; StartFailure where PostgreSQL or a node that ran does not come back. */
export async function changeShared(run: NodeRun): Promise<void> {
  const { session, prepared, record } = run;
  const { project, program, whole, running, restarts } = prepared;
  const changes = whole.changes.filter((change) => nodeOf(change, project.plan) === null);
  if (changes.length === 0) return;
  const nodes = [...running];
  const stops = stopsDatabase({ ...whole, changes }, project.plan);
  await record(`apply ${SHARED}`, () =>
    whilePaused(session, project, stops ? nodes : [], async () => {
      session.phase("shared", `Changing what the nodes share: ${changes.map(({ name }) => name).join(", ")}`);
      const targets = changes.map(({ urn }) => urn);
      await session.engine.up({ ...session.engineRun(), program, targets });
      await reconcileAndWait(session, { nodes: [], restarts, unchanged: false });
    }),
  );
  await reconcileAndWait(session, { nodes, restarts, unchanged: false });
}
