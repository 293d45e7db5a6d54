/** What `up` refuses to do, decided from the preview alone. */

import { DATABASE_NAME } from "../../../infra/plan/names.ts";
import type { DeploymentPlan } from "../../../infra/plan/types.ts";
import { DATABASE_ACCESS_TYPE } from "../../../infra/program.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { RecordedResource } from "../engine/checkpoint.ts";
import { dataProtected } from "../engine/failure.ts";
import { parseUrn } from "../engine/urn.ts";
import type { Change, Diff } from "../schemas.ts";

/** Where a change can neither be made for all nodes at once nor for one after the other. */
export const ALL_STOPPED = "`cairn infra destroy` and then `cairn infra up` apply it to all; the data stay.";

/** Docker removes none that a container is on. */
const NETWORK = "docker:index/network:Network";
const CONTAINER = "docker:index/container:Container";

interface Process {
  /** What comes after `<stack>-<node>` in its name. */
  readonly suffixes: readonly string[];
  readonly ops: readonly Change["op"][];
}

/**
 * Resources that are a node's process, and what stops it. A StatefulSet is updated without touching its pods; on Proxmox each
 * change is a command that may restart what it is about.
 */
const PROCESSES: Readonly<Record<string, Process>> = {
  [CONTAINER]: { suffixes: [""], ops: ["replace", "delete"] },
  "kubernetes:apps/v1:StatefulSet": { suffixes: [""], ops: ["replace", "delete"] },
  "command:remote:Command": { suffixes: ["-ct", "-docker", "-container"], ops: ["replace", "delete", "update"] },
};

/** Resources whose change starts a server, and what comes after `<stack>-postgres` in its name. */
const STARTS: Readonly<Record<string, { readonly suffix: string; readonly ops: readonly Change["op"][] }>> = {
  [CONTAINER]: { suffix: "", ops: ["create", "replace"] },
  "kubernetes:apps/v1:StatefulSet": { suffix: "", ops: ["create", "replace", "update"] },
  "command:remote:Command": { suffix: "-container", ops: ["create", "replace", "update"] },
};

/** Name of the node that a resource belongs to, by the names of the stack (infra/plan/names.ts); null for what is shared. */
export function nodeOf(resource: Pick<Change, "name" | "urn">, plan: DeploymentPlan): string | null {
  const names = [resource.name, parseUrn(resource.urn).name];
  const own = plan.nodes.filter(({ name }) => names.some((text) => isOf(text, `${plan.stack}-${name}`)));
  // `a` and `a-b` may both be nodes: the longer name is meant.
  return own.map(({ name }) => name).sort((a, b) => b.length - a.length)[0] ?? null;
}

function isOf(text: string, prefix: string): boolean {
  // What belongs to a workload is called after it: `lab-one-home`, `lab-one.files`.
  return text === prefix || text.startsWith(`${prefix}-`) || text.startsWith(`${prefix}.`);
}

/** Nodes that the changes would stop. */
export function stoppedNodes(diff: Diff, plan: DeploymentPlan): string[] {
  return plan.nodes.map(({ name }) => name).filter((name) => stops(diff, plan.stack, name));
}

/** Whether the changes would stop the stack's PostgreSQL. */
export function stopsDatabase(diff: Diff, plan: DeploymentPlan): boolean {
  if (plan.postgres === null) return false;
  const updated = diff.changes.some(
    ({ type, op, name }) =>
      type.endsWith(":StatefulSet") && op === "update" && name === `${plan.stack}-${DATABASE_NAME}`,
  );
  return updated || stops(diff, plan.stack, DATABASE_NAME);
}

/** Whether the changes would start the stack's PostgreSQL, perhaps with another image. */
export function startsDatabase({ changes }: Diff, { stack }: Pick<DeploymentPlan, "stack">): boolean {
  return changes.some(({ type, op, urn, name }) => {
    const start = STARTS[type];
    if (!start?.ops.includes(op)) return false;
    return [name, parseUrn(urn).name].includes(`${stack}-${DATABASE_NAME}${start.suffix}`);
  });
}

function stops(diff: Diff, stack: string, workload: string): boolean {
  return diff.changes.some((change) => {
    const process = PROCESSES[change.type];
    if (!process?.ops.includes(change.op)) return false;
    const own = process.suffixes.map((suffix) => `${stack}-${workload}${suffix}`);
    return own.includes(change.name) || own.includes(parseUrn(change.urn).name);
  });
}

/** INFRA_UP_REFUSED when more than one of the running nodes would be stopped at once. */
export function refuseManyStops(diff: Diff, plan: DeploymentPlan, running: ReadonlySet<string>): void {
  const stopped = stoppedRunning(diff, plan, running);
  if (stopped.length < 2) return;
  throw new InfraError(
    "INFRA_UP_REFUSED",
    `This would stop ${stopped.length} running nodes at once: ${stopped.join(", ")}.`,
    { hint: neededAtOnce(diff.changes) ?? "Take one node after the other, each tested: `cairn infra up --roll`." },
  );
}

function stoppedRunning(diff: Diff, plan: DeploymentPlan, running: ReadonlySet<string>): string[] {
  return stoppedNodes(diff, plan).filter((name) => running.has(name));
}

/** INFRA_UP_REFUSED where these nodes cannot take the changes one after the other. */
export function refuseAtOnce(diff: Diff, plan: DeploymentPlan, running: ReadonlySet<string>): void {
  const stopped = stoppedNodes(diff, plan);
  const all = stopped.length === 0 ? null : neededAtOnce(diff.changes);
  if (all === null) return;
  const hint =
    stopped.filter((name) => running.has(name)).length < 2
      ? "`cairn infra up` applies them together, and stops no second running node."
      : all;
  throw new InfraError("INFRA_UP_REFUSED", `One after the other they would not work: ${stopped.join(", ")}.`, { hint });
}

/** Why the nodes cannot take the changes one after the other, and what applies them then; null: they can. */
export function neededAtOnce(changes: readonly Change[]): string | null {
  if (accessChange(changes) !== undefined) return `The database changes with its nodes. ${ALL_STOPPED}`;
  const network = changes.find(({ type, op }) => type === NETWORK && op === "replace");
  return network === undefined ? null : `All nodes are on the network ${network.name}. ${ALL_STOPPED}`;
}

/** A change of what nodes reach the database with: its password, its authority or its address. */
function accessChange(changes: readonly Change[]): Change | undefined {
  return changes.find(({ type }) => type === DATABASE_ACCESS_TYPE);
}

export interface OneNodeRun {
  readonly node: string;
  readonly plan: DeploymentPlan;
  /** What a run for all nodes would change. */
  readonly whole: Diff;
  /** What the run for the node changes, and what it was allowed to. */
  readonly diff: Diff;
  readonly targets: readonly string[];
  readonly running: ReadonlySet<string>;
}

/**
 * A run for one node leaves what all share as it is. INFRA_UP_REFUSED where the node could not work without it: it would find
 * nothing to change in what follows from that, or would not reach the database any more. Else the names of what remains.
 */
export function sharedWaiting({ node, plan, whole, diff, targets, running }: OneNodeRun): string[] {
  const done = new Set(diff.changes.map(({ urn }) => urn));
  const undone = whole.changes.filter(({ urn }) => targets.includes(urn) && !done.has(urn));
  const shared = whole.changes.filter((change) => nodeOf(change, plan) === null && !targets.includes(change.urn));
  const access = accessChange(shared);
  if (undone.length === 0 && access === undefined) return shared.map(({ name }) => name);
  const needed = shared.length > 0 ? shared : undone;
  const together = stoppedRunning(whole, plan, running).length < 2;
  throw new InfraError(
    "INFRA_UP_REFUSED",
    `Node ${node} waits for changes of what it shares: ${needed.map(({ name }) => name).join(", ")}.`,
    {
      hint: together
        ? "`cairn infra up` without --node applies them with the node, and stops no second one."
        : `One node cannot have them alone. ${ALL_STOPPED}`,
    },
  );
}

/** INFRA_DATA_PROTECTED when a resource that holds data would be removed or replaced. */
export function refuseDataLoss(diff: Diff, recorded: readonly RecordedResource[]): void {
  const data = new Map(recorded.filter((one) => one.protected).map((one) => [one.urn, one]));
  const lost = diff.changes.filter(({ op, urn }) => (op === "delete" || op === "replace") && data.has(urn));
  if (lost.length > 0) throw dataProtected(lost.map(({ name }) => name));
}

/**
 * What `up --node NAME` may touch: everything of the node, and shared things that do not exist yet. `components`: URNs of those
 * that are new.
 */
export function targetsOf(
  diff: Diff,
  recorded: readonly RecordedResource[],
  plan: DeploymentPlan,
  node: string,
  components: readonly string[] = [],
): string[] {
  const parents = components.filter((urn) => [node, null].includes(nodeOf({ name: parseUrn(urn).name, urn }, plan)));
  const changed = diff.changes.filter((change) => {
    const owner = nodeOf(change, plan);
    return owner === node || (owner === null && (change.op === "create" || change.op === "import"));
  });
  const existing = recorded.filter((one) => nodeOf(one, plan) === node);
  return [...new Set([...changed, ...existing].map(({ urn }) => urn).concat(parents))].sort();
}
