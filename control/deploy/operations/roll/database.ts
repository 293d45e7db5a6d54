/** What all nodes share, changed before them. Where PostgreSQL stops for it, the nodes wait. */

import { nodeOf, stopsDatabase } from "../guards.ts";
import type { ReadProject } from "../services.ts";
import type { Session } from "../session.ts";
import { settle } from "../start-watch.ts";
import type { NodeRun } from "./node-change.ts";
import { SHARED } from "./roll-plan.ts";

/** Seconds after which a node goes on by itself: longer than PostgreSQL may take to stop and to start again. */
const PAUSE_S = 600;

/** Errors of the engine; StartFailure where PostgreSQL or a node that ran does not come back. */
export async function changeShared(run: NodeRun): Promise<void> {
  const { session, prepared, record } = run;
  const { project, program, whole, running } = prepared;
  const changes = whole.changes.filter((change) => nodeOf(change, project.plan) === null);
  if (changes.length === 0) return;
  const nodes = [...running];
  const stops = stopsDatabase({ ...whole, changes }, project.plan);
  await record(`apply ${SHARED}`, async () => {
    if (stops) await pauseNodes(session, project, nodes);
    try {
      session.phase("shared", `Changing what the nodes share: ${changes.map(({ name }) => name).join(", ")}`);
      const targets = changes.map(({ urn }) => urn);
      await session.engine.up({ ...session.engineRun(), program, targets });
      await settle(session, { nodes: [], restarts: prepared.restarts, unchanged: false });
    } finally {
      if (stops) await resumeNodes(session, project, nodes);
    }
  });
  await settle(session, { nodes, restarts: prepared.restarts, unchanged: false });
}

/** Lets active turns end. A node that does not answer waits for its database by itself, as after a restart of that. */
async function pauseNodes(session: Session, project: ReadProject, nodes: readonly string[]): Promise<void> {
  const { run, driver } = session;
  session.phase("pause", `Letting the turns of ${nodes.join(", ")} end before PostgreSQL stops`);
  await each(session, nodes, (node) => run.services.nodes.pause({ project, driver, node }, PAUSE_S, run.signal));
}

/** Also after a rollout that was killed while nodes waited. */
export async function resumeNodes(session: Session, project: ReadProject, nodes: readonly string[]): Promise<void> {
  const { run, driver } = session;
  await each(session, nodes, (node) => run.services.nodes.resume({ project, driver, node }, run.signal));
}

async function each(session: Session, nodes: readonly string[], work: (node: string) => Promise<void>): Promise<void> {
  const { signal } = session.run;
  await Promise.all(
    nodes.map(async (node) => {
      await work(node).catch((error: unknown) => {
        signal.throwIfAborted();
        session.warn(`${node} could not be told: ${error instanceof Error ? error.message : String(error)}`);
      });
    }),
  );
}
