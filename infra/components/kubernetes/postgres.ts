/** The deployment's PostgreSQL: one pod on its own claim, reached by the nodes alone. */

import { createHash } from "node:crypto";
import type { types } from "@pulumi/kubernetes";
import { StatefulSet } from "@pulumi/kubernetes/apps/v1/index.js";
import { ConfigMap, Secret, Service } from "@pulumi/kubernetes/core/v1/index.js";
import {
  ComponentResource,
  type CustomResourceOptions,
  type Output,
  type Resource,
  secret,
  unsecret,
} from "@pulumi/pulumi";
import { databaseData } from "../../plan/names.ts";
import { type KubernetesPlan, POSTGRES, type PostgresPlan, type PostgresSecrets } from "../../plan/types.ts";
import {
  POSTGRES_SECRET_FILES,
  postgresCommand,
  postgresEnvironment,
  postgresFiles,
  postgresProbe,
  postgresSecretFiles,
} from "../../postgres/configuration.ts";
import { CLAIM_RETENTION, claimTemplate } from "./claims.ts";
import { FILE_MODE, secretsMark } from "./files.ts";
import {
  CONFIGURATION_ANNOTATION,
  databasePath,
  objectLabels,
  POSTGRES_CLAIM,
  POSTGRES_CONTAINER,
  POSTGRES_NODE,
  peersName,
  plannedClaims,
  SECRETS_ANNOTATION,
  selectorLabels,
  workloadName,
} from "./names.ts";
import { APPLIED_IS_ENOUGH } from "./node-group.ts";
import { containerSecurity, podSecurity, QUIET_POD, resources, userNamespace } from "./security.ts";

/** Fast shutdown needs seconds; a large checkpoint may need a minute. */
const STOP_TIMEOUT_S = 120;

export interface PostgresInput {
  readonly plan: KubernetesPlan;
  readonly postgres: PostgresPlan;
  readonly secrets: Output<PostgresSecrets>;
  readonly pullSecret: string | null;
  readonly before: readonly Resource[];
}

export class Postgres extends ComponentResource {
  readonly workload: StatefulSet;

  constructor(input: PostgresInput, options: CustomResourceOptions) {
    const { plan } = input;
    const name = workloadName(plan.stack, POSTGRES_NODE);
    super("cairn:kubernetes:Postgres", name, {}, options);
    const inside: CustomResourceOptions = { parent: this };
    const meta = (objectName: string, annotations: Record<string, string> = {}) => ({
      name: objectName,
      namespace: plan.namespace,
      labels: objectLabels(plan.stack, "postgres", POSTGRES_NODE),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    });
    const files = postgresFiles();
    const data = Object.fromEntries(files.map((file) => [file.name, file.content]));
    const fileMap = new ConfigMap(`${name}-files`, { metadata: meta(`${name}-files`), data }, inside);
    const password = new Secret(
      `${name}-password`,
      {
        metadata: meta(`${name}-password`),
        type: "Opaque",
        data: Object.fromEntries(
          POSTGRES_SECRET_FILES.map((file) => [
            file,
            secret(input.secrets).apply((made) => Buffer.from(postgresSecretFiles(made)[file]).toString("base64")),
          ]),
        ),
      },
      inside,
    );
    const ports = [{ name: "postgres", port: POSTGRES.port, targetPort: "postgres", protocol: "TCP" }];
    const selector = selectorLabels(plan.stack, "postgres", POSTGRES_NODE);
    const peers = new Service(
      peersName(plan.stack, POSTGRES_NODE),
      {
        metadata: meta(peersName(plan.stack, POSTGRES_NODE), { "pulumi.com/skipAwait": "true" }),
        spec: { clusterIP: "None", selector, ports },
      },
      inside,
    );
    new Service(
      name,
      {
        metadata: meta(name, { "pulumi.com/skipAwait": "true" }),
        spec: { type: "ClusterIP", selector, ports },
      },
      inside,
    );
    this.workload = new StatefulSet(
      name,
      {
        metadata: meta(name, APPLIED_IS_ENOUGH),
        spec: {
          serviceName: peersName(plan.stack, POSTGRES_NODE),
          replicas: 1,
          selector: { matchLabels: selector },
          podManagementPolicy: "Parallel",
          // Its image is in the configuration and changes only by hand: no partition is needed.
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
          persistentVolumeClaimRetentionPolicy: CLAIM_RETENTION,
          revisionHistoryLimit: 5,
          template: podOf(input, {
            [CONFIGURATION_ANNOTATION]: createHash("sha256").update(JSON.stringify(data)).digest("hex").slice(0, 32),
            [SECRETS_ANNOTATION]: unsecret(
              input.secrets.apply(({ password: text, tls }) => secretsMark(`${text}${tls}`, plan.stack, POSTGRES_NODE)),
            ),
          }),
          volumeClaimTemplates: plannedClaims(plan)
            .filter((claim) => claim.component === "postgres")
            .map((claim) => claimTemplate(plan, { ...claim, template: POSTGRES_CLAIM })),
        },
      },
      {
        ...inside,
        dependsOn: [...input.before, fileMap, password, peers],
        ignoreChanges: ["spec.volumeClaimTemplates"],
      },
    );
    this.registerOutputs({});
  }
}

function podOf(
  { plan, postgres, pullSecret }: PostgresInput,
  annotations: Record<string, string | Output<string>>,
): types.input.core.v1.PodTemplateSpec {
  const name = workloadName(plan.stack, POSTGRES_NODE);
  return {
    metadata: { labels: objectLabels(plan.stack, "postgres", POSTGRES_NODE), annotations },
    spec: {
      ...QUIET_POD,
      ...userNamespace(plan.userNamespaces),
      serviceAccountName: plan.stack,
      securityContext: podSecurity(POSTGRES.uid, POSTGRES.gid),
      terminationGracePeriodSeconds: STOP_TIMEOUT_S,
      ...(pullSecret === null ? {} : { imagePullSecrets: [{ name: pullSecret }] }),
      containers: [containerOf(plan, postgres)],
      volumes: [
        {
          name: "configuration",
          projected: {
            defaultMode: FILE_MODE,
            sources: [
              { configMap: { name: `${name}-files` } },
              {
                secret: {
                  name: `${name}-password`,
                  items: POSTGRES_SECRET_FILES.map((file) => ({ key: file, path: file })),
                },
              },
            ],
          },
        },
        { name: "run", emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
        { name: "tmp", emptyDir: { sizeLimit: "64Mi" } },
        // Parallel queries and index builds share memory here; the default is 64 MiB.
        { name: "shm", emptyDir: { medium: "Memory", sizeLimit: "256Mi" } },
      ],
    },
  };
}

function containerOf(plan: KubernetesPlan, postgres: PostgresPlan): types.input.core.v1.Container {
  const probe = { exec: { command: [...postgresProbe()] }, timeoutSeconds: 5 };
  return {
    name: POSTGRES_CONTAINER,
    image: postgres.image,
    imagePullPolicy: "IfNotPresent",
    command: [...postgresCommand()],
    env: Object.entries(postgresEnvironment(databasePath(plan.stack, databaseData(plan)))).map(([variable, value]) => ({
      name: variable,
      value,
    })),
    ports: [{ name: "postgres", containerPort: POSTGRES.port, protocol: "TCP" }],
    resources: resources(plan.requests, {
      memoryBytes: postgres.limits.memoryBytes ?? plan.podLimits.memoryBytes,
      cpus: postgres.limits.cpus ?? plan.podLimits.cpus,
    }),
    securityContext: containerSecurity(),
    // Crash recovery of a large store takes minutes, and a kill in it only makes it begin again.
    startupProbe: { ...probe, periodSeconds: 2, failureThreshold: 450 },
    livenessProbe: { ...probe, periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { ...probe, periodSeconds: 5, failureThreshold: 2 },
    volumeMounts: [
      { name: "configuration", mountPath: POSTGRES.configuration, readOnly: true },
      { name: POSTGRES_CLAIM, mountPath: POSTGRES.data },
      { name: "run", mountPath: "/var/run/postgresql" },
      { name: "tmp", mountPath: "/tmp" },
      { name: "shm", mountPath: "/dev/shm" },
    ],
  };
}
