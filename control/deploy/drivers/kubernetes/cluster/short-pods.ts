/**
 * Pods that do one thing with data or an image, and go: as safe as the stack's own, without a way out, and nobody's replica. One of the
 * same name that was left by a command that was killed goes first, and each ends by itself.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
  COMPONENT_LABEL,
  MANAGED_LABEL,
  MANAGER,
  registrySecretName,
  selectorLabels,
} from "../../../../../infra/components/kubernetes/names.ts";
import {
  containerSecurity,
  podSecurity,
  QUIET_POD,
  resources,
} from "../../../../../infra/components/kubernetes/security.ts";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { Kubectl } from "./kubectl.ts";
import { findObject, type Pod, podSchema } from "./objects.ts";
import { podHealth } from "./pod-health.ts";

/** Milliseconds: between two looks; of trouble that may pass, such as a registry's bad minute; until a pod has gone. */
const POLL_MS = 500;
const PATIENCE_MS = 30_000;
const GONE_MS = 150_000;
/** What one asks for: it finds a place where the stack's own pods leave little. */
const REQUESTS = { memoryBytes: 64 * 1024 ** 2, cpus: 0.05 };
/** Seconds after which the cluster ends one that was left behind. */
const LONGEST_S = 4 * 3600;

export interface ShortPod {
  /** A StatefulSet's pods end in a number, so that none of them is called like it. */
  readonly name: string;
  readonly image: string;
  readonly argv: readonly string[];
  readonly user: { readonly uid: number; readonly gid: number };
  /** Claim -> where it is mounted. */
  readonly mounts: Readonly<Record<string, { readonly path: string; readonly readOnly: boolean }>>;
}

/** Its labels keep Services and StatefulSets off it, and the stack's policy keeps it off the network. */
export function shortLabels(stack: string, name: string): Record<string, string> {
  return { ...selectorLabels(stack), [MANAGED_LABEL]: MANAGER, [COMPONENT_LABEL]: name.slice(stack.length + 1) };
}

export function shortPod(plan: KubernetesPlan, { name, image, argv, user, mounts }: ShortPod): object {
  const volumes = Object.entries(mounts).map(([claim, mount], index) => ({ claim, name: `data-${index}`, ...mount }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: shortLabels(plan.stack, name) },
    spec: {
      ...QUIET_POD,
      restartPolicy: "Never",
      activeDeadlineSeconds: LONGEST_S,
      terminationGracePeriodSeconds: 1,
      securityContext: podSecurity(user.uid, user.gid),
      // One that is not there does no harm.
      imagePullSecrets: [{ name: plan.imagePullSecret ?? registrySecretName(plan.stack) }],
      containers: [
        {
          name: "main",
          image,
          imagePullPolicy: "IfNotPresent",
          command: argv,
          resources: resources(REQUESTS, plan.podLimits),
          securityContext: containerSecurity(),
          volumeMounts: volumes.map(({ name: volume, path, readOnly }) => ({
            name: volume,
            mountPath: path,
            readOnly,
          })),
        },
      ],
      volumes: volumes.map(({ name: volume, claim }) => ({
        name: volume,
        persistentVolumeClaim: { claimName: claim },
      })),
    },
  };
}

/** Also where one of that name was left. */
export async function createPod(kubectl: Kubectl, name: string, pod: object, signal: AbortSignal): Promise<void> {
  await removePod(kubectl, name, signal);
  await kubectl.run(["create", "--filename=-"], { signal, input: JSON.stringify(pod) });
}

/** Returns when it is gone, its server ended as it should. Nothing where there is none. */
export async function removePod(kubectl: Kubectl, name: string, signal: AbortSignal): Promise<void> {
  const words = ["delete", "pod", name, "--ignore-not-found", "--wait=false"];
  if ((await kubectl.run(words, { signal })).trim() !== "") await untilGone(kubectl, name, signal);
}

export async function untilGone(kubectl: Kubectl, name: string, signal: AbortSignal): Promise<void> {
  const words = ["wait", "--for=delete", `pod/${name}`, `--timeout=${GONE_MS / 1_000}s`];
  await kubectl.run(words, { signal, timeoutMs: GONE_MS + 10_000 });
}

/** INFRA_FAILED with its reason where it gets there no more, or not in `withinMs`. */
export async function untilPod(
  kubectl: Kubectl,
  name: string,
  reached: (pod: Pod) => boolean | Promise<boolean>,
  { withinMs, signal }: { readonly withinMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const began = performance.now();
  let troubled: number | null = null;
  for (;;) {
    const pod = await findObject(kubectl, "pod", name, podSchema, { signal });
    if (pod !== null && (await reached(pod))) return;
    const trouble = pod === null ? "it is gone" : podHealth(pod).trouble;
    troubled = trouble === null ? null : (troubled ?? performance.now());
    const late = performance.now() - began > withinMs;
    const ended = pod === null || ["Failed", "Succeeded"].includes(pod.status?.phase ?? "");
    if (ended || late || (troubled !== null && performance.now() - troubled > PATIENCE_MS)) {
      const said = pod === null ? "" : await lastWords(kubectl, name, signal);
      const why = [trouble ?? (late ? "it takes too long" : "it has ended"), ...(said === "" ? [] : [said])].join(": ");
      throw new InfraError("INFRA_FAILED", `The pod ${name} does not do what it is for: ${why}.`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** What it printed, once it has ended well. It goes, whatever happens. */
export async function runPod(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  pod: ShortPod,
  limits: { readonly withinMs: number; readonly signal: AbortSignal },
): Promise<string> {
  try {
    await createPod(kubectl, pod.name, shortPod(plan, pod), limits.signal);
    await untilPod(kubectl, pod.name, ({ status }) => status?.phase === "Succeeded", limits);
    return await kubectl.run(["logs", pod.name], { signal: limits.signal });
  } finally {
    // Also after Ctrl-C. What stays all the same ends by itself, and goes before the next one of its name.
    await removePod(kubectl, pod.name, AbortSignal.timeout(GONE_MS)).catch(() => undefined);
  }
}

async function lastWords(kubectl: Kubectl, name: string, signal: AbortSignal): Promise<string> {
  const text = await kubectl.run(["logs", name, "--tail=5"], { signal }).catch(() => "");
  return text.trim().replace(/\s+/g, " ").slice(0, 300);
}
