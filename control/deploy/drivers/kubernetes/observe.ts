/**
 * Every part of a plan as it is in the cluster, and what of the state is not there any more. What was changed in an object the engine
 * itself finds before it plans.
 */

import {
  INSTANCE_LABEL,
  NODE_CONTAINER,
  NODE_LABEL,
  POSTGRES_CONTAINER,
  POSTGRES_NODE,
  plannedClaims,
  workloadName,
} from "../../../../infra/components/kubernetes/names.ts";
import { imageReference } from "../../../../infra/components/kubernetes/node-pod.ts";
import type { KubernetesPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { RecordedResource } from "../../engine/checkpoint.ts";
import type { Drift, Inspection, ObservedNode, ObservedPart } from "../../inspection.ts";
import { CLAIM, findNames, KINDS, kindOf, WORKLOAD } from "./cluster/inventory.ts";
import type { Kubectl } from "./cluster/kubectl.ts";
import { listObjects, type Pod, podSchema, type StatefulSet, statefulSetSchema } from "./cluster/objects.ts";
import { podHealth } from "./cluster/pod-health.ts";

interface Running {
  readonly workloads: readonly StatefulSet[];
  readonly pods: readonly Pod[];
}

export async function observe(kubectl: Kubectl, plan: KubernetesPlan, signal: AbortSignal): Promise<ObservedNode[]> {
  return nodesIn(plan, await findRunning(kubectl, plan, signal));
}

export async function inspect(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  recorded: readonly RecordedResource[],
  signal: AbortSignal,
): Promise<Inspection> {
  const objects = recorded.filter(({ type }) => type in KINDS);
  try {
    const [running, names] = await Promise.all([findRunning(kubectl, plan, signal), findNames(kubectl, plan, signal)]);
    const missing = objects.filter((one) => !names.has(`${kindOf(one.type)}/${one.name}`));
    return {
      nodes: nodesIn(plan, running),
      parts: [
        ...databaseIn(plan, running),
        ...objects.flatMap((one) => partOf(plan, one, missing.includes(one) ? "missing" : "present")),
      ],
      drift: [...missing.map((one) => missingDrift(plan, one)), ...scaledDrift(plan, objects, running)].sort(
        (a, b) => Number(a.node !== null) - Number(b.node !== null),
      ),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof InfraError) || error.code !== "INFRA_HOST_UNREACHABLE") throw error;
    return { nodes: nodesIn(plan, null), parts: objects.flatMap((one) => partOf(plan, one, "unknown")), drift: [] };
  }
}

async function findRunning(kubectl: Kubectl, plan: KubernetesPlan, signal: AbortSignal): Promise<Running> {
  const selector = `--selector=${INSTANCE_LABEL}=${plan.stack}`;
  const [workloads, pods] = await Promise.all([
    listObjects(kubectl, ["statefulsets", selector], statefulSetSchema, { signal }),
    listObjects(kubectl, ["pods", selector], podSchema, { signal }),
  ]);
  return { workloads, pods };
}

/** `running` null: the cluster does not answer. */
function nodesIn(plan: KubernetesPlan, running: Running | null): ObservedNode[] {
  return plan.nodes.map((node) => {
    const common = { name: node.name, workload: workloadName(plan.stack, node.name), place: plan.namespace };
    const seen = serving(plan, node.name, NODE_CONTAINER, running);
    const planned = node.image !== null && seen.image === imageReference(node.image) ? node.image.version : null;
    return { ...common, ...seen, version: planned };
  });
}

function databaseIn(plan: KubernetesPlan, running: Running): ObservedPart[] {
  if (plan.postgres === null) return [];
  const name = workloadName(plan.stack, POSTGRES_NODE);
  const seen = serving(plan, POSTGRES_NODE, POSTGRES_CONTAINER, running);
  return [{ kind: "database", name, place: plan.namespace, node: null, reason: null, ...seen }];
}

type Serving = Pick<ObservedNode, "state" | "health" | "image" | "version" | "since" | "restarts" | "reason">;

const NOTHING = { health: "unknown", image: null, version: null, since: null, restarts: null } as const;

function serving(plan: KubernetesPlan, node: string, container: string, running: Running | null): Serving {
  if (running === null) return { ...NOTHING, state: "unknown" };
  const name = workloadName(plan.stack, node);
  const workload = running.workloads.find(({ metadata }) => metadata.name === name);
  const own = running.pods.filter(({ metadata }) => metadata.labels?.[NODE_LABEL] === node);
  const health = own.map(podHealth);
  const found = [...own.map(({ spec }) => spec), ...(workload ? [workload.spec.template.spec] : [])]
    .flatMap(({ containers }) => containers)
    .find(({ name: of }) => of === container);
  const reason = health.find(({ trouble }) => trouble !== null)?.trouble ?? null;
  const statuses = own.flatMap(({ status }) => status?.containerStatuses ?? []).filter((one) => one.name === container);
  const started = statuses.flatMap(({ state }) => state?.running?.startedAt ?? []).sort();
  const replicas = workload === undefined ? null : (workload.spec.replicas ?? 1);
  return {
    state: stateOf(replicas, health),
    health: healthOf(replicas, health),
    image: found?.image ?? null,
    version: null,
    // The last of its pods: since then all of it runs.
    since: started.at(-1) ?? null,
    restarts: statuses.length === 0 ? null : statuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    ...(reason === null ? {} : { reason }),
  };
}

type Health = ReturnType<typeof podHealth>;

function stateOf(replicas: number | null, pods: readonly Health[]): ObservedNode["state"] {
  if (replicas === null) return "missing";
  return pods.some(({ running }) => running) ? "running" : "stopped";
}

function healthOf(replicas: number | null, pods: readonly Health[]): ObservedNode["health"] {
  if (replicas === null || replicas === 0) return "unknown";
  if (pods.filter(({ ready }) => ready).length >= replicas) return "healthy";
  return pods.some(({ trouble }) => trouble !== null) ? "unhealthy" : "starting";
}

/** A workload is shown as its node, or as the database. */
function partOf(plan: KubernetesPlan, { type, name }: RecordedResource, state: ObservedPart["state"]): ObservedPart[] {
  if (type === WORKLOAD) return [];
  const nothing = { health: null, image: null, version: null, since: null, restarts: null, reason: null };
  const volume = type === CLAIM;
  const shown = volume ? name : `${kindOf(type)}/${name}`;
  const node = nodeOf(plan, type, name);
  return [{ kind: volume ? "volume" : "object", name: shown, place: plan.namespace, node, state, ...nothing }];
}

const DRIFT = { dataLost: false, forget: [], replace: [], rerun: [], repair: null } as const satisfies Partial<Drift>;

function missingDrift(plan: KubernetesPlan, { type, name, urn }: RecordedResource): Drift {
  const data = type === CLAIM;
  const kind = kindOf(type);
  return {
    ...DRIFT,
    kind: "missing",
    name: data || type === WORKLOAD ? name : `${kind}/${name}`,
    place: plan.namespace,
    node: nodeOf(plan, type, name),
    message: data ? `The claim ${name} is gone, and the data in it.` : `The ${kind} ${name} is gone.`,
    remedy: data ? "It is made anew, empty." : "It is made anew.",
    dataLost: data,
    forget: [urn],
  };
}

/** A workload that was given another number of pods. */
function scaledDrift(plan: KubernetesPlan, objects: readonly RecordedResource[], { workloads }: Running): Drift[] {
  return objects.flatMap(({ type, name, inputs }) => {
    const found = type === WORKLOAD ? workloads.find(({ metadata }) => metadata.name === name) : undefined;
    const spec = inputs["spec"];
    const recorded = typeof spec === "object" && spec !== null && "replicas" in spec ? spec.replicas : undefined;
    const replicas = found?.spec.replicas ?? 1;
    if (found === undefined || typeof recorded !== "number" || replicas === recorded) return [];
    return [
      {
        ...DRIFT,
        kind: replicas === 0 ? ("stopped" as const) : ("changed" as const),
        name,
        place: plan.namespace,
        node: nodeOf(plan, type, name),
        message: `The StatefulSet ${name} has ${replicas} pods instead of ${recorded}.`,
        remedy: `It gets ${recorded} again.`,
      },
    ];
  });
}

/** Null for the database, and for what all share. */
function nodeOf(plan: KubernetesPlan, type: string, name: string): string | null {
  if (type === CLAIM) {
    const node = plannedClaims(plan).find((claim) => claim.name === name)?.node ?? null;
    return node === POSTGRES_NODE ? null : node;
  }
  const own = plan.nodes.filter((node) => {
    const workload = workloadName(plan.stack, node.name);
    return name === workload || name.startsWith(`${workload}-`);
  });
  return own.map((node) => node.name).sort((a, b) => b.length - a.length)[0] ?? null;
}
