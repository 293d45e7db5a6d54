/** What keeps pods from becoming ready: why the controller makes none, and since when one has been in trouble. */

import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { Kubectl } from "./kubectl.ts";
import { eventSchema, listObjects } from "./objects.ts";

/** Why the controller makes no pod: a quota, an admission policy. */
export async function refusal(kubectl: Kubectl, name: string, signal: AbortSignal): Promise<string | null> {
  const about = `--field-selector=involvedObject.kind=StatefulSet,involvedObject.name=${name},type=Warning`;
  const events = await listObjects(kubectl, ["events", about], eventSchema, { signal });
  const last = events.toSorted((a, b) => ((a.lastTimestamp ?? "") < (b.lastTimestamp ?? "") ? -1 : 1)).at(-1);
  return last?.message === undefined
    ? null
    : `the cluster refuses it (${last.message.replace(/\s+/g, " ").slice(0, 300)})`;
}

/** Whether the same one has been in trouble for as long as patience lasts. */
export class Trouble {
  readonly #patienceMs: number;
  #of: string | null = null;
  #since = 0;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  lasts(who: string, words: string | null): boolean {
    if (words === null || this.#of !== who) {
      this.#of = words === null ? null : who;
      this.#since = performance.now();
      return words !== null && this.#patienceMs === 0;
    }
    return performance.now() - this.#since >= this.#patienceMs;
  }
}

/** What `up` ends with where a pod stays in trouble. */
export function notReady(plan: KubernetesPlan, who: string, words: string): InfraError {
  return new InfraError("INFRA_FAILED", `${who} does not become ready: ${words}.`, {
    hint: `Look at \`kubectl --namespace ${plan.namespace} describe pod ${who}\` and \`kubectl --namespace ${plan.namespace} logs ${who}\`; then correct the configuration and run \`cairn infra up\` again.`,
  });
}
