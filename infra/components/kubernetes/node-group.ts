/** An agent group: its files, its secrets, its claims, its Services and the StatefulSet that runs it. */

import { StatefulSet } from "@pulumi/kubernetes/apps/v1/index.js";
import { ConfigMap, Secret, Service } from "@pulumi/kubernetes/core/v1/index.js";
import {
  all,
  ComponentResource,
  type CustomResourceOptions,
  type Output,
  type Resource,
  secret,
  unsecret,
} from "@pulumi/pulumi";
import { CONTAINER, type ImageIdentity, type KubernetesNodePlan, type KubernetesPlan } from "../../plan/types.ts";
import { CLAIM_RETENTION, claimTemplate } from "./claims.ts";
import { CERTIFICATE_KEY, ENV_KEY, packFiles, secretsMark } from "./files.ts";
import { objectLabels, peersName, plannedClaims, selectorLabels, workloadName } from "./names.ts";
import { nodePod } from "./node-pod.ts";

/** Old revisions kept to go back to. */
const REVISIONS = 5;

/**
 * A StatefulSet under a partition never counts as rolled out for Pulumi's own wait, and one that waits for its first pod would
 * hold back everything after it. What runs is observed after the whole graph is applied; a deletion is waited for all the same,
 * which `skipAwait` would not do.
 */
export const APPLIED_IS_ENOUGH = { "pulumi.com/waitFor": "jsonpath={.metadata.uid}" } as const;

export interface NodeGroupInput {
  readonly plan: KubernetesPlan;
  readonly node: KubernetesNodePlan;
  readonly image: ImageIdentity;
  /** Text of its `.env`. */
  readonly env: Output<string>;
  /** Of the stack's own PostgreSQL; null where there is none. */
  readonly certificate: Output<string> | null;
  readonly pullSecret: string | null;
  /** What must exist before a pod starts: claims, service account, network policies. */
  readonly before: readonly Resource[];
}

export class NodeGroup extends ComponentResource {
  readonly workload: StatefulSet;

  constructor(input: NodeGroupInput, options: CustomResourceOptions) {
    const { plan, node } = input;
    const name = workloadName(plan.stack, node.name);
    super("cairn:kubernetes:NodeGroup", name, {}, options);
    const inside: CustomResourceOptions = { parent: this };
    const meta = (objectName: string, annotations: Record<string, string> = {}) => ({
      name: objectName,
      namespace: plan.namespace,
      labels: objectLabels(plan.stack, "node", node.name),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    });

    const { maps, hash } = packFiles(node.files);
    const configMaps = maps.map(({ data, items }, index) => {
      const mapName = `${name}-files-${index}`;
      return {
        name: mapName,
        items,
        map: new ConfigMap(mapName, { metadata: meta(mapName), data: { ...data } }, inside),
      };
    });
    const env = new Secret(
      `${name}-env`,
      {
        metadata: meta(`${name}-env`),
        type: "Opaque",
        data: {
          [ENV_KEY]: secret(input.env).apply(base64),
          ...(input.certificate === null ? {} : { [CERTIFICATE_KEY]: secret(input.certificate).apply(base64) }),
        },
      },
      inside,
    );

    const ports = [{ name: "http", port: CONTAINER.port, targetPort: "http", protocol: "TCP" }];
    const selector = selectorLabels(plan.stack, "node", node.name);
    const peers = new Service(
      peersName(plan.stack, node.name),
      {
        metadata: meta(peersName(plan.stack, node.name), { "pulumi.com/skipAwait": "true" }),
        // A node that drains still answers for the conversations that it finishes: peers find it by name.
        spec: { clusterIP: "None", publishNotReadyAddresses: true, selector, ports },
      },
      inside,
    );
    new Service(
      name,
      {
        metadata: meta(name, { ...plan.serviceAnnotations, "pulumi.com/skipAwait": "true" }),
        spec: { type: plan.serviceType, selector, ports },
      },
      inside,
    );

    this.workload = new StatefulSet(
      name,
      {
        metadata: meta(name, APPLIED_IS_ENOUGH),
        spec: {
          serviceName: peersName(plan.stack, node.name),
          replicas: node.replicas,
          selector: { matchLabels: selector },
          // Nodes need no order among themselves, and one that cannot start must not keep the others from starting.
          podManagementPolicy: "Parallel",
          // No pod is touched by what is applied here: see docs/decisions/017-kubernetes-workloads.md.
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: node.replicas } },
          persistentVolumeClaimRetentionPolicy: CLAIM_RETENTION,
          revisionHistoryLimit: REVISIONS,
          template: nodePod({
            plan,
            node,
            image: input.image,
            configMaps,
            configurationHash: hash,
            secretName: `${name}-env`,
            secretsMark: unsecret(
              all([input.env, input.certificate]).apply(([text, certificate]) =>
                secretsMark(`${text}${certificate ?? ""}`, plan.stack, node.name),
              ),
            ),
            hasCertificate: input.certificate !== null,
            pullSecret: input.pullSecret,
          }),
          volumeClaimTemplates: templatesOf(plan, node),
        },
      },
      {
        ...inside,
        dependsOn: [...input.before, ...configMaps.map(({ map }) => map), env, peers],
        // They cannot be changed, and another size is for the claims themselves.
        ignoreChanges: ["spec.volumeClaimTemplates"],
      },
    );
    this.registerOutputs({});
  }
}

function templatesOf(plan: KubernetesPlan, node: KubernetesNodePlan) {
  const seen = new Set<string>();
  return plannedClaims(plan).flatMap((claim) => {
    const { template } = claim;
    if (claim.node !== node.name || template === null || seen.has(template)) return [];
    seen.add(template);
    return [claimTemplate(plan, { ...claim, template })];
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
