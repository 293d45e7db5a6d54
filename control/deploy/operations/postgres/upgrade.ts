/**
 * `infra postgres upgrade`: a server of the next major is started beside the stack's own, the data are copied and compared while
 * the nodes wait, and the stack switches to it. Until the switch the former server goes on whatever happens; its data stay.
 */

import { databaseData, databaseDataOf } from "../../../../infra/plan/names.ts";
import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { DatabaseServers } from "../../driver.ts";
import { resourcesOf } from "../../engine/checkpoint.ts";
import type { PostgresUpgradeResult } from "../../schemas.ts";
import { requireConsent } from "../consent.ts";
import { withOperatorLock } from "../operator-run.ts";
import { pauseNodes, resumeNodes } from "../pausing.ts";
import { reconcileInterrupted } from "../pending.ts";
import { preflight } from "../preflight.ts";
import type { OperationInput } from "../services.ts";
import { openSession, type Session } from "../session.ts";
import { refuseUnready } from "./readiness.ts";
import { finishSwitch } from "./switch.ts";
import { closeUpgrade, readUpgrade, type UpgradeEntry, writeUpgrade } from "./upgrade-journal.ts";
import { compareContents, isUpgrade, refuseTooLarge } from "./upgrade-plan.ts";

/** Seconds: the longest that a node can be told to wait. Where copying takes longer it waits for its database. */
const PAUSE_S = 3600;

export interface UpgradeOptions {
  /** Image of the next major; when absent that of an upgrade that was cut off, else that of cairn.yaml. */
  readonly image: string | undefined;
  readonly yes: boolean;
}

/** Repeatable. Null when the answer was no. INFRA_UP_REFUSED before anything was changed. */
export async function upgradePostgres(
  run: OperationInput,
  options: UpgradeOptions,
): Promise<PostgresUpgradeResult | null> {
  const { prompts } = run.services;
  await requireConsent(run, options.yes);
  const opened = await openSession(run, { measure: true });
  const { plan } = opened.project;
  const servers = opened.driver.database;
  if (servers === undefined) {
    throw new InfraError("INFRA_UP_REFUSED", "The stack has no PostgreSQL of its own (deployment.datahub.postgres).");
  }
  return withOperatorLock(opened, "postgres upgrade", async (session) => {
    await reconcileInterrupted(session);
    const before = await readUpgrade(session.files);
    if (before?.state === "switching") {
      refuseAnother(before, options.image);
      return finishSwitch(session, before);
    }
    if (before !== null) await goBack(session, servers, before);
    const image = options.image ?? before?.to.image ?? plan.postgres?.image ?? "";
    const entry = await planned(session, servers, plan, image);
    if ("outcome" in entry) return entry;
    const { from, to } = entry;
    const question = `Move the data from PostgreSQL ${from.major} to ${to.major} (${to.image})? The nodes wait meanwhile.`;
    if (!options.yes && (await prompts?.confirm(question, nothingOf(plan), run.signal)) !== true) return null;
    session.phase("backup", "Backing up the memory");
    const backup = await run.services.backup(run.dir, session.project, session.driver, run.signal);
    session.report(`The backup is ${backup}`);
    const begun: UpgradeEntry = { ...entry, backup };
    await writeUpgrade(session.files, begun);
    return finishSwitch(session, await copied(session, servers, begun));
  });
}

/** INFRA_UP_REFUSED: the new server's data are the ones that count already. */
function refuseAnother({ to }: UpgradeEntry, image: string | undefined): void {
  if (image === undefined || image === to.image) return;
  throw new InfraError("INFRA_UP_REFUSED", `An upgrade to ${to.image} was cut off while it switched.`, {
    hint: `Run \`cairn infra postgres upgrade\` to finish it, then the same command again for ${image}.`,
  });
}

/** What is to be done, or that there is nothing. Everything that can be asked before is asked here. */
async function planned(
  session: Session,
  servers: DatabaseServers,
  plan: DeploymentPlan,
  image: string,
): Promise<UpgradeEntry | PostgresUpgradeResult> {
  const { run, report } = session;
  const { signal } = run;
  const state = await session.state();
  const recorded = await servers.image(resourcesOf(state), signal);
  if (recorded === null) {
    throw new InfraError("INFRA_UP_REFUSED", "No PostgreSQL of this stack is deployed.", {
      hint: "Run `cairn infra up`.",
    });
  }
  await preflight(session, state);
  session.phase("image", `Bringing ${image} to where PostgreSQL runs`);
  await servers.bring(image, report, signal);
  const majors = await servers.majors(image, signal);
  if (majors === null) throw new InfraError("INFRA_IMAGE_MISSING", `${image} is not where PostgreSQL runs.`);
  const from = { major: majors.data ?? 0, image: recorded, volume: databaseData(plan) };
  if (!isUpgrade(majors, image)) {
    return {
      schema: 1,
      stack: plan.stack,
      outcome: "unchanged",
      from,
      to: from,
      backup: null,
      tables: 0,
      rows: 0,
      kept: null,
    };
  }
  await refuseUnready(session, state, recorded);
  refuseTooLarge(await servers.room(signal));
  const to = { major: majors.server, image, volume: databaseDataOf(plan.stack, majors.server) };
  if (await servers.exists(to.volume, signal)) {
    throw new InfraError("INFRA_DATA_EXISTS", `${to.volume} exists already, and may hold data.`, {
      hint: `If nothing needs it any more, \`${servers.removal(to.volume)}\` removes it.`,
    });
  }
  return { schema: 1, stack: plan.stack, state: "copying", from, to, backup: "", tables: 0, rows: 0 };
}

/** Ends with the former server stopped and the journal saying so, or with everything as it was. */
async function copied(session: Session, servers: DatabaseServers, entry: UpgradeEntry): Promise<UpgradeEntry> {
  const { run, project, phase, files } = session;
  const { signal } = run;
  const { from, to } = entry;
  const nodes = project.plan.nodes.map(({ name }) => name);
  try {
    phase("start", `Starting PostgreSQL ${to.major} beside ${from.major}`);
    await servers.startSecond(to.image, to.volume, signal);
    await pauseNodes(session, project, nodes, PAUSE_S);
    const door = await servers.closeToNodes(signal);
    try {
      phase("copy", `Copying from PostgreSQL ${from.major} to ${to.major}`);
      await servers.copy(from.major, signal);
      phase("compare", "Comparing every row of both");
      const counted = compareContents(await servers.contents("own", signal), await servers.contents("second", signal));
      if (!door.closed()) {
        throw new InfraError("INFRA_FAILED", "Nodes could have written to the former server while it was copied.", {
          hint: "Run the same command again.",
        });
      }
      signal.throwIfAborted();
      // Stopped while nodes are kept out: nothing is written that the copy does not have.
      await servers.stop(run.killSignal);
      const switching: UpgradeEntry = { ...entry, ...counted, state: "switching" };
      await writeUpgrade(files, switching);
      return switching;
    } finally {
      await door.open();
    }
  } catch (error) {
    await goBack(session, servers, entry).catch((second: unknown) =>
      session.warn(`What was made could not be removed: ${second instanceof Error ? second.message : String(second)}`),
    );
    throw error;
  }
}

/** The former server goes on, and what was made beside it is removed. Repeatable. */
async function goBack(session: Session, servers: DatabaseServers, { to }: UpgradeEntry): Promise<void> {
  const { run, project, phase, files } = session;
  phase("back", "Letting the nodes go on, and removing what was made");
  await servers.start(run.killSignal);
  // Nodes need nothing of the rest, which may fail.
  const nodes = project.plan.nodes.map(({ name }) => name);
  await resumeNodes(session, project, nodes, run.killSignal);
  await servers.removeSecond(to.volume, run.killSignal);
  await closeUpgrade(files);
}

function nothingOf({ stack, target }: DeploymentPlan) {
  const summary = { create: 0, update: 0, replace: 1, delete: 0, import: 0, same: 0 };
  return { schema: 1 as const, stack, target, summary, changes: [] };
}
