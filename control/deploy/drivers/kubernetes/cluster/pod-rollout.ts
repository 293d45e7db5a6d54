/** One pod of a group at a time: how it is, and that it alone takes what was applied. */

import { setTimeout as sleep } from "node:timers/promises";
import {
  COMPONENT_LABEL,
  IMAGE_ANNOTATION,
  INSTANCE_LABEL,
  NODE_CONTAINER,
  NODE_LABEL,
} from "../../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { PodChange, PodRollout } from "../../../driver.ts";
import type { ObservedNode } from "../../../inspection.ts";
import type { Pace } from "../reconcile.ts";
import { fenced } from "./fence.ts";
import { fenceAnnotation, tokenText } from "./fence-token.ts";
import type { Kubectl } from "./kubectl.ts";
import { findObject, listObjects, type Pod, podSchema, type StatefulSet, statefulSetSchema } from "./objects.ts";
import { isConflict, setPartition } from "./partition.ts";
import { podHealth } from "./pod-health.ts";
import { nextPodStep, partitionOf, podsBefore } from "./pod-step.ts";
import { type GroupPod, podsOf, requirePod } from "./pods.ts";
import { notReady, refusal, Trouble } from "./trouble.ts";

/** Milliseconds that putting the partition back may take, and how often that is tried. */
const RESTORE_MS = 20_000;
const ATTEMPTS = 5;

export function podRollout(kubectl: Kubectl, plan: KubernetesPlan, pace: Pace): PodRollout {
  return {
    order: (node) => {
      const pods = podsOf(plan, node);
      return pods.length === 0 ? [node] : pods.toReversed();
    },
    observe: (name, signal) => observePod(kubectl, plan, name, signal),
    before: (name, signal) => before(kubectl, plan, name, pace, signal),
    change: (name, change, signal) => changePod(kubectl, plan, { name, change, pace }, signal),
  };
}

interface Group {
  readonly workload: StatefulSet;
  readonly pods: readonly Pod[];
}

/** Null where there is no such workload. */
async function readGroup(
  kubectl: Kubectl,
  { stack }: KubernetesPlan,
  { node, workload: name }: GroupPod,
  signal: AbortSignal,
): Promise<Group | null> {
  const workload = await findObject(kubectl, "statefulset", name, statefulSetSchema, { signal });
  if (workload === null) return null;
  const selector = `${INSTANCE_LABEL}=${stack},${COMPONENT_LABEL}=node,${NODE_LABEL}=${node.name}`;
  const pods = await listObjects(kubectl, ["pods", `--selector=${selector}`], podSchema, { signal });
  return { workload, pods };
}

async function observePod(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  name: string,
  signal: AbortSignal,
): Promise<ObservedNode> {
  const of = requirePod(plan, name);
  const common = { name, workload: of.workload, place: plan.namespace, version: null };
  const group = await readGroup(kubectl, plan, of, signal);
  const nothing = { health: "unknown", since: null, restarts: null } as const;
  if (group === null) return { ...common, ...nothing, state: "missing", image: null };
  const { template } = group.workload.spec;
  const pod = group.pods.find(({ metadata }) => metadata.name === of.pod);
  // Between two pods of one name: what comes is made from the template.
  if (pod === undefined)
    return { ...common, ...nothing, state: "stopped", image: imageOf(template, template.metadata?.annotations) };
  const { ready, running, trouble } = podHealth(pod);
  const status = pod.status?.containerStatuses?.find((one) => one.name === NODE_CONTAINER);
  return {
    ...common,
    state: running ? "running" : "stopped",
    health: ready ? "healthy" : trouble === null ? "starting" : "unhealthy",
    image: imageOf(pod, pod.metadata.annotations),
    since: `${pod.metadata.uid ?? ""} ${status?.state?.running?.startedAt ?? ""}`,
    restarts: status?.restartCount ?? null,
    ...(trouble === null ? {} : { reason: trouble }),
  };
}

/** The mark of the image that it was made for, else the image's name. */
function imageOf(
  { spec }: Pick<Pod, "spec">,
  annotations: Readonly<Record<string, string>> | undefined,
): string | null {
  const container = spec.containers.find((one) => one.name === NODE_CONTAINER);
  return annotations?.[IMAGE_ANNOTATION] ?? container?.image ?? null;
}

async function before(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  name: string,
  pace: Pace,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const of = requirePod(plan, name);
  const deadline = performance.now() + pace.startMs;
  for (;;) {
    const group = await readGroup(kubectl, plan, of, signal);
    const found = group === null ? [] : podsBefore(group, of.ordinal);
    if (found !== null) return found;
    if (performance.now() > deadline) throw notReady(plan, name, "the cluster does not take what was applied");
    await sleep(pace.pollMs, undefined, { signal });
  }
}

interface Ordered {
  readonly name: string;
  readonly change: PodChange;
  readonly pace: Pace;
}

async function changePod(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  { name, change, pace }: Ordered,
  signal: AbortSignal,
): Promise<void> {
  const { image, token, report } = change;
  const of = requirePod(plan, name);
  const { ordinal, replicas } = of;
  const text = tokenText(token);
  const deadline = performance.now() + pace.startMs + of.node.stopTimeoutS * 1_000;
  const trouble = new Trouble(pace.patienceMs);
  let reported = "";
  try {
    for (;;) {
      const group = await readGroup(kubectl, plan, of, signal);
      if (group === null) throw notReady(plan, name, "its workload is gone");
      const step = nextPodStep({ ...group, ordinal, image, token: text, partition: replicas });
      if (step.do === "done") return;
      if (step.do === "refuse") throw step.why === "token" ? fenced(name) : otherImage(name);
      if (step.do === "partition") {
        if (step.value !== replicas) report(`${of.workload}: ${of.pod} takes what was applied.`);
        // Refused where the workload has changed since it was read: then it is read again, and its token with it.
        await setPartition(kubectl, of.workload, step.value, {
          signal,
          version: group.workload.metadata.resourceVersion,
        }).catch(unlessConflict);
        continue;
      }
      if (step.do === "replace") {
        report(`${of.workload}: replacing ${step.pod}: ${step.why}.`);
        await deletePod(kubectl, plan, group, step.pod, signal);
      } else {
        const words = step.trouble ?? (step.pod === null ? await refusal(kubectl, of.workload, signal) : null);
        if (step.crashes === true || trouble.lasts(step.pod ?? name, words)) {
          throw notReady(plan, step.pod ?? of.pod, words ?? "");
        }
        const line = `${of.workload}: waiting for ${step.pod ?? of.pod}${words === null ? "" : `: ${words}`}`;
        if (line !== reported) report(line);
        reported = line;
      }
      if (performance.now() > deadline) throw notReady(plan, of.pod, "it takes too long");
      await sleep(pace.pollMs, undefined, { signal });
    }
  } catch (error) {
    // No other pod changes by what failed here. Where that is not possible the next command's fence does it.
    await restore(kubectl, of, text, AbortSignal.timeout(RESTORE_MS)).catch(() => undefined);
    throw error;
  }
}

/** Nothing where a newer command stands there: its fence has put the partition back. */
async function restore(
  kubectl: Kubectl,
  { workload: name, ordinal, replicas }: GroupPod,
  token: string,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const found = await findObject(kubectl, "statefulset", name, statefulSetSchema, { signal });
    if (found === null || partitionOf(found) === replicas) return;
    if (found.metadata.annotations?.[fenceAnnotation(ordinal)] !== token) return;
    const version = found.metadata.resourceVersion;
    const done = await setPartition(kubectl, name, replicas, { signal, version }).then(() => true, unlessConflict);
    if (done === true) return;
  }
}

function unlessConflict(error: unknown): void {
  if (!isConflict(error)) throw error;
}

/** That very pod, and none that has come under its name meanwhile. */
async function deletePod(
  kubectl: Kubectl,
  { namespace }: KubernetesPlan,
  { pods }: Group,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const uid = pods.find(({ metadata }) => metadata.name === name)?.metadata.uid;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const input = JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid } });
  try {
    await kubectl.run(["delete", `--raw=${path}`, "--filename=-"], { signal, input });
  } catch (error) {
    if (!(error instanceof InfraError) || !/not ?found|precondition|conflict/i.test(error.message)) throw error;
  }
}

function otherImage(name: string): InfraError {
  return new InfraError("INFRA_LOCKED", `The workload of ${name} was given another image meanwhile.`, {
    hint: "See `cairn update --mesh --history`, and who else runs `cairn infra up`.",
  });
}
