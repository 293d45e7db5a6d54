/** What can be known to be wrong before anything is changed: kubectl, the context, the cluster, rights, storage, images, names. */

import { z } from "zod";
import {
  INSTANCE_LABEL,
  MANAGED_LABEL,
  MANAGER,
  plannedClaims,
} from "../../../../infra/components/kubernetes/names.ts";
import { quantityBytes } from "../../../../infra/components/kubernetes/quantity.ts";
import type { KubernetesPlan, SecretValues } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { Finding } from "../../driver.ts";
import { checkDeniedNetworks, checkUserNamespaces } from "./cluster/cluster-checks.ts";
import { type CallOptions, type Kubectl, unknownIfForbidden } from "./cluster/kubectl.ts";
import {
  checked,
  claimSchema,
  findObject,
  listObjects,
  namedSchema,
  namespaceSchema,
  parse,
  storageClassSchema,
} from "./cluster/objects.ts";
import { missingRights, type Right } from "./cluster/rights.ts";

const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
/** Kinds that `up` writes; listed one by one, because some clusters forbid `list` of the others. */
const OWN_KINDS = [
  "statefulsets.apps",
  "services",
  "configmaps",
  "secrets",
  "serviceaccounts",
  "networkpolicies.networking.k8s.io",
  "poddisruptionbudgets.policy",
] as const;

const configurationSchema = z.object({
  contexts: z.array(z.object({ name: z.string() })).nullish(),
  "current-context": z.string().nullish(),
});

/** Ends at the first thing without which the rest cannot be asked. */
export async function preflight(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  secrets: SecretValues,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const options: CallOptions = { signal };
  const findings: Finding[] = [...exposure(plan), ...images(plan)];
  try {
    const context = await checkContext(kubectl, plan, options);
    findings.push(...context);
    if (context.some(({ severity }) => severity === "error")) return findings;
    const version = await kubectl.run(["version", "--output=json"], options);
    findings.push(...checkUserNamespaces(plan, version), ...(await checkDeniedNetworks(kubectl, plan, options)));

    const namespace = await findObject(kubectl, "namespace", plan.namespace, namespaceSchema, options).catch(
      unknownIfForbidden,
    );
    findings.push(...(await checkRights(kubectl, plan, namespace === null, options)));
    if (findings.some(({ severity }) => severity === "error")) return findings;
    findings.push(...(await checkStorage(kubectl, plan, options)));
    if (namespace === null) return findings;
    if (namespace !== undefined && namespace.status?.phase === "Terminating") {
      findings.push(
        error(
          "INFRA_FAILED",
          `The namespace ${plan.namespace} is being deleted.`,
          "Wait until it is gone, or take another.",
        ),
      );
      return findings;
    }
    findings.push(
      ...(await checkClaims(kubectl, plan, options)),
      ...(await checkForeign(kubectl, plan, options)),
      ...(await checkPullSecret(kubectl, plan, secrets, options)),
    );
  } catch (thrown) {
    if (!(thrown instanceof InfraError)) throw thrown;
    findings.push(error(thrown.code, thrown.message, thrown.details.hint));
  }
  return findings;
}

/** A context that does not exist must not be found out by the first resource that fails. */
async function checkContext(kubectl: Kubectl, plan: KubernetesPlan, options: CallOptions): Promise<Finding[]> {
  // Prints it without its credentials.
  const text = await kubectl.local(["config", "view", "--output=json"], options);
  const configuration = checked(configurationSchema, parse(text));
  const contextNames = (configuration.contexts ?? []).map(({ name }) => name).sort();
  const current = configuration["current-context"] ?? "";
  const there = contextNames.length === 0 ? "It has none" : `It has ${contextNames.join(", ")}`;
  const where = plan.kubeconfig ?? "the kubeconfig";
  if (plan.context !== null && !contextNames.includes(plan.context)) {
    const hint = `${there}. Correct deployment.kubernetes.context or deployment.kubernetes.kubeconfig.`;
    return [error("INFRA_CONTEXT_UNKNOWN", `There is no context ${plan.context} in ${where}.`, hint)];
  }
  if (plan.context !== null) return [];
  if (!contextNames.includes(current)) {
    const hint = `${there}. Set deployment.kubernetes.context.`;
    return [error("INFRA_CONTEXT_UNKNOWN", `No context is chosen in ${where}.`, hint)];
  }
  return [
    warning(
      "INFRA_CONTEXT_UNKNOWN",
      `No context is configured: ${current}, the current one, is used.`,
      `Set deployment.kubernetes.context: ${current}, so that another shell does not deploy somewhere else.`,
    ),
  ];
}

async function checkRights(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  namespaceMissing: boolean,
  options: CallOptions,
): Promise<Finding[]> {
  const inNamespace: Right[] = [
    ...[...OWN_KINDS, "persistentvolumeclaims"].flatMap((kind) =>
      ["get", "create", "patch", "delete"].map((verb) => right(verb, kind)),
    ),
    right("list", "pods"),
    right("delete", "pods"),
    right("create", "pods", "portforward"),
  ];
  const rights = [
    ...inNamespace.map((each) => ({ ...each, namespace: plan.namespace })),
    ...(namespaceMissing ? [right("create", "namespaces")] : []),
  ];
  const missing = await missingRights(kubectl, rights, options);
  if (missing.length === 0) return [];
  const needsNamespace = missing.some(({ resource }) => resource === "namespaces");
  const verbs = new Map<string, string[]>();
  for (const { verb, resource, subresource } of missing) {
    const kind = subresource === undefined ? resource : `${resource}/${subresource}`;
    verbs.set(kind, [...(verbs.get(kind) ?? []), verb]);
  }
  const list = [...verbs].map(([kind, of]) => `${kind} (${of.join(", ")})`);
  return [
    error(
      "INFRA_FAILED",
      `The context's user lacks rights in the namespace ${plan.namespace}: ${list.join("; ")}.`,
      needsNamespace
        ? `Ask the cluster's administrator for the namespace ${plan.namespace} and for the role \`admin\` in it.`
        : "Ask the cluster's administrator for the role `admin` in the namespace.",
    ),
  ];
}

async function checkStorage(kubectl: Kubectl, plan: KubernetesPlan, options: CallOptions): Promise<Finding[]> {
  const classes = await listObjects(kubectl, ["storageclasses"], storageClassSchema, options).catch(unknownIfForbidden);
  // Not every user may list them: then a wrong class shows when the claims are bound.
  if (classes === undefined) return [];
  const names = classes.map(({ metadata }) => metadata.name).sort();
  const there = names.length === 0 ? "The cluster has none." : `The cluster has ${names.join(", ")}.`;
  if (plan.storageClass !== null) {
    if (names.includes(plan.storageClass)) return [];
    const hint = `${there} Correct deployment.kubernetes.storage_class.`;
    return [error("INFRA_PLAN_INVALID", `There is no storage class ${plan.storageClass}.`, hint)];
  }
  if (classes.some(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === "true")) return [];
  const hint = `${there} Set deployment.kubernetes.storage_class, unless volumes are provided by hand.`;
  return [warning("INFRA_PLAN_INVALID", "The cluster has no default storage class, and none is configured.", hint)];
}

/** A claim grows and never shrinks. */
async function checkClaims(kubectl: Kubectl, plan: KubernetesPlan, options: CallOptions): Promise<Finding[]> {
  const claims = await listObjects(kubectl, ["persistentvolumeclaims"], claimSchema, options);
  const live = new Map(claims.map((claim) => [claim.metadata.name, claim.spec.resources?.requests?.storage]));
  return plannedClaims(plan).flatMap(({ name, bytes, component }) => {
    const size = live.get(name);
    const has = size === undefined ? null : quantityBytes(size);
    if (has === null || has <= bytes) return [];
    const key = component === "postgres" ? "database_size" : "storage_size";
    const message = `The claim ${name} has ${size}, and the configuration asks for less: claims cannot shrink.`;
    return [error("INFRA_PLAN_INVALID", message, `Set deployment.kubernetes.${key} to ${size} or more.`)];
  });
}

/** Names that belong to something else: applying would take them over. */
async function checkForeign(kubectl: Kubectl, plan: KubernetesPlan, options: CallOptions): Promise<Finding[]> {
  const prefix = `${plan.stack}-`;
  const objects = await listObjects(kubectl, [OWN_KINDS.join(",")], namedSchema, options);
  const nodes = [...plan.nodes.map(({ name }) => name), ...(plan.postgres ? ["postgres"] : [])];
  const own = new Set([plan.stack, `${prefix}registry`, `${prefix}default-deny`, `${prefix}nodes`]);
  const foreign = objects.filter(({ metadata: { name, labels } }) => {
    const ours = own.has(name) || nodes.some((node) => isOf(name, `${prefix}${node}`));
    return ours && (labels?.[INSTANCE_LABEL] !== plan.stack || labels?.[MANAGED_LABEL] !== MANAGER);
  });
  return foreign.map(({ kind, metadata: { name } }) =>
    error(
      "INFRA_UP_REFUSED",
      `The ${kind} ${name} in the namespace ${plan.namespace} belongs to something else.`,
      "Choose another deployment.name or deployment.kubernetes.namespace.",
    ),
  );
}

/** `workload` itself, or what the target makes beside it. */
function isOf(name: string, workload: string): boolean {
  if (!name.startsWith(workload)) return false;
  return /^(?:|-pods|-env|-password|-files(?:-\d+)?)$/.test(name.slice(workload.length));
}

async function checkPullSecret(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  secrets: SecretValues,
  options: CallOptions,
): Promise<Finding[]> {
  if (plan.imagePullSecret === null) return [];
  const found = await listObjects(kubectl, ["secret", plan.imagePullSecret], namedSchema, options);
  if (found.length > 0) return [];
  const hint =
    secrets.registry === null
      ? "Create it with `kubectl create secret docker-registry`, or set deployment.image.username and password."
      : "Without deployment.kubernetes.image_pull_secret one is made of deployment.image.username and password.";
  const message = `There is no Secret ${plan.imagePullSecret} in the namespace ${plan.namespace}.`;
  return [error("INFRA_PLAN_INVALID", message, hint)];
}

function images(plan: KubernetesPlan): Finding[] {
  return plan.nodes.flatMap(({ name, image }) =>
    image === null || image.digest !== null
      ? []
      : [
          warning(
            "INFRA_IMAGE_MISSING",
            `The image of ${name}, ${image.reference}, is in no registry that is known.`,
            "Every machine of the cluster needs it under this name: use `cairn build --push` and deployment.image.registry.",
          ),
        ],
  );
}

function exposure(plan: KubernetesPlan): Finding[] {
  if (plan.serviceType === "ClusterIP" || plan.nodes.every(({ tls }) => tls)) return [];
  return [
    warning(
      "INFRA_PLAN_INVALID",
      `A Service of type ${plan.serviceType} is reachable from outside, and the nodes do not serve TLS.`,
      "Set runtime.tls, or see that whatever stands before the Service does.",
    ),
  ];
}

function right(verb: string, of: string, subresource?: string): Right {
  const [resource = of, ...group] = of.split(".");
  return { verb, resource, group: group.join("."), ...(subresource === undefined ? {} : { subresource }) };
}

function error(code: string, message: string, hint?: string): Finding {
  return { severity: "error", code, message, ...(hint === undefined ? {} : { hint }) };
}

function warning(code: string, message: string, hint: string): Finding {
  return { severity: "warning", code, message, hint };
}
