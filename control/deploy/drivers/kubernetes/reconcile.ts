/**
 * Brings what runs to what was applied: the database first, then one group after the other, one pod at a time. Ends when all
 * that is deployed is ready, or when a pod shows that it will not be. Also finds what an interrupted run has made.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
  COMPONENT_LABEL,
  INSTANCE_LABEL,
  NODE_LABEL,
  POSTGRES_NODE,
  workloadName,
} from "../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../infra/plan/types.ts";
import type { Report } from "../../inspection.ts";
import { KINDS } from "./cluster/inventory.ts";
import type { Kubectl } from "./cluster/kubectl.ts";
import { findObject, listObjects, namedSchema, podSchema, statefulSetSchema } from "./cluster/objects.ts";
import { setPartition } from "./cluster/partition.ts";
import { type GroupSnapshot, nextStep, type Step, waitingForImage } from "./cluster/rollout.ts";
import { notReady, refusal, Trouble } from "./cluster/trouble.ts";

export interface Pace {
  /** Between two looks, in milliseconds. */
  readonly pollMs: number;
  /** How long a pod may be in trouble before that counts, in milliseconds: a registry may have a bad minute. */
  readonly patienceMs: number;
  /** For one pod to stop, to start and to become ready, in milliseconds, beyond its own stop timeout. */
  readonly startMs: number;
}

export const PACE: Pace = { pollMs: 1_000, patienceMs: 45_000, startMs: 330_000 };

const RESTORE_MS = 20_000;

interface Group {
  readonly node: string;
  readonly name: string;
  readonly replicas: number;
  /** What it has between two runs: the number of replicas where images wait, else 0. */
  readonly partition: number;
  /** Whether its pods take another image now. */
  readonly released: boolean;
  readonly stopTimeoutS: number;
}

export interface Reconciliation {
  readonly report: Report;
  readonly signal: AbortSignal;
  /** Nodes whose pods take another image now; those of the others keep theirs. */
  readonly released?: ReadonlySet<string> | undefined;
  /** Nodes that are brought to what was applied, after the database; all when absent. */
  readonly nodes?: readonly string[] | undefined;
  readonly pace?: Pace;
}

export async function reconcile(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  { report, signal, released = new Set(), nodes, pace = PACE }: Reconciliation,
): Promise<void> {
  for (const group of groupsOf(plan, released, nodes)) await reconcileGroup(kubectl, plan, group, report, signal, pace);
}

/** Nodes with a pod that works with another image than was applied. */
export async function outdated(kubectl: Kubectl, plan: KubernetesPlan, signal: AbortSignal): Promise<string[]> {
  const groups = groupsOf(plan, new Set()).filter(({ node }) => node !== POSTGRES_NODE);
  const held = await Promise.all(groups.map((group) => heldPods(kubectl, plan, group, signal)));
  return groups.filter((_group, index) => (held[index] ?? 0) > 0).map(({ node }) => node);
}

async function heldPods(kubectl: Kubectl, plan: KubernetesPlan, group: Group, signal: AbortSignal): Promise<number> {
  const snapshot = await readGroup(kubectl, plan, group, signal);
  return snapshot === null ? 0 : waitingForImage(snapshot).length;
}

/** The database first. */
function groupsOf(plan: KubernetesPlan, released: ReadonlySet<string>, only?: readonly string[]): Group[] {
  const database: Group[] =
    plan.postgres === null
      ? []
      : [
          {
            node: POSTGRES_NODE,
            name: workloadName(plan.stack, POSTGRES_NODE),
            replicas: 1,
            partition: 0,
            released: true,
            stopTimeoutS: 120,
          },
        ];
  const chosen = plan.nodes.filter(({ name }) => only === undefined || only.includes(name));
  const nodes = chosen.map((node) => ({
    node: node.name,
    name: workloadName(plan.stack, node.name),
    replicas: node.replicas,
    partition: node.replicas,
    released: released.has(node.name),
    stopTimeoutS: node.stopTimeoutS,
  }));
  return [...database, ...nodes];
}

async function reconcileGroup(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  group: Group,
  report: Report,
  signal: AbortSignal,
  pace: Pace,
): Promise<void> {
  const deadline = performance.now() + group.replicas * (pace.startMs + group.stopTimeoutS * 1_000);
  const trouble = new Trouble(pace.patienceMs);
  let reported = "";
  let partition = group.partition;
  try {
    for (;;) {
      const step = await readStep(kubectl, plan, group, signal);
      if (step.do === "done") {
        if (step.held.length > 0) {
          report(
            `${group.name}: ${step.held.join(", ")} keeps its image. \`cairn infra up --roll\` gives it the new one, one pod after the other.`,
          );
        }
        return;
      }
      if (step.do === "partition") {
        partition = step.value;
        await setPartition(kubectl, group.name, step.value, { signal });
        if (step.value !== group.partition) report(`${group.name}: taking what was applied, one pod at a time.`);
        continue;
      }
      if (step.do === "replace") {
        report(`${group.name}: replacing ${step.pod}: ${step.why}.`);
        await kubectl.run(["delete", "pod", step.pod, "--wait=false", "--ignore-not-found"], { signal });
      } else {
        const words = step.trouble ?? (step.pod === null ? await refusal(kubectl, group.name, signal) : null);
        if (step.crashes === true || trouble.lasts(step.pod ?? group.name, words))
          throw notReady(plan, step.pod ?? group.name, words ?? "");
        const line = `${group.name}: waiting for ${step.pod ?? "its pods"}${words === null ? "" : `: ${words}`}`;
        if (line !== reported) report(line);
        reported = line;
      }
      if (performance.now() > deadline) throw notReady(plan, step.pod ?? group.name, "it takes too long");
      await sleep(pace.pollMs, undefined, { signal });
    }
  } finally {
    // Whatever ended this, images must not roll by themselves afterwards. A kill is repaired by the next look.
    if (partition !== group.partition) {
      const own = AbortSignal.timeout(RESTORE_MS);
      await setPartition(kubectl, group.name, group.partition, { signal: own }).catch(() => {
        report(`${group.name}: its partition could not be set back; run \`cairn infra up\` again.`);
      });
    }
  }
}

export async function findInterrupted(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  type: string,
  name: string,
  signal: AbortSignal,
): Promise<string | null> {
  const kind = KINDS[type];
  if (kind === undefined) return null;
  const found = await findObject(kubectl, kind, name, namedSchema, { signal });
  // An object of another stack is not what was interrupted.
  if (found?.metadata.labels?.[INSTANCE_LABEL] !== plan.stack) return null;
  return `${plan.namespace}/${name}`;
}

async function readStep(kubectl: Kubectl, plan: KubernetesPlan, group: Group, signal: AbortSignal): Promise<Step> {
  const snapshot = await readGroup(kubectl, plan, group, signal);
  // `up --node` does not deploy the others; `observe` reports what is missing.
  return snapshot === null ? { do: "done", held: [] } : nextStep(snapshot);
}

/** Null where there is no such workload. */
async function readGroup(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  group: Group,
  signal: AbortSignal,
): Promise<GroupSnapshot | null> {
  const workload = await findObject(kubectl, "statefulset", group.name, statefulSetSchema, { signal });
  if (workload === null) return null;
  const component = group.node === POSTGRES_NODE ? "postgres" : "node";
  const selector = `${INSTANCE_LABEL}=${plan.stack},${COMPONENT_LABEL}=${component},${NODE_LABEL}=${group.node}`;
  const pods = await listObjects(kubectl, ["pods", `--selector=${selector}`], podSchema, { signal });
  return { workload, pods, partition: group.partition, released: group.released };
}
