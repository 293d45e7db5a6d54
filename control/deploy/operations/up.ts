/** `infra up`: brings the target to what the configuration says, after the preflight and the guards. */

import { needsTerminal, UsageError } from "../../output/failure.ts";
import type { Finding } from "../driver.ts";
import { outputsOf, resourcesOf } from "../engine/checkpoint.ts";
import type { Drift } from "../inspection.ts";
import type { Diff, UpResult } from "../schemas.ts";
import { keepHealthy, recordDeployed, untilHealthy } from "./deployed.ts";
import { bringBack, shownDrift } from "./drift.ts";
import { refuseManyStops, sharedWaiting, stoppedNodes, stopsDatabase, targetsOf } from "./guards.ts";
import { whilePaused } from "./pausing.ts";
import { readRecord } from "./record.ts";
import type { OperationInput, ReadProject } from "./services.ts";
import { openSession, type Session, withOperatorLock } from "./session.ts";
import { confirmed, prepareUp } from "./up-preparation.ts";

/** What comes next where a node is not healthy. */
const STATUS = "cairn infra status";

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
    const { image } = options;
    const prepared = await prepareUp(session, { nodes, image, adopt: options.adopt });
    const { project, program, adopt, state, whole, components, running, warnings, drift, planning } = prepared;
    const { engine } = session;
    const recorded = resourcesOf(planning.assuming ?? state);
    const targets =
      options.node === undefined ? undefined : targetsOf(whole, recorded, project.plan, options.node, components);
    const diff =
      targets === undefined ? whole : await engine.preview({ ...session.engineRun(), program, targets, ...planning });
    refuseManyStops(diff, project.plan, running);
    if (options.node !== undefined && targets !== undefined) {
      const shared = sharedWaiting({ node: options.node, plan: project.plan, whole, diff, targets, running });
      if (shared.length > 0) warnings.push(notDone(session, shared));
    }
    if (!options.yes && !(await confirmed(session, project, diff, drift))) return null;

    await bringBack(session, prepared, diff);
    const existingOutputs = diff.changes.length === 0 && (await readRecord(run.dir)) !== null ? outputsOf(state) : null;
    if (existingOutputs === null) session.phase("up", "Applying");
    const { replace, refresh } = planning;
    const stopped = stoppedNodes(diff, project.plan);
    const waiting = stopsDatabase(diff, project.plan) ? [...running].filter((name) => !stopped.includes(name)) : [];
    const applied =
      existingOutputs === null
        ? await whilePaused(session, project, waiting, () =>
            engine.up({ ...session.engineRun(), program, targets, replace, refresh }),
          )
        : { diff, outputs: existingOutputs };
    session.phase("settle", "Waiting for the nodes");
    // A run for one node gives it its image, on targets where images wait for that.
    const released = options.node === undefined ? undefined : new Set([options.node]);
    await session.driver.reconcile?.(session.report, run.signal, released);
    return finish(session, project, { nodes, warnings, adopted: [...adopt].sort(), applied, drift });
  });
}

function chosenNodes({ plan }: ReadProject, node: string | undefined): string[] {
  const all = plan.nodes.map(({ name }) => name);
  if (node === undefined) return all;
  if (!all.includes(node)) throw new UsageError(`There is no node ${node}.`, `Nodes: ${all.join(", ")}.`);
  return [node];
}

function notDone(session: Session, names: readonly string[]): Finding {
  const message = `Not done by --node: ${names.join(", ")}. The next \`cairn infra up\` does it.`;
  session.warn(message);
  return { severity: "warning", code: "INFRA_UP_REFUSED", message };
}

interface Outcome {
  readonly nodes: readonly string[];
  readonly warnings: UpResult["warnings"];
  readonly adopted: string[];
  readonly applied: { readonly diff: Diff; readonly outputs: unknown };
  readonly drift: readonly Drift[];
}

/** `nodes`: those of this run. Waits for them. */
export async function finish(session: Session, project: ReadProject, outcome: Outcome): Promise<UpResult> {
  const { nodes, data } = await recordDeployed(session, project, outcome.nodes, outcome.applied.outputs);
  const unchanged = outcome.applied.diff.changes.length + outcome.drift.length === 0;
  const observed = await untilHealthy(session, outcome.nodes, unchanged);
  await keepHealthy(session, project, outcome.nodes, observed);
  const healthy = outcome.nodes.every((name) => observed.find((one) => one.name === name)?.health === "healthy");
  const [first] = nodes;
  return {
    ...outcome.applied.diff,
    drift: shownDrift(outcome.drift),
    warnings: [...outcome.warnings],
    nodes: nodes.map((node) => {
      const seen = observed.find((one) => one.name === node.name);
      const { state = "unknown", health = "unknown", reason = null } = seen ?? {};
      return { ...node, state, health, reason };
    }),
    data,
    healthy,
    adopted: outcome.adopted,
    next: healthy || !first ? "cairn chat" : STATUS,
  };
}
