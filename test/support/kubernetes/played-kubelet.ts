/** Says of each pod what a kubelet would say, so that the real controllers go on: there is no machine to run it. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";

const POLL_MS = 150;

export interface PlayedPod {
  readonly name: string;
  readonly image: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What becomes of a pod: it works, or it waits for this reason. */
export type Fate = "ready" | "CrashLoopBackOff" | "ImagePullBackOff";

export interface PlayedKubelet {
  /** Decides from now on; pods that were told something else before are told anew. */
  decide(fate: (pod: PlayedPod) => Fate): void;
  stop(): Promise<void>;
}

interface ListedPod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Record<string, string>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
}

export function playKubelet(cluster: Cluster, namespace: string): PlayedKubelet {
  let decide: (pod: PlayedPod) => Fate = () => "ready";
  const fates = new Map<string, Fate>();
  const ending = new AbortController();
  const round = async () => {
    const { items } = JSON.parse(await cluster.kubectl(["get", "pods", "-n", namespace, "-o", "json"])) as {
      items: ListedPod[];
    };
    for (const { metadata, spec } of items) {
      const [container] = spec.containers;
      if (container === undefined || metadata.deletionTimestamp !== undefined) continue;
      const fate = decide({ name: metadata.name, image: container.image, annotations: metadata.annotations ?? {} });
      if (fates.get(metadata.uid) === fate) continue;
      const patch = JSON.stringify({ status: statusOf(container, fate) });
      const args = [
        "patch",
        "pod",
        metadata.name,
        "-n",
        namespace,
        "--subresource=status",
        "--type=merge",
        "-p",
        patch,
      ];
      // It may have been deleted in the meantime.
      if ((await cluster.kubectl(args).catch(() => null)) !== null) fates.set(metadata.uid, fate);
    }
  };
  const running = (async () => {
    while (!ending.signal.aborted) {
      await round().catch(() => {});
      await sleep(POLL_MS);
    }
  })();
  return {
    decide(fate) {
      decide = fate;
    },
    async stop() {
      ending.abort();
      await running;
    },
  };
}

function statusOf({ name, image }: { readonly name: string; readonly image: string }, fate: Fate) {
  const ready = fate === "ready";
  const now = new Date().toISOString();
  return {
    phase: fate === "ImagePullBackOff" ? "Pending" : "Running",
    conditions: ["Ready", "ContainersReady"].map((type) => ({
      type,
      status: ready ? "True" : "False",
      lastTransitionTime: now,
    })),
    containerStatuses: [
      {
        name,
        image,
        imageID: "",
        ready,
        restartCount: 0,
        state: ready ? { running: { startedAt: now } } : { waiting: { reason: fate, message: `played: ${fate}` } },
        lastState: fate === "CrashLoopBackOff" ? { terminated: { exitCode: 3, reason: "Error" } } : {},
      },
    ],
  };
}
