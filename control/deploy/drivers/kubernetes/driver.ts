/** The Kubernetes driver: everything outside the graph, by kubectl. */

import type { KubernetesPlan, SecretValues } from "../../../../infra/plan/types.ts";
import type { TargetDriver } from "../../driver.ts";
import { archiveData, copyData } from "./cluster/copies.ts";
import { deleteData, existingData, formerData } from "./cluster/data.ts";
import { databaseServers } from "./cluster/database-servers.ts";
import { fence } from "./cluster/fence.ts";
import { createKubectl } from "./cluster/kubectl.ts";
import { ensureNamespace } from "./cluster/namespace.ts";
import { podRollout } from "./cluster/pod-rollout.ts";
import { podsOf } from "./cluster/pods.ts";
import { removeWorkloads } from "./cluster/workloads.ts";
import { connect, enter } from "./connect.ts";
import { architectures, deliverImage, hasImage, imagePlaces } from "./images.ts";
import { inspect, observe } from "./observe.ts";
import { preflight } from "./preflight.ts";
import { findInterrupted, outdated, PACE, type Pace, reconcile } from "./reconcile.ts";

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
    reconcile: (report, signal, released, nodes) => reconcile(kubectl, plan, { report, signal, released, nodes, pace }),
    outdated: (signal) => outdated(kubectl, plan, signal),
    architectures: (node, signal) => architectures(kubectl, plan, node, signal),
    imagePlaces,
    hasImage,
    deliverImage,
    existingData: (signal) => existingData(kubectl, plan, signal),
    ...(plan.postgres === null ? {} : { formerData: (signal) => formerData(kubectl, plan, signal) }),
    observe: (signal) => observe(kubectl, plan, signal),
    inspect: (recorded, signal) => inspect(kubectl, plan, recorded, signal),
    // Every object, in full.
    readsSettings: true,
    findInterrupted: (type, name, signal) => findInterrupted(kubectl, plan, type, name, signal),
    removeWorkloads: (report, signal) => removeWorkloads(kubectl, plan, report, signal),
    deleteData: (data, signal) => deleteData(kubectl, data, signal),
    archiveData: (data, file, _report, signal) => archiveData(kubectl, plan, data, file, signal),
    copyData: (from, to, node, signal) => copyData(kubectl, plan, { from, to, node }, signal),
    ...(plan.postgres === null ? {} : { database: databaseServers(kubectl, plan) }),
    pods: (node) => podsOf(plan, node),
    fence: (name, command, signal) => fence(kubectl, plan, name, command, signal),
    podRollout: podRollout(kubectl, plan, pace),
    connect: (name, signal) => connect(kubectl, plan, name, signal),
    enter: (part, action, signal) => enter(kubectl, plan, part, action, signal),
  };
}
