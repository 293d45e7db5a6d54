/** What comes before anything is applied: checks, images, data that are there already, and the preview of the whole. */

import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import type { Finding } from "../driver.ts";
import { type ExportedState, resourcesOf } from "../engine/checkpoint.ts";
import type { Drift } from "../inspection.ts";
import type { Diff } from "../schemas.ts";
import { refuseForeignImages } from "./architectures.ts";
import { dataToAdopt } from "./data.ts";
import { brokenNodes, inspectDeployed, ofNodes, type Planning, planningFor, shownDrift } from "./drift.ts";
import { refuseDataLoss } from "./guards.ts";
import { deliverImages, withImages } from "./images.ts";
import { reconcileInterrupted } from "./pending.ts";
import { formerDatabases } from "./postgres/former-data.ts";
import { bringServer, refuseOtherServer } from "./postgres/majors.ts";
import { refuseUnfinished } from "./postgres/upgrade-journal.ts";
import { preflight } from "./preflight.ts";
import { stackSecrets } from "./secrets.ts";
import type { ReadProject } from "./services.ts";
import type { Session } from "./session.ts";
import { settingChanges } from "./settings.ts";
import { type Restarts, restartsIn } from "./start-watch.ts";
import { refuseVersionSkew } from "./version-skew.ts";

export interface PreparationInput {
  /** Nodes that the run is about; the others keep their image. */
  readonly nodes: readonly string[];
  /** From the command line. */
  readonly image: string | undefined;
  readonly adopt: boolean;
}

export interface Preparation {
  /** With an image for each node. */
  readonly project: ReadProject;
  readonly program: PulumiFn;
  /** Names of data that are taken over. */
  readonly adopt: ReadonlySet<string>;
  readonly state: ExportedState | null;
  /** What a run for all nodes would change. */
  readonly whole: Diff;
  /** URNs of components that are new in it. */
  readonly components: readonly string[];
  /** Nodes that run now; empty where nothing would change. */
  readonly running: ReadonlySet<string>;
  readonly warnings: Finding[];
  /** What was changed by hand, and is brought back by this run. */
  readonly drift: readonly Drift[];
  /** How often the target had started again what stands there now. */
  readonly restarts: Restarts;
  readonly planning: Planning;
}

/** Under the operator's lock. Errors of `preflight`, of the images and their versions, INFRA_DATA_EXISTS, INFRA_DATA_PROTECTED. */
export async function prepareUp(session: Session, input: PreparationInput): Promise<Preparation> {
  const { run, engine, driver } = session;
  await refuseUnfinished(session.files);
  const warnings = await preflight(session, await session.state());
  await reconcileInterrupted(session);
  const project = await withImages(session, input);
  for (const foreign of await refuseForeignImages(session, project, input.nodes)) warnings.push(foreign);
  await driver.prepare?.(session.report, run.signal);
  await deliverImages(session, project);
  const state = await session.state();
  const adopt = await dataToAdopt(session, state, input.adopt);
  session.phase("inspect", "Looking for what was changed by hand");
  const inspection = await inspectDeployed(session, state);
  const drift = ofNodes(inspection.drift, input.nodes);
  const restarts = restartsIn(inspection);
  const planning = planningFor(state, drift, driver, await formerDatabases(session, state));
  await engine.prepare(stackSecrets(project.plan, run.services.now()));
  const program = await run.services.createProgram(project, { adopt });
  session.phase("preview", "Comparing with what is deployed");
  const components: string[] = [];
  const onComponent = (urn: string): void => void components.push(urn);
  const whole = await engine.preview({ ...session.engineRun(), program, onComponent, ...planning });
  await bringServer(session, project, whole);
  await refuseOtherServer(session, project, state, whole);
  refuseDataLoss(whole, resourcesOf(planning.assuming ?? state));
  const running = whole.changes.length === 0 ? new Set<string>() : await runningNodes(session, drift);
  refuseVersionSkew(project.plan.nodes, await run.services.release.read(run.dir), running);
  return { project, program, adopt, state, whole, components, running, warnings, drift, restarts, planning };
}

/** As the target sees them now. */
export async function runningNodes(
  { driver, run }: Session,
  drift: readonly Drift[] = [],
): Promise<ReadonlySet<string>> {
  const observed = await driver.observe(run.signal);
  const broken = brokenNodes(drift);
  return new Set(observed.filter((one) => one.state === "running" && !broken.has(one.name)).map(({ name }) => name));
}

export async function confirmed(
  { run, files }: Session,
  project: ReadProject,
  diff: Diff,
  drift: readonly Drift[],
): Promise<boolean> {
  // Nothing to agree to.
  if (diff.changes.length + drift.length === 0) return true;
  const shown = { ...diff, drift: shownDrift(drift), settings: await settingChanges(files, project) };
  return (await run.services.prompts?.confirm("Apply these changes?", shown, run.signal)) === true;
}
