/** The cluster, named in full: what the shell's environment happens to point at must not decide where a stack goes. */

import { Provider } from "@pulumi/kubernetes/provider.js";
import type { ResourceOptions } from "@pulumi/pulumi";
import type { KubernetesPlan } from "../../plan/types.ts";

export function makeProvider(plan: KubernetesPlan, options: ResourceOptions): Provider {
  return new Provider(
    `${plan.stack}-cluster`,
    {
      // A path, not the text: it holds credentials, which would be in the state.
      ...(plan.kubeconfig === null ? {} : { kubeconfig: plan.kubeconfig }),
      ...(plan.context === null ? {} : { context: plan.context }),
      namespace: plan.namespace,
      enableServerSideApply: true,
      // What the configuration says wins over what was edited in the cluster; `infra refresh --preview` shows such edits.
      enablePatchForce: true,
      // In place, under one name: a pod of an older revision that is moved to another machine must find its files.
      enableConfigMapMutable: true,
      enableSecretMutable: true,
      // An `up` that was killed between making an object and noting it is finished by the next one. That objects of somebody
      // else are not taken over is checked before (`control/deploy/drivers/kubernetes`).
      upsertExistingObjects: true,
    },
    options,
  );
}
