/** Nodes that wait while PostgreSQL is stopped: their turns end before, and they refuse messages until they are resumed. */

import type { ReadProject } from "./services.ts";
import type { Session } from "./session.ts";

/** Seconds after which a node goes on by itself: longer than PostgreSQL may take to stop and to start again. */
const PAUSE_S = 600;

/** Runs `work` while these nodes wait. */
export async function whilePaused<T>(
  session: Session,
  project: ReadProject,
  nodes: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    if (nodes.length > 0) await pauseNodes(session, project, nodes, PAUSE_S);
    return await work();
  } finally {
    await resumeNodes(session, project, nodes, session.run.killSignal);
  }
}

/** Lets active turns end. A node that does not answer waits for its database by itself, as after a restart of that. */
export async function pauseNodes(
  session: Session,
  project: ReadProject,
  nodes: readonly string[],
  seconds: number,
): Promise<void> {
  const { run, driver } = session;
  session.phase("pause", `Letting the turns of ${nodes.join(", ")} end before PostgreSQL stops`);
  await each(session, nodes, run.signal, (node) =>
    run.services.nodes.pause({ project, driver, node }, seconds, run.signal),
  );
}

/** Also after a run that was killed while nodes waited. */
export async function resumeNodes(
  session: Session,
  project: ReadProject,
  nodes: readonly string[],
  signal: AbortSignal = session.run.signal,
): Promise<void> {
  const { run, driver } = session;
  await each(session, nodes, signal, (node) => run.services.nodes.resume({ project, driver, node }, signal));
}

async function each(
  session: Session,
  nodes: readonly string[],
  signal: AbortSignal,
  work: (node: string) => Promise<void>,
): Promise<void> {
  await Promise.all(
    nodes.map(async (node) => {
      await work(node).catch((error: unknown) => {
        signal.throwIfAborted();
        session.warn(`${node} could not be told: ${error instanceof Error ? error.message : String(error)}`);
      });
    }),
  );
}
