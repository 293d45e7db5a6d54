/**
 * The second half of an upgrade: cairn.yaml, what runs, and the records get the new image and the new data. The former server is
 * stopped; every step may be repeated.
 */

import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { forget, resourcesOf } from "../../engine/checkpoint.ts";
import type { PostgresUpgradeResult } from "../../schemas.ts";
import { unknownData } from "../data.ts";
import { keptAfter, recordDeployed } from "../deployed.ts";
import { withNextCommand } from "../next-command.ts";
import { resumeNodes } from "../pausing.ts";
import type { Session } from "../session.ts";
import { type Restarts, reconcileAndWait } from "../start-watch.ts";
import { closeUpgrade, type UpgradeEntry } from "./upgrade-journal.ts";

/** The containers are new ones: their targets count from nothing. */
const NOTHING_BEFORE: Restarts = new Map();
const FINISHES = "Run `cairn infra postgres upgrade` again: it finishes.";

/** INFRA_FAILED where a node is not healthy afterwards. What stops it before that says that the same command finishes it. */
export async function finishSwitch(session: Session, entry: UpgradeEntry): Promise<PostgresUpgradeResult> {
  const { run, files } = session;
  const { from, to, stack, backup, tables, rows } = entry;
  session.phase("switch", `Switching to PostgreSQL ${to.major}`);
  const switched = await apply(session, entry).catch(async (thrown: unknown) => {
    run.signal.throwIfAborted();
    // A full disk or a lost host: they may want `infra unlock` first.
    const cause = await withNextCommand(session, "postgres upgrade", thrown);
    const words = cause instanceof Error ? cause.message : String(cause);
    const said = cause instanceof InfraError ? cause : null;
    const code = said?.code ?? "INFRA_FAILED";
    throw new InfraError(code, `The switch to PostgreSQL ${to.major} stopped on its way: ${words}`, {
      ...said?.details,
      hint: `${cause === thrown ? FINISHES : (said?.details.hint ?? FINISHES)} The former server stays stopped, since the copy is complete.`,
      cause,
    });
  });
  const { project, driver } = switched;
  const nodes = project.plan.nodes.map(({ name }) => name);
  await resumeNodes(switched, project, nodes);
  await closeUpgrade(files);
  const watched = { nodes, restarts: NOTHING_BEFORE, unchanged: false };
  await keptAfter(switched, project, nodes, reconcileAndWait(switched, watched)).catch((cause: unknown) => {
    run.signal.throwIfAborted();
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new InfraError("INFRA_FAILED", `PostgreSQL ${to.major} runs, and not every node with it: ${words}`, {
      ...(cause instanceof InfraError ? cause.details : {}),
      hint: `See \`cairn infra status\`. The data of PostgreSQL ${from.major} are in ${from.volume} still, and the backup is ${backup}.`,
      cause,
    });
  });
  const kept = { volume: from.volume, removal: driver.database?.removal(from.volume) ?? "" };
  return { schema: 1, stack, outcome: "upgraded", from, to, backup, tables, rows, kept };
}

/** The session with the project as it is afterwards. */
async function apply(session: Session, { from, to }: UpgradeEntry): Promise<Session> {
  const { run, engine } = session;
  const servers = session.driver.database;
  if (servers === undefined)
    throw new InfraError("INFRA_UP_REFUSED", "cairn.yaml has no PostgreSQL of the stack any more.");
  await servers.handOver(to.volume, run.signal);
  await run.services.configuration.setDatabase({ image: to.image, data: servers.setting(to.volume) });
  const project = await run.services.readProject(run.dir, run.signal);
  const driver = await run.services.createDriver(project);
  const state = await session.state();
  const former = resourcesOf(state).filter(({ protected: data, name }) => data && name === from.volume);
  if (state !== null && former.length > 0) {
    // They stay on the target: nothing of the stack is to touch it any more.
    await engine.replaceState(forget(state, new Set(former.map(({ urn }) => urn))));
  }
  const unknown = unknownData(await driver.existingData(run.signal), await session.state());
  const adopt = new Set(unknown.map(({ name }) => name).filter((name) => name === to.volume));
  const program = await run.services.createProgram(project, { adopt });
  const { outputs } = await engine.up({ ...session.engineRun(), program });
  const switched = { ...session, project, driver };
  const nodes = project.plan.nodes.map(({ name }) => name);
  await recordDeployed(switched, project, nodes, outputs);
  await reconcileAndWait(switched, { nodes: [], restarts: NOTHING_BEFORE, unchanged: false });
  return switched;
}
