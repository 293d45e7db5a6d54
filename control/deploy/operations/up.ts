/** `infra up`: brings the target to what the configuration says, after the preflight and the guards. */

import { needsTerminal, UsageError } from "../../output/failure.ts";
import type { Finding, ObservedNode } from "../driver.ts";
import { outputsOf, resourcesOf } from "../engine/checkpoint.ts";
import { type Diff, stackOutputs, type UpResult } from "../schemas.ts";
import { shownBackend } from "./backend.ts";
import { dataToAdopt } from "./data.ts";
import { refuseDataLoss, refuseManyStops, sharedWaiting, targetsOf } from "./guards.ts";
import { deliverImages, withImages } from "./images.ts";
import { reconcileInterrupted } from "./pending.ts";
import { preflight } from "./preflight.ts";
import { deployedNodes, readRecord, writeRecord } from "./record.ts";
import { stackSecrets } from "./secrets.ts";
import type { OperationInput, ReadProject } from "./services.ts";
import { openSession, type Session, withOperatorLock } from "./session.ts";

/** Milliseconds that nodes get to become healthy once the engine is done, and between two looks. */
const HEALTHY_MS = 180_000;
const POLL_MS = 500;

/** What comes next where a node is not healthy; the engine has to look where it was removed behind its back. */
const STATUS = "cairn infra status";
const REFRESH = "cairn infra refresh";

export interface UpOptions {
  readonly node: string | undefined;
  readonly image: string | undefined;
  readonly adopt: boolean;
  /** Do not ask. */
  readonly yes: boolean;
}

/** Rejects with InfraError; UsageError for an unknown node, or when a question would need a terminal. Null: the answer was no. */
export async function up(run: OperationInput, options: UpOptions): Promise<UpResult | null> {
  if (!options.yes && run.services.prompts === null) throw needsTerminal("Consent", "--yes");
  const session = await openSession(run, { measure: true });
  const nodes = chosenNodes(session.project, options.node);
  return withOperatorLock(session, "up", async () => {
    const warnings = await preflight(session);
    await reconcileInterrupted(session);
    const project = await withImages(session, { nodes, image: options.image });
    await session.driver.prepare?.(session.report, run.signal);
    await deliverImages(session, project);
    const state = await session.state();
    const adopt = await dataToAdopt(session, state, options.adopt);
    const { engine } = session;
    await engine.prepare(stackSecrets(project.plan, run.services.now()));
    const program = await run.services.createProgram(project, { adopt });

    session.phase("preview", "Comparing with what is deployed");
    const whole = await engine.preview({ ...session.engineRun(), program });
    const targets =
      options.node === undefined ? undefined : targetsOf(whole, resourcesOf(state), project.plan, options.node);
    const diff = targets === undefined ? whole : await engine.preview({ ...session.engineRun(), program, targets });
    refuseDataLoss(diff, resourcesOf(state));
    const running = whole.changes.length === 0 ? new Set<string>() : await runningNodes(session);
    refuseManyStops(diff, project.plan, running);
    if (options.node !== undefined && targets !== undefined) {
      const shared = sharedWaiting({ node: options.node, plan: project.plan, whole, diff, targets, running });
      if (shared.length > 0) warnings.push(notDone(session, shared));
    }
    if (!options.yes && !(await confirmed(session, diff))) return null;

    const existingOutputs = diff.changes.length === 0 && (await readRecord(run.dir)) !== null ? outputsOf(state) : null;
    if (existingOutputs === null) session.phase("up", "Applying");
    const applied =
      existingOutputs === null
        ? await engine.up({ ...session.engineRun(), program, targets })
        : { diff, outputs: existingOutputs };
    session.phase("settle", "Waiting for the nodes");
    await session.driver.reconcile?.(session.report, run.signal);
    return finish(session, project, { nodes, warnings, adopted: [...adopt].sort(), applied });
  });
}

function chosenNodes({ plan }: ReadProject, node: string | undefined): string[] {
  const all = plan.nodes.map(({ name }) => name);
  if (node === undefined) return all;
  if (!all.includes(node)) throw new UsageError(`There is no node ${node}.`, `Nodes: ${all.join(", ")}.`);
  return [node];
}

async function runningNodes({ driver, run }: Session): Promise<ReadonlySet<string>> {
  const observed = await driver.observe(run.signal);
  return new Set(observed.filter((one) => one.state === "running").map(({ name }) => name));
}

function notDone(session: Session, names: readonly string[]): Finding {
  const message = `Not done by --node: ${names.join(", ")}. The next \`cairn infra up\` does it.`;
  session.warn(message);
  return { severity: "warning", code: "INFRA_UP_REFUSED", message };
}

async function confirmed({ run }: Session, diff: Diff): Promise<boolean> {
  // Nothing to agree to.
  if (diff.changes.length === 0) return true;
  return (await run.services.prompts?.confirm("Apply these changes?", diff, run.signal)) === true;
}

interface Outcome {
  readonly nodes: readonly string[];
  readonly warnings: UpResult["warnings"];
  readonly adopted: string[];
  readonly applied: { readonly diff: Diff; readonly outputs: unknown };
}

async function finish(session: Session, project: ReadProject, outcome: Outcome): Promise<UpResult> {
  const { run, files, engine } = session;
  const { plan } = project;
  const { services } = run;
  // What runs is written down before anything is waited for: it is true whether or not it becomes healthy.
  await recordImages(project, outcome.nodes, run);
  const outputs = stackOutputs.parse(outcome.applied.outputs);
  const before = await readRecord(run.dir);
  // What was not part of this run shows the certificate that it had.
  const certificateOf = (name: string): string | null => {
    const recorded = outcome.nodes.includes(name) ? undefined : before?.nodes.find((one) => one.name === name);
    return recorded === undefined ? project.certificate : recorded.certificate_sha256;
  };
  const nodes = deployedNodes(outputs.nodes, plan, certificateOf);
  const data = outputs.data.map(({ name, place }) => ({ name, place }));
  await writeRecord(files, {
    schema: 1,
    stack: plan.stack,
    target: plan.target,
    backend: shownBackend(engine.backend),
    deployed_at: services.now().toISOString(),
    version: plan.version,
    nodes,
    data,
  });
  const unchanged = outcome.applied.diff.changes.length === 0;
  const observed = await untilHealthy(session, outcome.nodes, unchanged);
  const healthy = outcome.nodes.every((name) => observed.find((one) => one.name === name)?.health === "healthy");
  const [first] = nodes;
  return {
    ...outcome.applied.diff,
    warnings: [...outcome.warnings],
    nodes: nodes.map((node) => {
      const seen = observed.find((one) => one.name === node.name);
      const { state = "unknown", health = "unknown", reason = null } = seen ?? {};
      return { ...node, state, health, reason };
    }),
    data,
    healthy,
    adopted: outcome.adopted,
    next: healthy || !first ? "cairn chat" : unchanged && allGone(observed, outcome.nodes) ? REFRESH : STATUS,
  };
}

async function recordImages(
  { plan }: ReadProject,
  nodes: readonly string[],
  { dir, services }: OperationInput,
): Promise<void> {
  const release = await services.release.read(dir);
  const now = plan.nodes.flatMap(({ name, image }) => (image && nodes.includes(name) ? [[name, image] as const] : []));
  const existing = Object.entries(release.nodes).filter(([name]) => plan.nodes.some((node) => node.name === name));
  await services.release.write(dir, { ...release, nodes: Object.fromEntries([...existing, ...now]) });
}

/**
 * What was observed last; after the deadline, or as soon as every node is healthy. Where nothing was started a node that was
 * stopped or removed by hand does not come back by waiting.
 */
async function untilHealthy(
  { driver, run }: Session,
  nodes: readonly string[],
  unchanged: boolean,
): Promise<readonly ObservedNode[]> {
  const { services, signal } = run;
  const deadline = services.now().getTime() + HEALTHY_MS;
  for (;;) {
    const observed = await driver.observe(signal);
    const waiting = nodes.filter((name) => observed.find((one) => one.name === name)?.health !== "healthy");
    if (unchanged && allGone(observed, nodes)) return observed;
    if (waiting.length === 0 || services.now().getTime() >= deadline) return observed;
    await services.sleep(POLL_MS, signal);
  }
}

/** Whether those that are not healthy are all gone: the state still has them, and only a refresh corrects it. */
function allGone(observed: readonly ObservedNode[], nodes: readonly string[]): boolean {
  const sick = nodes
    .map((name) => observed.find((one) => one.name === name))
    .filter((one) => one?.health !== "healthy");
  return sick.length > 0 && sick.every((one) => one?.state === "missing" || one?.state === "stopped");
}
