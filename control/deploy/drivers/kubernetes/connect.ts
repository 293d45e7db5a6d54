/** A way to a pod's port over `kubectl port-forward`, which listens on a free port of loopback, and one into its container. */

import { createInterface } from "node:readline";
import {
  INSTANCE_LABEL,
  NODE_CONTAINER,
  NODE_LABEL,
  POSTGRES_CONTAINER,
  POSTGRES_NODE,
} from "../../../../infra/components/kubernetes/names.ts";
import { CONTAINER, type KubernetesPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { urlOf } from "../../../../runtime/contracts/urls.ts";
import type { NodeConnection, PartAction, PartCommand, StackPart } from "../../driver.ts";
import { requirePart, sinceWord } from "../../part-commands.ts";
import { failureOf, type Kubectl } from "./cluster/kubectl.ts";
import { listObjects, podSchema } from "./cluster/objects.ts";
import { podHealth } from "./cluster/pod-health.ts";
import { memberOf } from "./cluster/pods.ts";

const READY_MS = 30_000;
const FORWARDING = /^Forwarding from 127\.0\.0\.1:(\d{1,5}) -> \d+/;

/** To the pod of this name, or to a pod of the node: one that is ready, else one that runs. */
export async function connect(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  name: string,
  signal: AbortSignal,
): Promise<NodeConnection> {
  const member = memberOf(plan, name);
  if (member === undefined) throw new InfraError("INFRA_PLAN_INVALID", `There is no node ${name} in the stack.`);
  const best = await bestPod(kubectl, plan, member.node.name, signal, member.pod);
  if (!best?.running) throw noPod(`the node ${name}`);
  return forwardPort(kubectl, best.name, CONTAINER.port, member.node.tls, plan.context, signal);
}

/** By kubectl; the machine's kubelet has the rest. INFRA_HOST_UNREACHABLE without a pod. */
export async function enter(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  part: StackPart,
  action: PartAction,
  signal: AbortSignal,
): Promise<PartCommand> {
  const member = part.kind === "node" ? memberOf(plan, part.name) : undefined;
  const what = requirePart(plan, member === undefined ? part : { kind: "node", name: member.node.name });
  const [label, container] = member ? [member.node.name, NODE_CONTAINER] : [POSTGRES_NODE, POSTGRES_CONTAINER];
  const pod = await bestPod(kubectl, plan, label, signal, member?.pod);
  // A pod that ends again and again has a log all the same.
  if (pod === undefined || (action.kind === "exec" && !pod.running)) throw noPod(what);
  return {
    ...kubectl.command(kubectlWords(pod.name, container, action)),
    answers: async (asking) => void (await kubectl.run(["version"], { signal: asking })),
    close: async () => undefined,
  };
}

function kubectlWords(pod: string, container: string, action: PartAction): string[] {
  const where = [`pod/${pod}`, `--container=${container}`];
  if (action.kind === "exec") {
    return ["exec", "--stdin", ...(action.terminal ? ["--tty"] : []), ...where, "--", ...action.argv];
  }
  const { lines, follow, since } = action;
  return [
    "logs",
    ...where,
    `--tail=${lines ?? -1}`,
    ...(since === null ? [] : [`${"agoSeconds" in since ? "--since" : "--since-time"}=${sinceWord(since)}`]),
    ...(follow ? ["--follow"] : []),
  ];
}

/** `only`, or one that is ready, else one that runs, else the first. */
async function bestPod(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  node: string,
  signal: AbortSignal,
  only: string | null = null,
) {
  const selector = `--selector=${INSTANCE_LABEL}=${plan.stack},${NODE_LABEL}=${node}`;
  const pods = await listObjects(kubectl, ["pods", selector], podSchema, { signal });
  const health = pods
    .map((pod) => ({ name: pod.metadata.name, ...podHealth(pod) }))
    .filter(({ name }) => only === null || name === only);
  return health.find(({ ready }) => ready) ?? health.find(({ running }) => running) ?? health[0];
}

function noPod(what: string): InfraError {
  return new InfraError("INFRA_HOST_UNREACHABLE", `No pod of ${what} is running.`, {
    hint: "See `cairn infra status`.",
  });
}

/** `context` is for the error alone. INFRA_HOST_UNREACHABLE when there is no way in time. */
async function forwardPort(
  kubectl: Kubectl,
  pod: string,
  port: number,
  tls: boolean,
  context: string | null,
  signal: AbortSignal,
): Promise<NodeConnection> {
  signal.throwIfAborted();
  const child = kubectl.start(["port-forward", "--address=127.0.0.1", `pod/${pod}`, `:${port}`]);
  const close = async () => {
    child.kill("SIGTERM", undefined);
    await child;
  };
  let words = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    words = (words + chunk.toString("utf8")).slice(-2_000);
  });
  const deadline = AbortSignal.timeout(READY_MS);
  const stop = AbortSignal.any([signal, deadline]);
  const lines = child.stdout === null ? null : createInterface({ input: child.stdout });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const onStop = () =>
    reject(
      signal.aborted
        ? signal.reason
        : new InfraError("INFRA_HOST_UNREACHABLE", `kubectl opened no way to ${pod} in time.`),
    );
  stop.addEventListener("abort", onStop, { once: true });
  lines?.on("line", (line) => {
    const found = FORWARDING.exec(line)?.[1];
    if (found !== undefined) resolve(Number(found));
  });
  child.then(
    ({ code }) =>
      reject(
        code === "ENOENT"
          ? new InfraError("INFRA_TOOL_MISSING", "kubectl is not installed, or not on PATH.")
          : failureOf(lastLine(words), context),
      ),
    reject,
  );
  try {
    const local = await promise;
    return { url: urlOf("127.0.0.1", local, tls), close };
  } catch (error) {
    await close();
    throw error;
  } finally {
    stop.removeEventListener("abort", onStop);
    // Its later output is discarded; unread, it would fill the pipe.
    lines?.removeAllListeners("line").on("line", () => {});
  }
}

function lastLine(words: string): string {
  return (words.trim().split("\n").at(-1) ?? "").replace(/^error: /i, "");
}
