/** The pod of a node: its container, its probes, its files and its volumes. */

import type { types } from "@pulumi/kubernetes";
import type { Input } from "@pulumi/pulumi";
import { CONTAINER, type ImageIdentity, type KubernetesNodePlan, type KubernetesPlan } from "../../plan/types.ts";
import { CERTIFICATE_KEY, ENV_KEY, FILE_MODE, type Item } from "./files.ts";
import {
  CONFIGURATION_ANNOTATION,
  IMAGE_ANNOTATION,
  NODE_CONTAINER,
  objectLabels,
  SECRETS_ANNOTATION,
  selectorLabels,
  sharedClaimName,
} from "./names.ts";
import { containerSecurity, podSecurity, QUIET_POD, resources, userNamespace } from "./security.ts";

type PodTemplate = types.input.core.v1.PodTemplateSpec;
type Probe = types.input.core.v1.Probe;

/** A first start may migrate a large store: five minutes. */
const START = { periodSeconds: 2, failureThreshold: 150 } as const;

export interface NodePodInput {
  readonly plan: KubernetesPlan;
  readonly node: KubernetesNodePlan;
  readonly image: ImageIdentity;
  readonly configMaps: readonly { readonly name: string; readonly items: readonly Item[] }[];
  readonly configurationHash: string;
  readonly secretName: string;
  readonly secretsMark: Input<string>;
  /** Whether the Secret has the certificate of the stack's own PostgreSQL. */
  readonly hasCertificate: boolean;
  readonly pullSecret: string | null;
}

export function nodePod(input: NodePodInput): PodTemplate {
  const { plan, node, image } = input;
  return {
    metadata: {
      labels: objectLabels(plan.stack, "node", node.name),
      annotations: {
        [IMAGE_ANNOTATION]: imageMark(image),
        [CONFIGURATION_ANNOTATION]: input.configurationHash,
        [SECRETS_ANNOTATION]: input.secretsMark,
      },
    },
    spec: {
      ...QUIET_POD,
      ...userNamespace(plan.userNamespaces),
      serviceAccountName: plan.stack,
      securityContext: podSecurity(CONTAINER.uid, CONTAINER.gid),
      terminationGracePeriodSeconds: node.stopTimeoutS,
      ...(input.pullSecret === null ? {} : { imagePullSecrets: [{ name: input.pullSecret }] }),
      ...(Object.keys(node.nodeSelector).length === 0 ? {} : { nodeSelector: { ...node.nodeSelector } }),
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "kubernetes.io/hostname",
          // A cluster with one machine is a cluster too.
          whenUnsatisfiable: "ScheduleAnyway",
          labelSelector: { matchLabels: selectorLabels(plan.stack, "node", node.name) },
        },
      ],
      containers: [nodeContainer(input)],
      volumes: nodeVolumes(input),
    },
  };
}

/** The image reference for the container runtime: the registry's digest where there is one, for a reference can be moved. */
export function imageReference(image: ImageIdentity): string {
  return image.digest ?? image.reference;
}

function imageMark(image: ImageIdentity): string {
  return image.digest ?? image.id ?? image.reference;
}

function nodeContainer(input: NodePodInput): types.input.core.v1.Container {
  const { plan, node, image } = input;
  const limits = {
    memoryBytes: node.limits.memoryBytes ?? plan.podLimits.memoryBytes,
    cpus: node.limits.cpus ?? plan.podLimits.cpus,
  };
  const environment = Object.entries(node.environment).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    name: NODE_CONTAINER,
    image: imageReference(image),
    imagePullPolicy: "IfNotPresent",
    env: [
      ...environment.map(([name, value]) => ({ name, value })),
      ...(node.podName === undefined
        ? []
        : [{ name: node.podName, valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }]),
    ],
    ports: [{ name: "http", containerPort: CONTAINER.port, protocol: "TCP" }],
    resources: resources(plan.requests, limits),
    securityContext: containerSecurity(),
    startupProbe: { ...probe("/health/live", node.tls), ...START },
    // A node that drains or waits for its database is not ready, and must not be killed for it.
    livenessProbe: { ...probe("/health/live", node.tls), periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { ...probe("/health/ready", node.tls), periodSeconds: 5, failureThreshold: 2 },
    volumeMounts: [
      { name: "configuration", mountPath: CONTAINER.configuration, readOnly: true },
      { name: "home", mountPath: CONTAINER.home },
      { name: "workspace", mountPath: CONTAINER.workspaces },
      { name: "tmp", mountPath: "/tmp" },
      ...(plan.sharedStorage ? [{ name: "shared", mountPath: CONTAINER.shared }] : []),
    ],
  };
}

function probe(path: string, tls: boolean): Probe {
  return {
    // The kubelet does not check the certificate, which may be self-signed.
    httpGet: { path, port: "http", scheme: tls ? "HTTPS" : "HTTP" },
    timeoutSeconds: 5,
  };
}

function nodeVolumes(input: NodePodInput): types.input.core.v1.Volume[] {
  const { plan } = input;
  return [
    {
      name: "configuration",
      projected: {
        defaultMode: FILE_MODE,
        sources: [
          ...input.configMaps.map(({ name, items }) => ({
            configMap: { name, items: items.map((item) => ({ ...item })) },
          })),
          {
            secret: {
              name: input.secretName,
              items: [
                { key: ENV_KEY, path: ".env" },
                ...(input.hasCertificate ? [{ key: CERTIFICATE_KEY, path: CERTIFICATE_KEY }] : []),
              ],
            },
          },
        ],
      },
    },
    { name: "tmp", emptyDir: { sizeLimit: "512Mi" } },
    ...(plan.sharedStorage
      ? [{ name: "shared", persistentVolumeClaim: { claimName: sharedClaimName(plan.stack) } }]
      : []),
  ];
}
