/** The namespace of a stack, which is no resource of its graph: it may belong to others. */

import { objectLabels } from "../../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import type { Report } from "../../../inspection.ts";
import { type Kubectl, unknownIfForbidden } from "./kubectl.ts";
import { findObject, namespaceSchema } from "./objects.ts";

/** Made when it is missing, with the strictest pod security; one that exists is left as it is. Never deleted. */
export async function ensureNamespace(
  kubectl: Kubectl,
  { namespace, stack }: KubernetesPlan,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const found = await findObject(kubectl, "namespace", namespace, namespaceSchema, { signal }).catch(
    unknownIfForbidden,
  );
  // A user who may not read it was given one to work in.
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
