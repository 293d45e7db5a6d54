/** What a stack made in the cluster beside its claims, found by its labels, and its removal. */

import { INSTANCE_LABEL, MANAGED_LABEL, MANAGER } from "../../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import type { Report } from "../../../inspection.ts";
import type { Kubectl } from "./kubectl.ts";
import { listObjects, namedSchema } from "./objects.ts";

/** All kinds that a stack makes but the one with data. Workloads first: their pods end before their secrets go. */
const KINDS = [
  "statefulsets.apps",
  "services",
  "poddisruptionbudgets.policy",
  "networkpolicies.networking.k8s.io",
  "configmaps",
  "secrets",
  "serviceaccounts",
];
/** For pods to end, in milliseconds; beyond it they end by themselves. */
const DELETE_MS = 300_000;

export async function removeWorkloads(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  report: Report,
  signal: AbortSignal,
): Promise<string[]> {
  const selector = `--selector=${INSTANCE_LABEL}=${plan.stack},${MANAGED_LABEL}=${MANAGER}`;
  const removed: string[] = [];
  for (const kind of KINDS) {
    const names = (await listObjects(kubectl, [kind, selector], namedSchema, { signal })).map(
      ({ metadata }) => metadata.name,
    );
    if (names.length === 0) continue;
    report(`Removing ${kind.split(".")[0]}: ${names.join(", ")}`);
    await kubectl.run(["delete", kind, ...names, "--ignore-not-found", "--cascade=foreground", "--wait=false"], {
      signal,
    });
    const gone = ["wait", "--for=delete", `--timeout=${DELETE_MS / 1_000}s`];
    await kubectl.run([...gone, ...names.map((name) => `${kind}/${name}`)], { signal, timeoutMs: DELETE_MS + 10_000 });
    removed.push(...names);
  }
  return removed;
}
