/** What `up` refuses to do, decided from the preview alone. */

import type { DeploymentPlan } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { RecordedResource } from "../engine/checkpoint.ts";
import { dataProtected } from "../engine/failure.ts";
import { parseUrn } from "../engine/urn.ts";
import type { Change, Diff } from "../schemas.ts";

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
  "docker:index/container:Container": { suffixes: [""], ops: ["replace", "delete"] },
  "kubernetes:apps/v1:StatefulSet": { suffixes: [""], ops: ["replace", "delete"] },
  "command:remote:Command": { suffixes: ["-ct", "-docker", "-container"], ops: ["replace", "delete", "update"] },
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
  const stopped = plan.nodes.filter(({ name }) =>
    diff.changes.some((change) => {
      const process = PROCESSES[change.type];
      if (!process?.ops.includes(change.op)) return false;
      const own = process.suffixes.map((suffix) => `${plan.stack}-${name}${suffix}`);
      return own.includes(change.name) || own.includes(parseUrn(change.urn).name);
    }),
  );
  return stopped.map(({ name }) => name);
}

/** INFRA_UP_REFUSED when more than one of the running nodes would be stopped at once. */
export function refuseManyStops(diff: Diff, plan: DeploymentPlan, running: ReadonlySet<string>): void {
  const stopped = stoppedNodes(diff, plan).filter((name) => running.has(name));
  if (stopped.length < 2) return;
  throw new InfraError(
    "INFRA_UP_REFUSED",
    `This would stop ${stopped.length} running nodes at once: ${stopped.join(", ")}.`,
    {
      hint: `Roll it out with \`cairn update --mesh\`, or take one node at a time: \`cairn infra up --node ${stopped[0]}\`.`,
    },
  );
}

/** INFRA_DATA_PROTECTED when a resource that holds data would be removed or replaced. */
export function refuseDataLoss(diff: Diff, recorded: readonly RecordedResource[]): void {
  const data = new Map(recorded.filter((one) => one.protected).map((one) => [one.urn, one]));
  const lost = diff.changes.filter(({ op, urn }) => (op === "delete" || op === "replace") && data.has(urn));
  if (lost.length > 0) throw dataProtected(lost.map(({ name }) => name));
}

/** What `up --node NAME` may touch: everything of the node, and shared things that do not exist yet. */
export function targetsOf(
  diff: Diff,
  recorded: readonly RecordedResource[],
  plan: DeploymentPlan,
  node: string,
): string[] {
  const changed = diff.changes.filter((change) => {
    const owner = nodeOf(change, plan);
    return owner === node || (owner === null && (change.op === "create" || change.op === "import"));
  });
  const standing = recorded.filter((one) => nodeOf(one, plan) === node);
  return [...new Set([...changed, ...standing].map(({ urn }) => urn))].sort();
}
