/**
 * What the objects of a stack are called on Kubernetes, and the labels that find them. The program makes objects under these
 * names, the driver searches for the same ones.
 */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { DATABASE_NAME, dataDirectoryOf, LONGEST_WORKLOAD, stackNames } from "../../plan/names.ts";
import { type KubernetesPlan, POSTGRES } from "../../plan/types.ts";

export const POSTGRES_NODE = DATABASE_NAME;
export const NODE_CONTAINER = "cairn";
export const POSTGRES_CONTAINER = "postgres";

/** Claim templates of a group; a pod's claims are named after them. */
const NODE_CLAIMS = ["home", "workspace"] as const;
export const POSTGRES_CLAIM = "data";
/** Of data that no upgrade has written. */
export const DATABASE_FOLDER = "pgdata";

export const MANAGER = "cairn";
/** The image that a pod was made for: two builds may share a reference. */
export const IMAGE_ANNOTATION = "cairn.dev/image";
/** Changes with the files that a pod reads. */
export const CONFIGURATION_ANNOTATION = "cairn.dev/configuration";
export const SECRETS_ANNOTATION = "cairn.dev/secrets";
export const NODE_LABEL = "cairn.dev/node";
export const INSTANCE_LABEL = "app.kubernetes.io/instance";
export const COMPONENT_LABEL = "app.kubernetes.io/component";
export const MANAGED_LABEL = "app.kubernetes.io/managed-by";

export type Component = "node" | "postgres";

/** StatefulSet and Service of a group, or of PostgreSQL. */
export function workloadName(stack: string, node: string): string {
  return stackNames(stack).node(node);
}

/** The headless Service that gives each pod a name of its own. */
export function peersName(stack: string, node: string): string {
  return `${stack}-${node}-pods`;
}

export function podName(stack: string, node: string, ordinal: number): string {
  return `${workloadName(stack, node)}-${ordinal}`;
}

/** As the StatefulSet controller names the claim of a template for a pod. */
export function claimName(template: string, stack: string, node: string, ordinal: number): string {
  return `${template}-${podName(stack, node, ordinal)}`;
}

/** Secret with the credentials of the configuration; there is one where they are needed alone. */
export function registrySecretName(stack: string): string {
  return `${stack}-registry`;
}

export function sharedClaimName(stack: string): string {
  return stackNames(stack).shared;
}

/**
 * Folder of the database in its pod, of data by their name (infra/plan/names.ts). Below the mount: a file system of its own has
 * `lost+found` at its top, and the folder must be the server's own.
 */
export function databasePath(stack: string, data: string): string {
  const folder = data === stackNames(stack).database ? DATABASE_FOLDER : dataDirectoryOf(stack, data);
  return `${POSTGRES.data}/${folder}`;
}

export interface PlannedClaim {
  readonly name: string;
  /** Claim template that it stands for; null for the shared one, which no pod owns. */
  readonly template: string | null;
  /** Node, `postgres`, or null for the shared one. */
  readonly node: string | null;
  readonly component: Component;
  readonly bytes: number;
  readonly access: "ReadWriteOnce" | "ReadWriteMany";
}

/** Every claim of the stack: all of them hold data. */
export function plannedClaims(plan: KubernetesPlan): PlannedClaim[] {
  const { stack } = plan;
  const ofNodes = plan.nodes.flatMap((node) =>
    ordinals(node.replicas).flatMap((ordinal) =>
      NODE_CLAIMS.map((template) => ({
        name: claimName(template, stack, node.name, ordinal),
        template,
        node: node.name,
        component: "node" as const,
        bytes: plan.storageBytes,
        access: "ReadWriteOnce" as const,
      })),
    ),
  );
  const shared: PlannedClaim[] = plan.sharedStorage
    ? [
        {
          name: sharedClaimName(stack),
          template: null,
          node: null,
          component: "node",
          bytes: plan.storageBytes,
          access: "ReadWriteMany",
        },
      ]
    : [];
  const database: PlannedClaim[] = plan.postgres
    ? [
        {
          name: claimName(POSTGRES_CLAIM, stack, POSTGRES_NODE, 0),
          template: POSTGRES_CLAIM,
          node: POSTGRES_NODE,
          component: "postgres",
          bytes: plan.databaseBytes,
          access: "ReadWriteOnce",
        },
      ]
    : [];
  return [...ofNodes, ...shared, ...database];
}

export function ordinals(replicas: number): number[] {
  return Array.from({ length: replicas }, (_, ordinal) => ordinal);
}

/** What selects pods: never changes, because a StatefulSet's selector cannot. */
export function selectorLabels(stack: string, component?: Component, node?: string): Record<string, string> {
  return {
    "app.kubernetes.io/name": "cairn",
    [INSTANCE_LABEL]: stack,
    ...(component === undefined ? {} : { [COMPONENT_LABEL]: component }),
    ...(node === undefined ? {} : { [NODE_LABEL]: node }),
  };
}

/** Labels of an object. Without the version: it would change every object with each release. */
export function objectLabels(stack: string, component?: Component, node?: string): Record<string, string> {
  return {
    ...selectorLabels(stack, component, node),
    "app.kubernetes.io/part-of": "cairn",
    [MANAGED_LABEL]: MANAGER,
  };
}

/** INFRA_PLAN_INVALID when a name would be too long for the cluster, or two Services would share one. */
export function checkNames(plan: KubernetesPlan): void {
  const { stack } = plan;
  const nodes = [...plan.nodes.map(({ name }) => name), ...(plan.postgres ? [POSTGRES_NODE] : [])];
  const taken = new Map<string, string>();
  for (const node of nodes) {
    const name = workloadName(stack, node);
    if (name.length > LONGEST_WORKLOAD) {
      throw new InfraError("INFRA_PLAN_INVALID", `${name} is longer than a StatefulSet's name may be.`, {
        hint: `Shorten deployment.name or the node's name: together at most ${LONGEST_WORKLOAD - 1} characters.`,
      });
    }
    for (const service of [name, peersName(stack, node)]) {
      const other = taken.get(service);
      if (other !== undefined) {
        throw new InfraError(
          "INFRA_PLAN_INVALID",
          `The nodes ${other} and ${node} would both have a Service ${service}.`,
          {
            hint: "Give one of them another name in deployment.nodes.",
          },
        );
      }
      taken.set(service, node);
    }
  }
}
