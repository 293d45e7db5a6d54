/** Kubernetes: a StatefulSet per agent group, PostgreSQL beside them, nothing open that is not needed. */

import { Secret, ServiceAccount } from "@pulumi/kubernetes/core/v1/index.js";
import { all, type CustomResourceOptions, secret } from "@pulumi/pulumi";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { makeClaim } from "../components/kubernetes/claims.ts";
import { makeDisruptionBudget } from "../components/kubernetes/disruption.ts";
import {
  checkNames,
  objectLabels,
  POSTGRES_NODE,
  plannedClaims,
  registrySecretName,
  workloadName,
} from "../components/kubernetes/names.ts";
import { makeNetworkPolicies } from "../components/kubernetes/network-policies.ts";
import { NodeGroup } from "../components/kubernetes/node-group.ts";
import { imageReference } from "../components/kubernetes/node-pod.ts";
import { Postgres } from "../components/kubernetes/postgres.ts";
import { makeProvider } from "../components/kubernetes/provider.ts";
import { renderNodeEnv } from "../plan/node-env.ts";
import { type KubernetesPlan, POSTGRES, type PostgresSecrets, type StackOutputs } from "../plan/types.ts";
import { type DatabaseAccess, databaseAccess } from "../postgres/configuration.ts";
import { dockerAuths } from "../registry.ts";
import type { Target, TargetInput } from "./target.ts";

/**
 * The namespace is no resource of the graph: deleting one deletes the claims in it. The driver makes it when it is missing.
 * INFRA_PLAN_INVALID, INFRA_IMAGE_MISSING.
 */
export const target: Target<KubernetesPlan> = (input) => {
  const { plan, secrets, adopt } = input;
  checkNames(plan);
  checkImages(plan);
  checkVariables(plan, secrets.variables);
  const below = input.parent === undefined ? {} : { parent: input.parent };
  const provider = makeProvider(plan, below);
  const options: CustomResourceOptions = { ...below, provider };
  const meta = (name: string) => ({ name, namespace: plan.namespace, labels: objectLabels(plan.stack) });

  const claims = new Map(
    plannedClaims(plan).map((claim) => [
      claim.name,
      { claim, made: makeClaim(plan, claim, adopt.has(claim.name), options) },
    ]),
  );
  const account = new ServiceAccount(
    plan.stack,
    { metadata: meta(plan.stack), automountServiceAccountToken: false },
    options,
  );
  const policies = makeNetworkPolicies(plan, options);
  makeDisruptionBudget(plan, options);
  const registry = registrySecret(input, meta, options);
  const pullSecret = plan.imagePullSecret ?? (registry === null ? null : registry.name);
  const before = [account, ...policies, ...(registry === null ? [] : [registry.made])];
  /** A node named null has the shared claim. */
  const claimsOf = (node: string | null) =>
    [...claims.values()].filter(({ claim }) => claim.node === node).map(({ made }) => made);

  const database = input.postgresSecrets;
  if (plan.postgres !== null) {
    if (database === null)
      throw new InfraError("INFRA_PLAN_INVALID", "PostgreSQL is to be deployed without a password and a certificate.");
    new Postgres(
      { plan, postgres: plan.postgres, secrets: database, pullSecret, before: [...before, ...claimsOf(POSTGRES_NODE)] },
      options,
    );
  }
  for (const node of plan.nodes) {
    const { image } = node;
    if (image === null) continue;
    const access = database?.apply((made) => accessOf(plan, made)) ?? null;
    const env = all([access]).apply(([made]) => renderNodeEnv(node, secrets.variables, made?.url ?? null));
    const certificate = access?.apply((made) => made.certificate) ?? null;
    new NodeGroup(
      {
        plan,
        node,
        image,
        env,
        certificate,
        pullSecret,
        before: [...before, ...claimsOf(node.name), ...claimsOf(null)],
      },
      options,
    );
  }
  return outputsOf(plan);
};

/** Credentials that the configuration has become a pull secret, unless it names one that is there. */
function registrySecret(
  { plan, secrets }: TargetInput<KubernetesPlan>,
  meta: (name: string) => { name: string; namespace: string; labels: Record<string, string> },
  options: CustomResourceOptions,
): { readonly name: string; readonly made: Secret } | null {
  if (plan.imagePullSecret !== null || secrets.registry === null) return null;
  const name = registrySecretName(plan.stack);
  const text = JSON.stringify({ auths: dockerAuths(secrets.registry) });
  const data = secret({
    ".dockerconfigjson": Buffer.from(text).toString("base64"),
  });
  const made = new Secret(name, { metadata: meta(name), type: "kubernetes.io/dockerconfigjson", data }, options);
  return { name, made };
}

/** Before anything is declared, not in the middle of it. */
function checkImages(plan: KubernetesPlan): void {
  const without = plan.nodes.filter(({ image }) => image === null).map(({ name }) => name);
  if (without.length === 0) return;
  throw new InfraError("INFRA_IMAGE_MISSING", `There is no image yet for ${without.join(", ")}.`, {
    hint: "Run `cairn build --push`, or name an image with `cairn infra up --image`.",
  });
}

/** INFRA_PLAN_INVALID names the variables that have no value. */
function checkVariables(plan: KubernetesPlan, values: Readonly<Record<string, string>>): void {
  for (const node of plan.nodes) {
    const missing = node.secretVariables.filter(
      (name) => values[name] === undefined && !(plan.postgres !== null && name === POSTGRES.variable),
    );
    if (missing.length === 0) continue;
    throw new InfraError(
      "INFRA_PLAN_INVALID",
      `Variables of the node ${node.name} have no value: ${missing.join(", ")}.`,
      {
        hint: "Set them in .env.",
      },
    );
  }
}

function accessOf({ stack }: KubernetesPlan, secrets: PostgresSecrets): DatabaseAccess {
  return databaseAccess(workloadName(stack, POSTGRES_NODE), POSTGRES.port, secrets);
}

function outputsOf(plan: KubernetesPlan): StackOutputs {
  return {
    nodes: plan.nodes.map((node) => ({
      name: node.name,
      workload: workloadName(plan.stack, node.name),
      place: plan.namespace,
      image: node.image === null ? "" : imageReference(node.image),
    })),
    data: plannedClaims(plan).map(({ name }) => ({ name, place: plan.namespace })),
  };
}
