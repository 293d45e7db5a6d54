/** What `up` refuses to do, decided from the preview alone. */

import type { DeploymentPlan } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { RecordedResource } from "../engine/checkpoint.ts";
import { parseUrn } from "../engine/urn.ts";
import type { Change, Diff } from "../schemas.ts";

/** Resources that are a node's process: replacing one stops the node. A StatefulSet is updated without touching its pods. */
const PROCESSES: Readonly<Record<string, readonly Change["op"][]>> = {
  "docker:index/container:Container": ["replace", "delete"],
  "command:remote:Command": ["replace", "delete", "update"],
  "kubernetes:apps/v1:StatefulSet": ["replace", "delete"],
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
  const stopped = diff.changes.filter((change) => PROCESSES[change.type]?.includes(change.op));
  const nodes = stopped
    .filter(({ name, urn }) =>
      plan.nodes.some((node) => [name, parseUrn(urn).name].includes(`${plan.stack}-${node.name}`)),
    )
    .map((change) => nodeOf(change, plan));
  return [...new Set(nodes.filter((name) => name !== null))];
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
  const [first] = lost;
  if (!first) return;
  throw new InfraError("INFRA_DATA_PROTECTED", `This would remove data: ${lost.map(({ name }) => name).join(", ")}.`, {
    hint: "Undo the change of the configuration that leads to it. Data are removed with `cairn infra destroy --delete-data` alone.",
  });
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
