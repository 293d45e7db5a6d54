/** Copies of claims, made by a pod of the node's own image on them: it works on every storage class, and needs no other image. */

import { objectLabels } from "../../../../../infra/components/kubernetes/names.ts";
import { imageReference } from "../../../../../infra/components/kubernetes/node-pod.ts";
import { CONTAINER, type KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import { writeArchive } from "../../../archive-file.ts";
import type { ExistingData } from "../../../driver.ts";
import { failureOf, type Kubectl } from "./kubectl.ts";
import { claimSchema, findObject } from "./objects.ts";
import { podHealth } from "./pod-health.ts";
import { createPod, removePod, runPod, shortPod, untilPod } from "./short-pods.ts";

/** Milliseconds: homes and workspaces may be large; until a pod runs, its claims bound and its image pulled. */
const COPY_MS = 3_600_000;
const START_MS = 300_000;
const REMOVE_MS = 60_000;

/** The claims, each under its name. The file is there when it is whole. */
export async function archiveData(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  data: readonly ExistingData[],
  file: string,
  signal: AbortSignal,
): Promise<void> {
  if (data.length === 0) return;
  const name = `${plan.stack}-archive`;
  const mounts = Object.fromEntries(data.map((one) => [one.name, { path: `/data/${one.name}`, readOnly: true }]));
  const argv = ["sleep", String(COPY_MS / 1_000)];
  try {
    await createPod(kubectl, name, shortPod(plan, { ...podOf(plan), name, argv, mounts }), signal);
    await untilPod(kubectl, name, (pod) => podHealth(pod).running, { withinMs: START_MS, signal });
    // A file system of its own has it at its top.
    const except = data.map((one) => `--exclude=./${one.name}/lost+found`);
    const command = kubectl.command(["exec", `pod/${name}`, "--", "tar", "-C", "/data", ...except, "-cz", "."]);
    const failure = (words: string): InfraError => failureOf(firstWords(words), plan.context);
    await writeArchive(file, { ...command, failure }, signal);
  } finally {
    await removePod(kubectl, name, AbortSignal.timeout(REMOVE_MS)).catch(() => undefined);
  }
}

/** kubectl's own last line says only that something failed, and what `tar` passes over is no failure. */
function firstWords(stderr: string): string {
  const lines = stderr.trim().split("\n");
  return lines.find((line) => !/^tar: .*: (?:socket ignored|file changed as we read it)$/.test(line)) ?? "";
}

/** `to` gets what `from` has, and nothing else: an earlier run may have been cut off. */
export async function copyData(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  { from, to, node }: { readonly from: ExistingData; readonly to: string; readonly node: string },
  signal: AbortSignal,
): Promise<void> {
  await ensureClaim(kubectl, plan, { from: from.name, to, node }, signal);
  const everything = "-mindepth 1 -maxdepth 1 ! -name lost+found";
  const copy = [
    "set -e",
    `find /to ${everything} -exec rm -rf -- {} +`,
    `find /from ${everything} -exec cp -a -t /to -- {} +`,
  ].join("\n");
  const mounts = { [from.name]: { path: "/from", readOnly: true }, [to]: { path: "/to", readOnly: false } };
  const pod = { ...podOf(plan), name: `${plan.stack}-copy`, argv: ["/bin/sh", "-c", copy], mounts };
  await runPod(kubectl, plan, pod, { withinMs: COPY_MS, signal });
}

/** As large as the other one, of the same storage. */
async function ensureClaim(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  { from, to, node }: { readonly from: string; readonly to: string; readonly node: string },
  signal: AbortSignal,
): Promise<void> {
  if ((await findObject(kubectl, "persistentvolumeclaim", to, claimSchema, { signal })) !== null) return;
  const found = await findObject(kubectl, "persistentvolumeclaim", from, claimSchema, { signal });
  if (found === null) throw new InfraError("INFRA_FAILED", `The claim ${from} is gone.`);
  const { accessModes, storageClassName, resources } = found.spec;
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: to, labels: objectLabels(plan.stack, "node", node) },
    spec: { accessModes, resources, ...(storageClassName === undefined ? {} : { storageClassName }) },
  };
  await kubectl.run(["create", "--filename=-"], { signal, input: JSON.stringify(claim) });
}

function podOf(plan: KubernetesPlan) {
  const image = plan.nodes.find((node) => node.image !== null)?.image ?? null;
  if (image === null) {
    throw new InfraError("INFRA_IMAGE_MISSING", "No node has an image that could copy its data.", {
      hint: "Run `cairn build`.",
    });
  }
  return { image: imageReference(image), user: { uid: CONTAINER.uid, gid: CONTAINER.gid } };
}
