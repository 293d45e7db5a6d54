/** The Kubernetes driver: everything outside the graph, by kubectl. */

import {
  INSTANCE_LABEL,
  MANAGED_LABEL,
  MANAGER,
  NODE_CONTAINER,
  NODE_LABEL,
  objectLabels,
  plannedClaims,
  workloadName,
} from "../../../../infra/components/kubernetes/names.ts";
import { CONTAINER, type KubernetesPlan, type SecretValues } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { ExistingData, ObservedNode, Report, TargetDriver } from "../../driver.ts";
import { forwardPort } from "./connect.ts";
import { createKubectl, type Kubectl, unknownIfForbidden } from "./kubectl.ts";
import {
  claimSchema,
  findObject,
  listObjects,
  namedSchema,
  namespaceSchema,
  podSchema,
  statefulSetSchema,
} from "./objects.ts";
import { podHealth } from "./pod-health.ts";
import { preflight } from "./preflight.ts";
import { PACE, type Pace, settleAll } from "./settle.ts";

/** For a claim whose pod is still ending, in milliseconds. */
const DELETE_MS = 150_000;

/** Pulumi type -> what kubectl calls it. */
const KINDS: Readonly<Record<string, string>> = {
  "kubernetes:apps/v1:StatefulSet": "statefulsets.apps",
  "kubernetes:core/v1:ConfigMap": "configmaps",
  "kubernetes:core/v1:PersistentVolumeClaim": "persistentvolumeclaims",
  "kubernetes:core/v1:Secret": "secrets",
  "kubernetes:core/v1:Service": "services",
  "kubernetes:core/v1:ServiceAccount": "serviceaccounts",
  "kubernetes:networking.k8s.io/v1:NetworkPolicy": "networkpolicies.networking.k8s.io",
  "kubernetes:policy/v1:PodDisruptionBudget": "poddisruptionbudgets.policy",
};

export interface KubernetesDriverOptions {
  /** kubectl; default: the one of PATH. */
  readonly program?: string;
  readonly pace?: Pace;
}

export function createKubernetesDriver(
  plan: KubernetesPlan,
  secrets: SecretValues,
  { program, pace = PACE }: KubernetesDriverOptions = {},
): TargetDriver {
  const kubectl = createKubectl({
    kubeconfig: plan.kubeconfig,
    context: plan.context,
    namespace: plan.namespace,
    ...(program === undefined ? {} : { program }),
  });
  return {
    preflight: (signal) => preflight(kubectl, plan, secrets, signal),
    prepare: (report, signal) => ensureNamespace(kubectl, plan, report, signal),
    settle: (report, signal) => settleAll(kubectl, plan, report, signal, pace),
    // The cluster pulls for itself, and which of its machines does is its own affair.
    imagePlaces: () => [],
    hasImage: async () => true,
    deliverImage: async () => {},
    existingData: (signal) => existingData(kubectl, plan, signal),
    observe: (signal) => observe(kubectl, plan, signal),
    // The provider reads every object in full.
    drift: async () => [],
    findInterrupted: (type, name, signal) => findInterrupted(kubectl, plan, type, name, signal),
    deleteData: (data, signal) => deleteData(kubectl, data, signal),
    connect: (node, signal) => connect(kubectl, plan, node, signal),
  };
}

/** Made when it is missing, with the strictest pod security; one that exists is left as it is. Never deleted. */
async function ensureNamespace(
  kubectl: Kubectl,
  { namespace, stack }: KubernetesPlan,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const found = await findObject(kubectl, "namespace", namespace, namespaceSchema, { signal }).catch(
    unknownIfForbidden,
  );
  // Who may not look at it was given one to work in.
  if (found !== null) return;
  report(`Making the namespace ${namespace}.`);
  const manifest = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: namespace,
      labels: { ...objectLabels(stack), "pod-security.kubernetes.io/enforce": "restricted" },
    },
  };
  await kubectl.run(["create", "--filename=-"], { signal, input: JSON.stringify(manifest) });
}

async function existingData(kubectl: Kubectl, plan: KubernetesPlan, signal: AbortSignal): Promise<ExistingData[]> {
  const planned = new Set(plannedClaims(plan).map(({ name }) => name));
  const claims = await listObjects(kubectl, ["persistentvolumeclaims"], claimSchema, { signal });
  return claims
    .filter(({ metadata }) => planned.has(metadata.name))
    .map(({ metadata }) => ({
      name: metadata.name,
      place: plan.namespace,
      stack: metadata.labels?.[MANAGED_LABEL] === MANAGER ? (metadata.labels?.[INSTANCE_LABEL] ?? null) : null,
    }));
}

async function observe(kubectl: Kubectl, plan: KubernetesPlan, signal: AbortSignal): Promise<ObservedNode[]> {
  const selector = `--selector=${INSTANCE_LABEL}=${plan.stack}`;
  const [workloads, pods] = await Promise.all([
    listObjects(kubectl, ["statefulsets", selector], statefulSetSchema, { signal }),
    listObjects(kubectl, ["pods", selector], podSchema, { signal }),
  ]);
  return plan.nodes.map((node) => {
    const name = workloadName(plan.stack, node.name);
    const workload = workloads.find(({ metadata }) => metadata.name === name);
    const own = pods.filter(({ metadata }) => metadata.labels?.[NODE_LABEL] === node.name);
    const health = own.map(podHealth);
    const container = [...own.map(({ spec }) => spec), ...(workload ? [workload.spec.template.spec] : [])]
      .flatMap(({ containers }) => containers)
      .find(({ name: of }) => of === NODE_CONTAINER);
    const reason = health.find(({ trouble }) => trouble !== null)?.trouble ?? null;
    return {
      name: node.name,
      workload: name,
      place: plan.namespace,
      state: stateOf(workload?.spec.replicas ?? null, health),
      health: healthOf(workload?.spec.replicas ?? null, health),
      image: container?.image ?? null,
      ...(reason === null ? {} : { reason }),
    };
  });
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

async function findInterrupted(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  type: string,
  name: string,
  signal: AbortSignal,
): Promise<string | null> {
  const kind = KINDS[type];
  if (kind === undefined) return null;
  const found = await findObject(kubectl, kind, name, namedSchema, { signal });
  // Somebody else's is not what was interrupted.
  if (found?.metadata.labels?.[INSTANCE_LABEL] !== plan.stack) return null;
  return `${plan.namespace}/${name}`;
}

async function deleteData(kubectl: Kubectl, data: readonly ExistingData[], signal: AbortSignal): Promise<void> {
  if (data.length === 0) return;
  const names = data.map(({ name }) => name);
  await kubectl.run(["delete", "persistentvolumeclaims", ...names, "--ignore-not-found", "--wait=false"], { signal });
  const gone = ["wait", "--for=delete", `--timeout=${DELETE_MS / 1_000}s`];
  const objects = names.map((name) => `persistentvolumeclaim/${name}`);
  await kubectl.run([...gone, ...objects], { signal, timeoutMs: DELETE_MS + 10_000 }).catch(async (error: unknown) => {
    signal.throwIfAborted();
    const left = await listObjects(kubectl, ["persistentvolumeclaims"], claimSchema, { signal });
    const kept = left.map(({ metadata }) => metadata.name).filter((name) => names.includes(name));
    if (kept.length === 0) return;
    throw new InfraError("INFRA_FAILED", `These claims are still used by a pod: ${kept.join(", ")}.`, {
      hint: "They go as soon as the pod has ended; see `kubectl get pods`.",
      cause: error,
    });
  });
}

/** To a pod that is ready, else to one that runs. `node` is a group. */
async function connect(kubectl: Kubectl, plan: KubernetesPlan, node: string, signal: AbortSignal) {
  const planned = plan.nodes.find(({ name }) => name === node);
  if (planned === undefined) throw new InfraError("INFRA_PLAN_INVALID", `There is no node ${node} in the stack.`);
  const selector = `--selector=${INSTANCE_LABEL}=${plan.stack},${NODE_LABEL}=${node}`;
  const pods = await listObjects(kubectl, ["pods", selector], podSchema, { signal });
  const health = pods.map((pod) => ({ name: pod.metadata.name, ...podHealth(pod) }));
  const best = health.find(({ ready }) => ready) ?? health.find(({ running }) => running);
  if (best === undefined) {
    throw new InfraError("INFRA_HOST_UNREACHABLE", `No pod of the node ${node} is running.`, {
      hint: "See `cairn infra status`.",
    });
  }
  return forwardPort(kubectl, best.name, CONTAINER.port, planned.tls, plan.context, signal);
}
