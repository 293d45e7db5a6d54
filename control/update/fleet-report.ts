/** What a rollout of a stack would do, and what the former ones did. Changes nothing. */

import type { ImageIdentity } from "../../infra/plan/types.ts";
import { CairnError } from "../../runtime/contracts/errors.ts";
import { fleetDatabase } from "../deploy/operations/roll/fleet-doors.ts";
import { fleetNode } from "../deploy/operations/roll/fleet-node.ts";
import { fleetOrder, openFleet, refusePause } from "../deploy/operations/roll/in-fleet.ts";
import { membersOf, nodeOfMember } from "../deploy/operations/roll/members.ts";
import { imageName } from "../deploy/operations/roll/node-change.ts";
import type { OperationInput } from "../deploy/operations/services.ts";
import { openSession, type Session } from "../deploy/operations/session.ts";
import type { NodeObservation, RolloutEntry } from "../rollout/contracts.ts";
import type { OnFailure } from "../rollout/fleet-steps.ts";
import type { FleetOptions } from "../rollout/open-fleet.ts";
import { type PlannedRelease, plannedRelease } from "./planned-release.ts";
import type { UpdateHistory, UpdatePlan } from "./result.ts";
import { shownVersion } from "./update-deployed.ts";

/** The last hundred are kept. */
export const MOST = 100;

export interface PlanRequest extends Pick<PlannedRelease, "root" | "version"> {
  /** An image; undefined: it would be made. */
  readonly prebuilt: string | undefined;
  readonly mesh: FleetOptions & { readonly onFailure: OnFailure };
}

/** Errors of reading the project. */
export async function planUpdate(run: OperationInput, request: PlanRequest): Promise<UpdatePlan> {
  const { prebuilt, mesh, root, version } = request;
  const session = await openSession(run);
  const { project } = session;
  const release = await run.services.release.read(run.dir);
  const problems: string[] = [];
  const trying = collecting(problems, run.signal);
  const interrupted = (await trying(() => openFleet(session, mesh)))?.interrupted ?? null;
  const { onFailure = mesh.onFailure } = interrupted ?? {};
  refusePause(session, onFailure);
  const asked = interrupted?.to ?? prebuilt;
  // What would be built has no image yet.
  const to = asked === undefined ? null : await trying(() => run.services.images.resolve(asked, project, run.signal));
  const planned =
    asked === undefined ? await trying(() => plannedRelease({ root, version, signal: run.signal })) : null;
  for (const { severity, message } of await session.driver.preflight(run.signal)) {
    if (severity === "error") problems.push(message);
  }
  const members = membersOf(
    session.driver,
    project.plan.nodes.map(({ name }) => name),
  );
  const seen = await Promise.all(
    members.map(({ name }) => observed(session, name, to ?? release.built, release.nodes)),
  );
  // As a rollout orders them: what does not serve first, then those of the fewest agents.
  const byAgents = project.plan.nodes.toSorted((a, b) => a.agents.length - b.agents.length).map(({ name }) => name);
  const isReady = (node: string): boolean => {
    const own = membersOf(session.driver, [node]).map(({ name }) => name);
    return seen.filter(({ name }) => own.includes(name)).every(({ ready }) => ready);
  };
  const byState = [...byAgents.filter((name) => !isReady(name)), ...byAgents.filter(isReady)];
  const order = membersOf(session.driver, fleetOrder(project.plan, byState, mesh.canary));
  const nodes = order.flatMap(({ name }) => {
    const node = seen.find((one) => one.name === name);
    return node === undefined ? [] : [node];
  });
  for (const { name, ready } of nodes) if (!ready) problems.push(`${name} does not serve.`);
  const steps = nodes.map((node) => ({
    ...node,
    steps: to !== null && node.image === imageName(to) && node.ready ? [] : STEPS,
  }));
  const { target } = project.plan;
  return {
    schema: 1,
    outcome: "planned",
    target,
    to: to === null ? planned : shownVersion(to),
    nodes: steps,
    problems,
  };
}

/** Notes errors that a person can do something about, and gives null in place of what failed. */
export function collecting(problems: string[], signal: AbortSignal) {
  return async <T>(work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof CairnError)) throw error;
      problems.push(problemOf(error));
      return null;
    }
  };
}

/** With what helps behind it. `node`: the one that it is about, where the message does not name it. */
export function problemOf({ message, details: { hint } }: CairnError, node?: string): string {
  const said = `${node === undefined ? "" : `${node}: `}${message}${/[.]$/.test(message) ? "" : "."}`;
  return hint === undefined ? said : `${said} ${hint}`;
}

export const STEPS = [
  "drain: it takes no messages, its turns end, its agents go to other nodes",
  "stop it, and start it with the new version",
  "gate: version, schema, database, channels, a turn",
  "watch it for 30 s",
];

async function observed(
  session: Session,
  name: string,
  to: ImageIdentity | null,
  images: Readonly<Record<string, ImageIdentity>>,
): Promise<Omit<UpdatePlan["nodes"][number], "steps">> {
  const given = to ?? images[nodeOfMember(session.driver, session.project.plan, name)] ?? null;
  const nothing: NodeObservation = { image: null, version: null, ready: false, instance: "" };
  const node =
    given === null ? null : fleetNode({ session, project: session.project, images, gated: true }, given, name);
  const { image, version, ready } =
    node === null ? nothing : await node.observe(session.run.signal).catch(() => nothing);
  session.run.signal.throwIfAborted();
  return { name, image, version, ready };
}

export async function readHistory(run: OperationInput): Promise<UpdateHistory> {
  return historyOf(await fleetDatabase(await openSession(run)).history(MOST, run.signal));
}

export function historyOf(entries: readonly RolloutEntry[]): UpdateHistory {
  const rollouts = entries.map(({ id, holder: by, startedAt, to, steps, end }) => ({
    id,
    by,
    started_at: startedAt,
    to,
    outcome: end?.outcome ?? ("interrupted" as const),
    done: [...(end?.done ?? [])],
    failed: end?.failed ?? null,
    reason: end?.reason ?? null,
    steps: steps.map((step) => ({ ...step })),
  }));
  return { schema: 1, rollouts };
}
