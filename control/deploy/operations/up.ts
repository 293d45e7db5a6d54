/** `infra up`: brings the target to what the configuration says, after the preflight and the guards. */

import { UsageError } from "../../output/failure.ts";
import type { Finding } from "../driver.ts";
import { type ExportedState, outputsOf, resourcesOf } from "../engine/checkpoint.ts";
import type { Drift } from "../inspection.ts";
import { type Diff, stackOutputs, type UpResult } from "../schemas.ts";
import { requireConsent } from "./consent.ts";
import { keptAfter, recordDeployed } from "./deployed.ts";
import { bringBack, shownDrift } from "./drift.ts";
import { withRollback } from "./going-back.ts";
import { nodeOf, refuseManyStops, sharedWaiting, stoppedNodes, stopsDatabase, targetsOf } from "./guards.ts";
import { closeAbandoned } from "./nodes/rename-journal.ts";
import { withOperatorLock } from "./operator-run.ts";
import { whilePaused } from "./pausing.ts";
import { readRecord } from "./record.ts";
import type { NodeRun } from "./roll/node-change.ts";
import type { OperationInput, ReadProject } from "./services.ts";
import { openSession, type Session } from "./session.ts";
import { type Restarts, reconcileAndWait } from "./start-watch.ts";
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
  await requireConsent(run, options.yes);
  const opened = await openSession(run, { measure: true });
  const nodes = chosenNodes(opened.project, options.node);
  return withOperatorLock(opened, "up", async (session) => {
    const { image } = options;
    const prepared = await prepareUp(session, { nodes, image, adopt: options.adopt });
    const { project, program, adopt, state, whole, components, running, warnings, drift, planning, restarts } =
      prepared;
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

    const images = (await run.services.release.read(run.dir)).nodes;
    const changed = changedNodes(diff, drift, project);
    const stopped = stoppedNodes(diff, project.plan);
    const waiting = stopsDatabase(diff, project.plan) ? [...running].filter((name) => !stopped.includes(name)) : [];
    const nodeRun: NodeRun = { session, prepared, images, gated: false, record: (_name, work) => work() };
    return withRollback(
      nodeRun,
      changed.filter((name) => nodes.includes(name)),
      async () => {
        await bringBack(session, prepared, diff);
        const unchanged = diff.changes.length === 0 && (await readRecord(run.dir)) !== null;
        const existing = unchanged ? outputsFor(project, state) : null;
        if (existing === null) session.phase("up", "Applying", diff.changes.length);
        const { replace, refresh } = planning;
        // A run for one node gives it its image, on targets where images wait for that.
        const released = options.node === undefined ? undefined : new Set([options.node]);
        const apply = () => engine.up({ ...session.engineRun(), program, targets, replace, refresh });
        const applied =
          existing === null
            ? await whilePaused(session, project, waiting, async () => {
                const done = await apply();
                // Nodes go on when PostgreSQL answers again.
                if (waiting.length > 0)
                  await reconcileAndWait(session, { nodes: [], restarts, unchanged: false, released });
                return done;
              })
            : { diff, outputs: existing };
        session.phase("settle", "Waiting for the nodes");
        const adopted = [...adopt].sort();
        return finish(session, project, {
          nodes,
          warnings,
          adopted,
          applied,
          drift,
          restarts,
          released,
        });
      },
    );
  });
}

/** Outputs of the last run; null where they are of other nodes: what is taken out of the stack stays in them until the next one. */
function outputsFor({ plan }: ReadProject, state: ExportedState | null): unknown {
  const { data } = stackOutputs.safeParse(outputsOf(state));
  const named = new Set(data?.nodes.map(({ name }) => name));
  const same = named.size === plan.nodes.length && plan.nodes.every(({ name }) => named.has(name));
  return same ? data : null;
}

/** Nodes of which something is changed, or brought back. */
function changedNodes(diff: Diff, drift: readonly Drift[], { plan }: ReadProject): string[] {
  const owners = [...diff.changes.map((change) => nodeOf(change, plan)), ...drift.map(({ node }) => node)];
  return [...new Set(owners.filter((name) => name !== null))];
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
  readonly restarts: Restarts;
  /** Nodes that get their image now, on targets where images wait for that. */
  readonly released: ReadonlySet<string> | undefined;
}

/** `nodes`: those of this run. Waits for them: StartFailure where one does not start. */
export async function finish(session: Session, project: ReadProject, outcome: Outcome): Promise<UpResult> {
  const deployed = await recordDeployed(session, project, outcome.nodes, outcome.applied.outputs);
  const unchanged = outcome.applied.diff.changes.length + outcome.drift.length === 0;
  const { restarts, released } = outcome;
  const watched = { nodes: outcome.nodes, restarts, unchanged, released };
  const observed =
    outcome.nodes.length > 0
      ? await keptAfter(session, project, outcome.nodes, reconcileAndWait(session, watched))
      : await session.driver.observe(session.run.signal);
  const healthy = outcome.nodes.every((name) => observed.find((one) => one.name === name)?.health === "healthy");
  await closeAbandoned(session.files, outcome.nodes);
  // With the certificates that were learned meanwhile.
  const { nodes, data } = (await readRecord(session.run.dir)) ?? deployed;
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
