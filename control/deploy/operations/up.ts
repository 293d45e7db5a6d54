/** `infra up`: brings the target to what the configuration says, after everything that speaks against it was looked at. */

import { POSTGRES_PASSWORD } from "../../../infra/program.ts";
import { needsTerminal, UsageError } from "../../output/failure.ts";
import type { ObservedNode } from "../driver.ts";
import { type ExportedState, outputsOf, resourcesOf } from "../engine/checkpoint.ts";
import { type Diff, stackOutputs, type UpResult } from "../schemas.ts";
import { generateSecret } from "../state/passphrase.ts";
import { shownBackend } from "./backend.ts";
import { dataToAdopt } from "./data.ts";
import { refuseDataLoss, refuseManyStops, targetsOf } from "./guards.ts";
import { deliverImages, withImages } from "./images.ts";
import { settleInterrupted } from "./pending.ts";
import { preflight } from "./preflight.ts";
import { deployedNodes, readRecord, writeRecord } from "./record.ts";
import type { ReadProject, Run } from "./services.ts";
import { alone, openSession, type Session } from "./session.ts";

/** Milliseconds that nodes get to become healthy once the engine is done, and between two looks. */
const HEALTHY_MS = 180_000;
const LOOK_EVERY_MS = 500;

export interface UpOptions {
  readonly node: string | undefined;
  readonly image: string | undefined;
  readonly adopt: boolean;
  /** Do not ask. */
  readonly yes: boolean;
}

/** Rejects with InfraError; UsageError for an unknown node, or when a question would need a terminal. Null: the answer was no. */
export async function up(run: Run, options: UpOptions): Promise<UpResult | null> {
  if (!options.yes && run.services.prompts === null) throw needsTerminal("Consent", "--yes");
  const session = await openSession(run);
  const nodes = chosenNodes(session.project, options.node);
  return alone(session, "up", async () => {
    const warnings = await preflight(session);
    await settleInterrupted(session);
    const project = await withImages(session, { nodes, image: options.image });
    await session.driver.prepare?.(session.report, run.signal);
    await deliverImages(session, project);
    const state = await session.state();
    const adopt = await dataToAdopt(session, state, options.adopt);
    const { engine } = session;
    await engine.prepare(project.plan.postgres ? { key: POSTGRES_PASSWORD, make: generateSecret } : null);
    const program = await run.services.createProgram(project, { adopt });

    session.phase("preview", "Comparing with what is deployed");
    const whole = await engine.preview({ ...session.engineRun(), program });
    const targets =
      options.node === undefined ? undefined : targetsOf(whole, resourcesOf(state), project.plan, options.node);
    const diff = targets === undefined ? whole : only(whole, targets);
    await guard(session, project, diff, state);
    if (!options.yes && !(await confirmed(session, diff))) return null;

    const standing = diff.changes.length === 0 && (await readRecord(run.dir)) !== null ? outputsOf(state) : null;
    if (standing === null) session.phase("up", "Applying");
    const applied =
      standing === null ? await engine.up({ ...session.engineRun(), program, targets }) : { diff, outputs: standing };
    session.phase("settle", "Waiting for the nodes");
    await session.driver.settle?.(session.report, run.signal);
    return finish(session, project, { nodes, warnings, adopted: [...adopt].sort(), applied });
  });
}

function chosenNodes({ plan }: ReadProject, node: string | undefined): string[] {
  const all = plan.nodes.map(({ name }) => name);
  if (node === undefined) return all;
  if (!all.includes(node)) throw new UsageError(`There is no node ${node}.`, `Nodes: ${all.join(", ")}.`);
  return [node];
}

/** The part of a preview that a targeted run would do. */
function only(diff: Diff, targets: readonly string[]): Diff {
  const changes = diff.changes.filter(({ urn }) => targets.includes(urn));
  const left = diff.changes.length - changes.length;
  const count = (op: string): number => changes.filter((change) => change.op === op).length;
  const summary = {
    create: count("create"),
    update: count("update"),
    replace: count("replace"),
    delete: count("delete"),
    import: count("import"),
    same: diff.summary.same + left,
  };
  return { ...diff, changes, summary };
}

async function guard(session: Session, project: ReadProject, diff: Diff, state: ExportedState | null): Promise<void> {
  refuseDataLoss(diff, resourcesOf(state));
  if (diff.changes.length === 0) return;
  const observed = await session.driver.observe(session.run.signal);
  const running = observed.filter((one) => one.state === "running").map(({ name }) => name);
  refuseManyStops(diff, project.plan, new Set(running));
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
  const nodes = deployedNodes(outputs.nodes, plan);
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
  const observed = await untilHealthy(session, outcome.nodes);
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
    next: healthy || !first ? "cairn chat" : "cairn infra status",
  };
}

async function recordImages({ plan }: ReadProject, nodes: readonly string[], { dir, services }: Run): Promise<void> {
  const release = await services.release.read(dir);
  const now = plan.nodes.flatMap(({ name, image }) => (image && nodes.includes(name) ? [[name, image] as const] : []));
  const standing = Object.entries(release.nodes).filter(([name]) => plan.nodes.some((node) => node.name === name));
  await services.release.write(dir, { ...release, nodes: Object.fromEntries([...standing, ...now]) });
}

/** What was observed last; after the deadline, or as soon as every node is healthy. */
async function untilHealthy({ driver, run }: Session, nodes: readonly string[]): Promise<readonly ObservedNode[]> {
  const { services, signal } = run;
  const deadline = services.now().getTime() + HEALTHY_MS;
  for (;;) {
    const observed = await driver.observe(signal);
    const waiting = nodes.filter((name) => observed.find((one) => one.name === name)?.health !== "healthy");
    if (waiting.length === 0 || services.now().getTime() >= deadline) return observed;
    await services.sleep(LOOK_EVERY_MS, signal);
  }
}
