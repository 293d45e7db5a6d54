/** The kubernetes target's part of a plan: groups, storage and service. */
import { DATABASE_FOLDER } from "../components/kubernetes/names.ts";
import { POD_NAME_VARIABLE } from "./addresses.ts";
import { DATABASE_NAME, directoryData } from "./names.ts";
import { limitsOf, nodePath, replicasOf } from "./node.ts";
import type { Problems } from "./problems.ts";
import type { TargetContext } from "./target-context.ts";
import type { KubernetesNodePlan, KubernetesPlan } from "./types.ts";

export function planKubernetes(context: TargetContext, problems: Problems): KubernetesPlan {
  const { config, common, nodes } = context;
  const { kubernetes } = config.deployment;
  const replicas = replicasOf(config);
  const planned = nodes.map(
    ({ base, settings }): KubernetesNodePlan => ({
      ...base,
      limits: limitsOf(settings, {}),
      publish: null,
      replicas,
      nodeSelector: settings.labels ?? {},
      ...(config.mesh.enabled && replicas > 1 ? { podName: POD_NAME_VARIABLE } : {}),
    }),
  );
  const directory = kubernetes.database_directory;
  if (directory === DATABASE_NAME) {
    problems.refuse(
      "deployment.kubernetes.database_directory",
      `${directory} is kept for other targets: choose another`,
    );
  }
  const named = directory !== undefined && directory !== DATABASE_FOLDER;
  const data = named ? { data: directoryData(common.stack, directory) } : {};
  checkReplicas(context, replicas, problems);
  checkResources(context, planned, problems);
  return {
    ...common,
    // Its service is what nodes reach it by: nothing of it is published.
    postgres: common.postgres && { ...common.postgres, ...data, publish: null },
    target: "kubernetes",
    nodes: planned,
    kubeconfig: kubernetes.kubeconfig ?? null,
    context: kubernetes.context ?? null,
    namespace: kubernetes.namespace,
    storageClass: kubernetes.storage_class ?? null,
    storageBytes: kubernetes.storage_size,
    databaseBytes: kubernetes.database_size,
    serviceType: kubernetes.service_type,
    serviceAnnotations: kubernetes.annotations,
    imagePullSecret: kubernetes.image_pull_secret ?? null,
    requests: { memoryBytes: kubernetes.requests.memory, cpus: kubernetes.requests.cpus },
    deniedNetworks: kubernetes.denied_networks,
    userNamespaces: kubernetes.user_namespaces,
    podLimits: { memoryBytes: kubernetes.limits.memory, cpus: kubernetes.limits.cpus },
  };
}

function checkReplicas({ config, common }: TargetContext, replicas: number, problems: Problems): void {
  const { kubernetes, nodes } = config.deployment;
  if (nodes.length > 0 && kubernetes.replicas > 1) {
    problems.warn(
      "deployment.kubernetes.replicas",
      "counts only where deployment.nodes is empty: each node that is named there is one pod",
    );
  }
  if (config.memory.backend === "embedded" && replicas > 1) {
    problems.refuse(
      "deployment.kubernetes.replicas",
      "the embedded store is one process's: set deployment.datahub.postgres, give memory.postgres an address, or set replicas to 1",
    );
  }
  if (config.runtime.tls === "auto" && replicas > 1) {
    problems.refuse(
      "deployment.kubernetes.replicas",
      "each pod would make a certificate of its own, and clients of the service would meet now one, now another: give runtime.tls a cert and a key, name the nodes in deployment.nodes, or set replicas to 1",
    );
  }
  if (common.sharedStorage && (replicas > 1 || nodes.length > 1)) {
    problems.warn(
      "deployment.datahub.shared_storage",
      "several pods share it: the storage class must offer ReadWriteMany",
    );
  }
}

function checkResources({ config }: TargetContext, planned: readonly KubernetesNodePlan[], problems: Problems): void {
  const { requests, limits } = config.deployment.kubernetes;
  for (const [index, node] of planned.entries()) {
    const own = config.deployment.nodes[index];
    for (const key of ["memory", "cpus"] as const) {
      if (requests[key] <= (own?.[key] ?? limits[key])) continue;
      const path = own?.[key] === undefined ? `deployment.kubernetes.limits.${key}` : nodePath(config, index, key);
      problems.refuse(path, `${node.name} may not have less than it requests (deployment.kubernetes.requests.${key})`);
    }
  }
}
